/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * KPI set: the newest values of the results that models declare
 *
 * A KPI is a result of an indicator that has a model. Its name is MODEL.result, or the result alone where no other model has a result
 * of this name.
 */

#include <stddef.h>
#include <stdint.h>

#include "client/api/api_query.h"

#define KPI_INDICATORS_MAX 1000U /* indicators in a set */
#define KPI_RESULTS_MAX 100U     /* newest results of each */

/* Results of one indicator. */
typedef struct KpiIndicator {
        const char *name;
        const Value *model;    /* its declaration */
        const Value *declared; /* member `results` of the declaration */
        const Value *results;  /* list as in the API, newest first */
        ApiQuery query;        /* holds the results */
} KpiIndicator;

typedef struct KpiSet {
        ApiQuery models, names;
        KpiIndicator *indicators; /* owned */
        size_t n;
} KpiSet;

/* Reads up to n_results results of each indicator with a model. Returns EXIT_DONE, or an exit status after a message. Call
 * kpi_set_deinit() in both cases. */
int kpi_set_open(KpiSet *set, const GlobalOptions *global, size_t n_results);
void kpi_set_deinit(KpiSet *set);

/* Returns true if another indicator of the set has a result of this name. */
bool kpi_set_is_ambiguous(const KpiSet *set, const KpiIndicator *indicator, const char *key);
/* Returns the value of a result in one row of the results, also one that the model derives; NULL: none. */
const Value *kpi_set_value(const Value *row, const char *key);
/* Returns the newest value of the KPI, or NULL. *ret_time_ms: when it was measured. */
const Value *kpi_set_latest(const KpiIndicator *indicator, const char *key, uint64_t *ret_time_ms);
