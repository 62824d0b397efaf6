/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * History: the runs of one KPI over versions, and the verdict about the newest of them
 *
 * A KPI is one number of the results that agree in everything except the compared names. Its runs are ordered by
 * version, and by time within a version; versions without an order have that of their first runs. A change lies
 * between two versions only. If there is one version, or none,
 * a change may lie between any two runs. The runs of one batch count as one run, with their median.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/baseline.h"
#include "analysis/judge.h"

#define HISTORY_RUNS_MAX 512U /* of a KPI: older runs are left out */

typedef struct HistoryRun {
        double value; /* finite */
        uint64_t time_ms;
        const char *version; /* borrowed; NULL: unknown */
        uint64_t batch;      /* equal for the runs of one batch; 0: none */
        /* number in the order of arrival, which orders runs at the same time; of a batch, that of its newest run */
        int64_t result;
        uint32_t n_values;    /* of the list of which the value is the median; 0: the value is a number */
        uint32_t n_repeats;   /* results of a batch; set by history_judge(), as the next */
        uint64_t first_ms;    /* the first run of the version; set by history_judge(), as the next */
        int64_t first_result;
} HistoryRun;

typedef enum HistoryOrder {
        HISTORY_BY_SEMVER,  /* otherwise as below */
        HISTORY_BY_VERSION, /* document/version.h */
        HISTORY_BY_TIME,    /* of the first run of each version */
        HISTORY_BY_NUMBER,
        N_HISTORY_ORDERS,
} HistoryOrder;

/* Names of the orders in requests and answers, NULL-terminated. */
extern const char *const history_order_names[N_HISTORY_ORDERS + 1];

/* A run in a verdict. */
typedef struct HistoryPlace {
        const char *version; /* borrowed; NULL: unknown */
        uint64_t time_ms;    /* 0: none */
} HistoryPlace;

#define HISTORY_CHANGES_MAX 64U /* of a history: older changes are left out */

/* A change of the level. */
typedef struct HistoryChange {
        HistoryPlace first;         /* the first run of the new level */
        double before, after;       /* levels */
        double sd_before, sd_after; /* standard deviations around the levels */
        double relative;
        double low, high; /* interval of the change, at 95 %; NAN: too few runs */
        double p_value;
} HistoryChange;

typedef struct HistoryChanges {
        HistoryChange items[HISTORY_CHANGES_MAX]; /* ascending */
        size_t n;
} HistoryChanges;

typedef struct HistoryQuestion {
        HistoryOrder order;
        const char *current; /* version that is judged; NULL: that of the newest run */
        JudgeSettings judge;
        uint64_t accepted_ms; /* the level of the newest run up to here is accepted; 0: none. Not used with is_compat */
        /* Selects as MatrixBenchmarking does: versions in the order of their strings, including later versions, the
         * oldest run of each version, and no earlier run of the judged version. For a KPI without a direction,
         * higher values count as better. */
        bool is_compat;
        HistoryChanges *changes; /* borrowed; gets the changes between all levels; NULL: none */
} HistoryQuestion;

/* Numbers of runs that are not judged by themselves. */
typedef struct HistoryExcluded {
        size_t n_later;    /* of later versions */
        size_t n_older;    /* beyond HISTORY_RUNS_MAX */
        size_t n_repeated; /* further runs of a version; only with is_compat */
        size_t n_batched;  /* that count with others of their batch, by the median */
        size_t n_accepted; /* before an accepted level */
} HistoryExcluded;

/* Parts of the judged runs. */
typedef struct HistoryContent {
        size_t n_versions;
        size_t n_repeats; /* results: more than runs if some were batches */
        size_t n_values;  /* of the list of the judged run, of which the median counts; 0: a number */
} HistoryContent;

typedef struct HistoryVerdict {
        JudgeVerdict verdict;
        double value;     /* of the judged run; NAN: none */
        double relative;  /* change of the level; NAN: not known */
        double low, high; /* interval of the change, at 95 %; NAN: too few runs */
        double p_value;   /* NAN: the method has none */
        double smallest;  /* least change that n_smallest runs of a new level would show; NAN: not known */
        size_t n_smallest;
        HistoryOrder order; /* by time if a version cannot be ordered otherwise */
        size_t n;         /* number of judged runs: the first n of the given runs, in their new order */
        size_t since;     /* index of the first run of the new level, or of those that differ; n: no change */
        size_t n_before;  /* runs of the level before `since`; 0: no change */
        HistoryExcluded excluded;
        HistoryContent of;
        size_t n_needed;  /* more runs needed for a verdict; 0: none */
        HistoryPlace judged;   /* the judged run; of a batch, its newest run */
        HistoryPlace first;    /* the first run of the new level; version NULL if it began within it; none: no change */
        HistoryPlace back_to;  /* the first run of an earlier level that is reached again; none: of no level */
        HistoryPlace accepted; /* the run whose level is accepted; none: no level, or a run of a later version */
        BaselineStatus status; /* only with is_compat and a method of MatrixBenchmarking; description NULL: none */
} HistoryVerdict;

enum {
        HISTORY_NO_CURRENT = 1, /* no run has the version that is to be judged */
};

/* Judges n runs; changes their order, and overwrites the runs that are left out. Returns 0, HISTORY_NO_CURRENT or
 * -ENOMEM. */
int history_judge(HistoryRun *runs, size_t n, const HistoryQuestion *question, HistoryVerdict *ret);

/* Makes a verdict JUDGE_UNKNOWN, and removes what was found in runs that do not belong together. */
void history_refuse_mixture(HistoryVerdict *verdict);
/* Makes a change JUDGE_RUN_AGAIN. */
void history_ask_rerun(HistoryVerdict *verdict);

/*
 * Limits the share of false changes among all changes of n verdicts to `rate`, by the procedure of Benjamini and
 * Hochberg: other changes become JUDGE_RUN_AGAIN. Verdicts without a p-value are kept. Returns the number of changed
 * verdicts.
 */
size_t history_limit_false_changes(HistoryVerdict *const *verdicts, size_t n, double rate);
