/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * KPI table: the runs of the selected results, one series for each combination of the members that are not compared
 *
 * The component, the hardware unless it may differ, and the parameters that are neither compared nor ignored make a
 * series. The limits bound the memory of a request.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator_model.h"
#include "http/indicators/vocabulary.h"
#include "kpi/history.h"
#include "store/indicators/points.h"
#include "util/scoped.h"

#define KPI_ENTRIES_MAX (2 * MODEL_ENTRIES_MAX) /* values to ignore, of the model and of the request */

/*
 * KPI rules: which results form the history of a KPI
 *
 * The request, otherwise the model, selects the names that are compared and ignored. Names that only identify a run
 * are never compared, unless a model declares them as parameters.
 */
typedef struct KpiRules {
        Names compared;  /* names that distinguish versions */
        Names ignored;   /* may differ in a history */
        Names sorted_by; /* order of the series */
        Condition entries[KPI_ENTRIES_MAX]; /* a result that meets one is not judged; their values point to the texts */
        char *texts[KPI_ENTRIES_MAX]; /* owned */
        size_t n_entries;
        const Vocabulary *vocabulary; /* borrowed */
        bool is_across_hardware;
        bool has_undeclared; /* the model lists a name that it does not declare as a parameter: it may be a label */
} KpiRules;

/* Reads the query parameters compare_by, ignore, ignore_entry and across. Names in the request are added to the
 * lists of `selection`, which vocabulary_check() checks. Call kpi_table_rules_deinit() in any case. 0 or
 * EXCHANGE_ANSWERED. */
int kpi_table_read_rules(const Target *target, Response *response, const Vocabulary *vocabulary, Selection *selection,
                         KpiRules *ret);
void kpi_table_rules_deinit(KpiRules *rules);

#define KPI_SERIES_MAX 5000U
#define KPI_TABLE_BYTES_MAX (16U * 1024U * 1024U) /* of all results, and the runs of one number */
#define KPI_VERSIONS_MAX 2000U
#define KPI_TABLE_TEXT_MAX (4U * 1024U * 1024U) /* bytes of all labels and versions */

/* The runs of one number. */
typedef struct KpiRuns {
        HistoryRun *items; /* owned; versions belong to the table */
        size_t n, n_max;
} KpiRuns;

void kpi_table_runs_deinit(KpiRuns *runs);

/* The common part of the numbers of a result. */
typedef struct KpiResult {
        uint64_t time_ms : 48;
        uint64_t version : 16; /* its number in the table; 0: unknown */
        uint64_t batch;        /* as in HistoryRun, as is result */
        int64_t result;
} KpiResult;

typedef struct KpiSeries {
        char *labels; /* owned: JSON object with component, hardware and parameters */
        uint64_t hash;
        uint64_t n_failed;
        KpiResult *results; /* owned: of runs that did not fail */
        double *values;     /* owned: the numbers of the filter of each result; NAN: missing */
        /* owned: of each of these numbers, the values of the list of which it is the median; NULL: no lists */
        uint32_t *counts;
        size_t n, n_max, n_values_max, n_counts_max;
} KpiSeries;

typedef struct KpiTable KpiTable;

/* rules: borrowed. 0 or -ENOMEM. */
int kpi_table_new(KpiTable **ret, const KpiRules *rules, size_t n_numbers);
KpiTable *kpi_table_free(KpiTable *table);
DEFINE_SCOPED(KpiTable, kpi_table_free);

enum {
        KPI_MANY_SERIES = 1, /* a further series would exceed KPI_SERIES_MAX or KPI_TABLE_TEXT_MAX */
        KPI_MANY_RUNS,       /* KPI_TABLE_BYTES_MAX, KPI_VERSIONS_MAX or KPI_TABLE_TEXT_MAX would be exceeded */
};
/* Adds a result to the series of its labels, unless the rules ignore the result. Returns 0, an outcome or -ENOMEM. */
int kpi_table_add(KpiTable *table, const PointRow *row);

/* Replaces the runs by those of a number of the filter. 0 or -ENOMEM. */
int kpi_table_find_runs(const KpiTable *table, const KpiSeries *series, size_t number, KpiRuns *ret);

/* Borrowed; sorted by the keys of the rules, then by labels, after kpi_table_sort(). */
KpiSeries *kpi_table_series(KpiTable *table, size_t *ret_n);
void kpi_table_sort(KpiTable *table);
