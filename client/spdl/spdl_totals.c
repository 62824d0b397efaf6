/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_totals.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/scoped.h"

#define ROUNDING_S 0.05 /* of the elapsed time in a line: times from a second on have one decimal */
#define SHARE_MIN  0.1  /* of the run: the means of a shorter interval cannot be computed from the digits of a line */
#define STEP_S     1e-3 /* by which two intervals of a queue differ at least */
#define SOONER_MAX 0.9  /* of an interval */
#define CLEAR      4    /* times the resolution of the log's times: the start of a shorter interval is not known well enough */

/* Sums over the intervals of a run. */
typedef struct Run {
        size_t n;
        double begin_s, end_s, spacing_s; /* NAN: no time in the log. Spacing of the last two ends */
        double elapsed_s, count, failures, time_s, get_s, ready_s;
} Run;

typedef struct StageRuns {
        Run tasks, queue;      /* `tasks` is without the last row */
        size_t last_tasks;     /* row of the table; SIZE_MAX: none */
        bool has_queue;
} StageRuns;

static double known(double v) {
        return isnan(v) ? 0 : v;
}

static double successes(const SpdlRow *row) {
        return row->values[SPDL_COUNT] - known(row->values[SPDL_FAILURES]);
}

static void add(Run *run, const SpdlRow *row) {
        const double *values = row->values;

        run->spacing_s = run->n > 0 ? row->end_s - run->end_s : NAN;
        if (run->n++ == 0)
                run->begin_s = row->end_s - known(values[SPDL_ELAPSED]);
        run->end_s = row->end_s;
        run->elapsed_s += known(values[SPDL_ELAPSED]);
        run->count += values[SPDL_COUNT];
        run->failures += known(values[SPDL_FAILURES]);
        run->time_s += successes(row) * values[SPDL_TIME];
        run->get_s += values[SPDL_COUNT] * known(values[SPDL_GET]);
        run->ready_s += known(values[SPDL_ELAPSED]) * known(values[SPDL_OCCUPANCY]);
}

/* resolution_s: of the times in the log. */
static bool is_queue_total(const Run *run, const SpdlRow *row, double resolution_s) {
        double elapsed_s = row->values[SPDL_ELAPSED], begin_s = row->end_s - elapsed_s;

        if (run->n == 0 || row->values[SPDL_COUNT] < run->count || elapsed_s < run->elapsed_s - ROUNDING_S * (double)(run->n + 1))
                return false;
        if (!isnan(begin_s) && !isnan(run->begin_s) && elapsed_s > CLEAR * resolution_s)
                return fabs(begin_s - run->begin_s) < fabs(begin_s - run->end_s);
        return run->n > 1 || elapsed_s > run->elapsed_s + 2 * ROUNDING_S;
}

/* Recognizes totals of tasks whose queue is not in the log: they come sooner than an interval would. */
static bool is_task_total(const Run *run, const SpdlRow *row) {
        return run->n > 1 && run->count > 0 && row->values[SPDL_COUNT] >= run->count &&
               (isnan(row->end_s) || isnan(run->spacing_s) || row->end_s - run->end_s < SOONER_MAX * run->spacing_s);
}

/* Returns the mean of the rest of a run, or the mean of the whole run if the rest is small. */
static double left_mean(double total, double n_total, double before, double n_left) {
        if (!(n_left > 0))
                return 0;
        return n_left < SHARE_MIN * n_total ? total / n_total : fmax(0, (total - before) / n_left);
}

/* Subtracts the intervals from the totals. */
static void subtract(const Run *run, SpdlRow *row) {
        double *values = row->values, n = values[SPDL_COUNT], n_successes = successes(row), elapsed_s = values[SPDL_ELAPSED];
        double n_left = fmax(0, n - run->count), failures_left = fmin(n_left, fmax(0, known(values[SPDL_FAILURES]) - run->failures));
        double *occupancy = &values[SPDL_OCCUPANCY], elapsed_left = fmax(0, known(elapsed_s) - run->elapsed_s);

        values[SPDL_TIME] = left_mean(n_successes * values[SPDL_TIME], n_successes, run->time_s, n_left - failures_left);
        if (row->part == PIPELINE_QUEUE) {
                values[SPDL_GET] = left_mean(n * values[SPDL_GET], n, run->get_s, n_left);
                if (!isnan(*occupancy)) /* fmin() does not return NAN */
                        *occupancy = fmin(1, left_mean(elapsed_s * *occupancy, elapsed_s, run->ready_s, elapsed_left));
                values[SPDL_ELAPSED] = elapsed_left;
        } else
                values[SPDL_FAILURES] = failures_left;
        values[SPDL_COUNT] = n_left;
        values[SPDL_P90] = values[SPDL_P99] = values[SPDL_GET_P90] = values[SPDL_GET_P99] = NAN;
        if (row->end_s < run->end_s + STEP_S)
                row->end_s = run->end_s + STEP_S;
        if (n_left == 0 && known(elapsed_left) <= 2 * ROUNDING_S)
                row->at = 0;
}

/* Ends the run of the tasks. has_total: their last row has the totals. */
static void end_tasks(StageRuns *runs, SpdlTable *table, bool has_total) {
        if (has_total && runs->tasks.n > 0)
                subtract(&runs->tasks, &table->rows[runs->last_tasks]);
        runs->tasks = (Run){};
        runs->last_tasks = SIZE_MAX;
}

static void take_row(StageRuns *runs, SpdlTable *table, size_t i) {
        SpdlRow *row = &table->rows[i], *last = runs->last_tasks < table->n ? &table->rows[runs->last_tasks] : NULL;

        if (row->part == PIPELINE_TASKS) {
                if (last)
                        add(&runs->tasks, last);
                runs->last_tasks = i;
                return;
        }
        runs->has_queue = true;
        if (!is_queue_total(&runs->queue, row, table->has_fractions ? 1e-3 : 1)) {
                add(&runs->queue, row);
                return;
        }
        subtract(&runs->queue, row);
        runs->queue = (Run){};
        if (last)
                end_tasks(runs, table, last->values[SPDL_COUNT] >= runs->tasks.count);
}

/* Removes rows that subtract() found empty: the run ended at the end of an interval. */
static void remove_empty(SpdlTable *table) {
        size_t n = 0;

        for (size_t i = 0; i < table->n; i++)
                if (table->rows[i].at > 0)
                        table->rows[n++] = table->rows[i];
        table->n = n;
}

int spdl_totals_split(SpdlTable *table) {
        scoped(freep) StageRuns *runs = calloc(table->n_stages + 1, sizeof(*runs));

        if (!runs)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_stages; i++)
                runs[i].last_tasks = SIZE_MAX;
        for (size_t i = 0; i < table->n; i++)
                take_row(&runs[table->rows[i].stage], table, i);
        for (size_t i = 0; i < table->n_stages; i++)
                if (!runs[i].has_queue && runs[i].last_tasks < table->n)
                        end_tasks(&runs[i], table, is_task_total(&runs[i].tasks, &table->rows[runs[i].last_tasks]));
        remove_empty(table);
        return 0;
}
