/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* IndicatorsSnapshot: the indicators' part of a Snapshot: counts of results, and the models. */

#include <stddef.h>
#include <stdint.h>

#include "snapshot/shared_texts.h"

#define KPIS_FAMILY_MAX 95U /* bytes of the name of a family */

/* Texts are borrowed from `texts`. */
typedef struct KpiSample {
        const char *family, *unit, *help; /* unit: "" unless the name of the family ends with it */
        const char *labels;               /* key="value" pairs, escaped */
        double value;
} KpiSample;

/* The current values of KPIs, by family, for /metrics. */
typedef struct KpisSnapshot {
        KpiSample *samples; /* owned; those of a family are together */
        size_t n;
        char *texts; /* owned */
        uint64_t version;
        uint64_t n_left_out; /* series that are not shown: since start because of a limit, and now because of their name */
} KpisSnapshot;

void indicators_snapshot_deinit_kpis(KpisSnapshot *kpis);

typedef enum IndicatorOutcome {
        INDICATOR_STORED,
        INDICATOR_FAILED,  /* the result is stored, but the run failed */
        INDICATOR_REFUSED, /* the result does not conform to its model */
        N_INDICATOR_OUTCOMES,
} IndicatorOutcome;

/* Results of one user with one indicator and component since start. */
typedef struct IndicatorCount {
        const char *name, *component; /* borrowed from `names` in a snapshot; component may be "" */
        uint32_t uid;                 /* no user's if the name is "" */
        uint64_t n[N_INDICATOR_OUTCOMES];
} IndicatorCount;

/* Counters since start. */
typedef struct IndicatorsStats {
        uint64_t n_stored;
        uint64_t n_deviations; /* keys of stored results that do not conform to the model */
} IndicatorsStats;

typedef struct IndicatorsSnapshot {
        IndicatorCount *counts; /* owned; the last element may count all results without a series of their own, with
                                 * empty names */
        size_t n, n_allocated;
        char *names; /* owned; texts of the counts */
        uint64_t names_version;
        IndicatorsStats stats;
        KpisSnapshot kpis;
        SharedTexts *models; /* a reference; JSON of /api/v1/models; NULL before it was set */
} IndicatorsSnapshot;

void indicators_snapshot_deinit(IndicatorsSnapshot *indicators);
/* Allocates n counts. Returns 0 or -ENOMEM. */
int indicators_snapshot_reserve(IndicatorsSnapshot *indicators, size_t n);
/* Takes a reference to the models. */
void indicators_snapshot_set_models(IndicatorsSnapshot *indicators, SharedTexts *models);
