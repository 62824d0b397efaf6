/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/straggler.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define WORKERS_MAX      256U
#define WORKER_TASKS_MIN 3 /* the mean of fewer says little */
#define FIRST_TASKS_MIN  4U
#define IN_ORDER_MIN     0.75 /* of the pairs of tasks: the later one takes longer */
#define TWICE_MIN        1.7  /* twice as many tasks take so many times as long: they wait for each other */
#define SOME_MIN         1.3  /* ... some of the time, perhaps */
#define ENOUGH           0.9  /* of the highest throughput */

void pipeline_set_init(PipelineSet *set) {
        *set = (PipelineSet){ .process = pipeline_diagnosis_unknown_process(0),
                              .job = pipeline_diagnosis_unknown_job() };
}

void pipeline_set_deinit(PipelineSet *set) {
        free(set->stages);
        *set = (PipelineSet){};
}

/* Returns a number that is 0 to max, or NAN. */
static double check_number(PipelineSet *set, const char *name, double v, double max) {
        if (v >= 0 && v <= max)
                return v;
        if (!set->impossible.name)
                set->impossible = (ImpossibleNumber){ name, v, max };
        return NAN;
}

static double number_or_nan(PipelineSet *set, const Value *object, const char *key, double max) {
        double v;

        return value_get_double(object, key, &v) ? check_number(set, key, v, max) : NAN;
}

/* Returns a number of threads; 0: not known. */
static unsigned read_threads(PipelineSet *set, const Value *from) {
        double n = number_or_nan(set, from, "threads", PIPELINE_SET_THREADS_MAX);

        return isnan(n) ? 0 : (unsigned)n;
}

static bool is_true(const Value *value) {
        return value && value->type == VALUE_BOOL && value->boolean;
}

static void read_pools(const Value *list, PipelineSet *set) {
        PipelineProcess *ret = &set->process;

        ret->knows_pools = list && list->type == VALUE_LIST && list->n_items <= PIPELINE_POOLS_MAX;
        for (size_t i = 0; ret->knows_pools && i < list->n_items; i++) {
                const Value *from = &list->items[i], *stages = value_get(from, "stages");
                PipelinePool *pool = &ret->pools[ret->n_pools++];

                *pool = (PipelinePool){ .n_threads = read_threads(set, from),
                                        .waiting = number_or_nan(set, from, "waiting", 1) };
                if (!is_true(value_get(from, "shared")) && stages && stages->type == VALUE_LIST &&
                    stages->n_items > 0 && stages->items[0].type == VALUE_STRING)
                        (void)snprintf(pool->stage, sizeof(pool->stage), "%s", stages->items[0].string);
        }
}

/* Reads the labels of the stages whose output has the order of their input. */
static uint64_t read_in_order(const Value *list) {
        uint64_t ret = 0;
        PipelineStage stage;

        for (size_t i = 0; list && list->type == VALUE_LIST && i < list->n_items; i++) {
                const Value *label = &list->items[i];

                if (label->type == VALUE_STRING && pipeline_stage_parse(&stage, label->string, strlen(label->string)) &&
                    stage.order < 64)
                        ret |= UINT64_C(1) << stage.order;
        }
        return ret;
}

/* Finds the slow worker in the list of [number of tasks, seconds] of each worker of a stage. */
static void read_workers(const Member *from, PipelineSet *set) {
        const Value *list = &from->value;
        double means[WORKERS_MAX], median;
        PipelineStage stage;
        size_t n = list->type == VALUE_LIST ? list->n_items : 0, found;

        if (n > WORKERS_MAX || !pipeline_stage_parse(&stage, from->key, strlen(from->key)))
                return;
        for (size_t i = 0; i < n; i++) {
                const Value *pair = &list->items[i];
                bool is_pair = pair->type == VALUE_LIST && pair->n_items == 2 && value_is_number(&pair->items[0]) &&
                               value_is_number(&pair->items[1]);
                double n_tasks = is_pair ? check_number(set, "workers", value_number(&pair->items[0]), UINT32_MAX) : 0;
                double seconds = is_pair ? check_number(set, "workers", value_number(&pair->items[1]),
                                                        PIPELINE_SECONDS_MAX) : 0;

                means[i] = n_tasks >= WORKER_TASKS_MIN ? seconds / n_tasks : NAN;
        }
        found = straggler_find(means, n, STRAGGLER_MEASURE_TIME, &median);
        if (found < n)
                set->slow = (SlowWorker){ stage.pipeline, stage.order, found, n, means[found], median };
}

/* Fits a line to times of a task, by the number of tasks that run at once. */
static void fit_line(const double *times, size_t n, double *ret_begin, double *ret_slope) {
        double middle = ((double)n + 1) / 2, mean = 0, square = 0, product = 0;

        for (size_t i = 0; i < n; i++)
                mean += times[i] / (double)n;
        for (size_t i = 0; i < n; i++) {
                double at = (double)(i + 1) - middle;

                square += at * at;
                product += at * (times[i] - mean);
        }
        *ret_slope = product / square;
        *ret_begin = mean - *ret_slope * middle;
}

