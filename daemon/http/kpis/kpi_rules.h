/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * KPI rules: which results form the history of a KPI
 *
 * The request, otherwise the model, selects the names that are compared and ignored. Names that only identify a run are never compared,
 * unless a model declares them as parameters.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/indicator_model.h"
#include "http/indicators/vocabulary.h"
#include "store/indicators/points.h"

#define KPI_NAMES_MAX 32U   /* names in a list */
#define KPI_ENTRIES_MAX (2 * MODEL_ENTRIES_MAX) /* values to ignore, of the model and of the request */

typedef struct KpiNames {
        char items[KPI_NAMES_MAX][CONDITION_KEY_MAX + 1];
        size_t n;
} KpiNames;

typedef struct KpiRules {
        KpiNames compared;  /* names that distinguish versions */
        KpiNames ignored;   /* may differ in a history */
        KpiNames sorted_by; /* order of the series */
        Condition entries[KPI_ENTRIES_MAX]; /* a result that meets one is not judged; their values point to the texts */
        char *texts[KPI_ENTRIES_MAX]; /* owned */
        size_t n_entries;
        const Vocabulary *vocabulary; /* borrowed */
        bool is_across_hardware;
        bool has_undeclared; /* the model lists a name that it does not declare as a parameter: it may be a label */
} KpiRules;

/* Reads the query parameters compare_by, ignore, ignore_entry and across. Names in the request are added to the lists of
 * `selection`, which vocabulary_check() checks. Call kpi_rules_deinit() in any case. 0 or EXCHANGE_ANSWERED. */
int kpi_rules_read(const Target *target, Response *response, const Vocabulary *vocabulary, Selection *selection, KpiRules *ret);
void kpi_rules_deinit(KpiRules *rules);

/* True if results that differ in the parameter have different histories. */
bool kpi_rules_divides(const KpiRules *rules, JsonText parameter);
/* Finds the value of compared name i, as point_find(). */
void kpi_rules_find(const KpiRules *rules, size_t i, const PointRow *row, JsonText *ret_json, const char **ret_text);
/* True if the result is one of ignore_entries. */
bool kpi_rules_skips(const KpiRules *rules, const PointRow *row);
