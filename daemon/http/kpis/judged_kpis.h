/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Judged KPIs: the verdicts of one request, over all its indicators. Strings are copies, so that runs need not be
 * kept. */

#include <stddef.h>
#include <stdint.h>

#include "http/kpis/accepted_levels.h"
#include "json/json.h"
#include "kpi/history.h"
#include "util/arena.h"

/* Limits of a request. */
#define JUDGED_KPIS_MAX 5000U
#define JUDGED_KPIS_TEXT_MAX (8U * 1024U * 1024U) /* bytes of labels, profiles and names */

typedef struct JudgedKpi {
        const char *name;   /* INDICATOR.RESULT */
        const char *unit;   /* NULL: none */
        const char *labels; /* JSON object */
        /* JSON object: state of the machine during the runs of the new level, and before; NULL: not known */
        const char *profile;
        const char *mixture; /* JSON object: the label that separates the runs; NULL: none */
        const char *changes; /* JSON array: changes between all levels; NULL: not wanted */
        const AcceptedLevel *accepted; /* borrowed; NULL: none */
        JudgeDirection direction;
        uint64_t n_failed;
        HistoryVerdict verdict;
} JudgedKpi;

typedef struct JudgedKpis {
        JudgedKpi *items; /* owned */
        size_t n, n_max;
        Arena texts; /* of the items */
} JudgedKpis;

void judged_kpis_deinit(JudgedKpis *kpis);

enum {
        JUDGED_KPIS_FULL = 1,
};
/* Adds a copy with its texts. 0, JUDGED_KPIS_FULL or -ENOMEM. */
int judged_kpis_add(JudgedKpis *kpis, const JudgedKpi *kpi);
/* Limits the share of false changes; see history_limit_false_changes(). 0 or -ENOMEM. */
int judged_kpis_limit(JudgedKpis *kpis, double rate);
/* Writes an array of the changes between all levels. */
void judged_kpis_write_changes(const HistoryChanges *changes, JudgeDirection direction, Json *json);
/*
 * Writes the members "kpis", "counts" and "separated_by": if each history has one run, the keys of the parameters in
 * which the runs of a KPI differ.
 */
void judged_kpis_write(const JudgedKpis *kpis, Json *json);