static int compare_times(const void *a, const void *b) {
        const double *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* Finds whether the first tasks of a stage, of which the N-th began as one of N at once, waited for each other. Sorts
 * their times: what they wait for need not be given in order. */
static bool find_shared_wait(double *times, size_t n, SharedWait *ret) {
        double begin, slope, n_all = (double)n, n_in_order = 0, together, half, throughput = 0;

        for (size_t i = 0; i < n; i++) {
                if (!(times[i] > 0))
                        return false;
                for (size_t k = 0; k < i; k++)
                        n_in_order += times[i] > times[k];
        }
        if (n_in_order < IN_ORDER_MIN * n_all * (n_all - 1) / 2)
                return false;
        fit_line(times, n, &begin, &slope);
        together = begin + slope * n_all;
        half = begin + slope * n_all / 2;
        if (!(together > SOME_MIN * half))
                return false;
        qsort(times, n, sizeof(*times), compare_times);
        for (size_t i = 0; i < n; i++)
                throughput = fmax(throughput, (double)(i + 1) / times[i]);
        for (ret->enough = 1; ret->enough < n && ret->enough < ENOUGH * throughput * times[ret->enough - 1];)
                ret->enough++;
        /* One waits, so that none of them is free between two tasks. */
        ret->enough = together > TWICE_MIN * half ? ret->enough + 1 : 0;
        ret->alone_s = times[0];
        ret->together_s = together;
        return true;
}

static void read_first_tasks(const Member *from, PipelineSet *set) {
        const Value *list = &from->value;
        double times[WORKERS_MAX];
        PipelineStage stage;
        SharedWait wait;
        size_t n = list->type == VALUE_LIST ? list->n_items : 0;

        if (n < FIRST_TASKS_MIN || n > WORKERS_MAX || set->n_shared == PIPELINE_POOLS_MAX ||
            !pipeline_stage_parse(&stage, from->key, strlen(from->key)))
                return;
        for (size_t i = 0; i < n; i++)
                times[i] = value_is_number(&list->items[i]) ? check_number(set, "first_tasks",
                                                                           value_number(&list->items[i]),
                                                                           PIPELINE_SECONDS_MAX)
                                                            : NAN;
        if (!find_shared_wait(times, n, &wait))
                return;
        wait.pipeline = stage.pipeline;
        wait.order = stage.order;
        set->shared[set->n_shared++] = wait;
}

static void read_loader(const Member *from, PipelineSet *set) {
        const double waited_s = number_or_nan(set, &from->value, "start_seconds", PIPELINE_SECONDS_MAX);
        const double cpus = number_or_nan(set, &from->value, "cpus", PIPELINE_SET_THREADS_MAX);
        const double waiting = number_or_nan(set, &from->value, "waiting_for_cpu", PIPELINE_SET_THREADS_MAX);
        PipelineStage stage;

        if (set->n_loaders < PIPELINE_LOADERS_MAX && pipeline_stage_parse(&stage, from->key, strlen(from->key)))
                set->loaders[set->n_loaders++] = (PipelineLoader){ stage.pipeline, waited_s, cpus, waiting };
}

static void read_process(const Value *from, PipelineSet *set) {
        const Value *measured = value_get_given(from, "process"), *workers = value_get_given(from, "workers");
        const Value *first = value_get_given(from, "first_tasks"), *loaders = value_get_given(from, "loaders");
        double seconds = number_or_nan(set, measured, "seconds", PIPELINE_SECONDS_MAX);
        double pipeline = number_or_nan(set, from, "pipeline", UINT32_MAX);
        double cpus_max = seconds * PIPELINE_SET_THREADS_MAX;

        set->process = pipeline_diagnosis_unknown_process(read_threads(set, from));
        set->process_pipeline = isnan(pipeline) ? 0 : (unsigned)pipeline;
        set->slow = (SlowWorker){};
        read_pools(value_get_given(from, "pools"), set);
        set->n_shared = set->n_loaders = 0;
        set->process.in_order = read_in_order(value_get_given(from, "in_order"));
        for (size_t i = 0; workers && workers->type == VALUE_OBJECT && i < workers->n_members; i++)
                read_workers(&workers->members[i], set);
        for (size_t i = 0; first && first->type == VALUE_OBJECT && i < first->n_members; i++)
                read_first_tasks(&first->members[i], set);
        for (size_t i = 0; loaders && loaders->type == VALUE_OBJECT && i < loaders->n_members; i++)
                read_loader(&loaders->members[i], set);
        if (!(seconds > 0))
                return;
        set->process.cpus_used = number_or_nan(set, measured, "cpu_seconds", cpus_max) / seconds;
        set->process.lock_waited = number_or_nan(set, measured, "lock_wait", 1);
        set->process.lock_held = number_or_nan(set, measured, "lock_held", 1);
        set->process.waiting_for_cpu = number_or_nan(set, measured, "tasks_cpu_wait_seconds", cpus_max) / seconds;
        set->process.tasks_cpus = number_or_nan(set, measured, "tasks_cpu_seconds", cpus_max) / seconds;
}

ImpossibleNumber pipeline_set_check_description(const Value *description) {
        PipelineSet set = {};

        read_process(description, &set);
        return set.impossible;
}

int pipeline_set_read_description(PipelineSet *set, JsonText description) {
        scoped(arena_deinit) Arena arena = {};
        const Value *value;
        ValueError error;
        int r;

        r = value_parse_only(description.text, description.n, &arena, &value, &error);
        if (r == 0)
                read_process(value, set);
        return r < 0 ? r : 0;
}
