/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/stage_set.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/pipeline/straggler.h"
#include "pipeline/pipeline_report.h"
#include "util/array.h"
#include "util/parse.h"
#include "value/value_parse.h"

#define GPUS_MAX         1024
#define WORKERS_MAX      256U
#define WORKER_TASKS_MIN 3 /* the mean of fewer says little */
#define LINE_BYTES_MAX 65536U

void stage_set_deinit(StageSet *set) {
        free(set->stages);
        *set = (StageSet){};
}

/* --- answers of perfd ------------------------------------------------------------------------- */

/* Member of PipelineSums in each part; NULL: the part does not have it. */
typedef struct SumMember {
        size_t offset;
        const char *keys[N_PIPELINE_PARTS];
} SumMember;

static const SumMember members[] = {
        { offsetof(PipelineSums, elapsed_s), { "elapsed_s", "elapsed_s" } },
        { offsetof(PipelineSums, n), { "num_tasks", "num_items" } },
        { offsetof(PipelineSums, n_failures), { "num_failures", NULL } },
        { offsetof(PipelineSums, time_s), { "success_s", "put_wait_s" } },
        { offsetof(PipelineSums, get_s), { NULL, "get_wait_s" } },
        { offsetof(PipelineSums, ready_s), { NULL, "ready_s" } },
        { offsetof(PipelineSums, judged_s), { NULL, "readiness_measured_s" } },
};

static double number(const Value *object, const char *key) {
        double v = 0;

        return key && value_get_double(object, key, &v) && v > 0 ? v : 0;
}

static PipelineSums read_sums(const Value *from, PipelinePart part) {
        PipelineSums sums = {};

        for (size_t i = 0; i < N_ELEMENTS(members); i++)
                *(double *)(void *)((char *)&sums + members[i].offset) = number(from, members[i].keys[part]);
        return sums;
}

static void read_part(const Value *from, PipelinePart part, bool is_start_known, PipelineStage *stage) {
        PipelineSums sums = read_sums(from, part), first = read_sums(value_get(from, "first_interval"), part);

        pipeline_report_drop_first(&sums, &first, (uint64_t)number(from, "intervals"), is_start_known);
        pipeline_report_set_stage(stage, part, &sums, number(from, "newest_interval_n"));
}

static bool read_stage(const Value *from, bool is_start_known, PipelineStage *ret) {
        const Value *tasks = value_get_given(from, "tasks"), *queue = value_get_given(from, "queue");
        const char *label = value_get_string(from, "stage");

        if (!label || !pipeline_stage_parse(ret, label, strlen(label)))
                return false;
        if (tasks)
                read_part(tasks, PIPELINE_TASKS, is_start_known, ret);
        if (queue)
                read_part(queue, PIPELINE_QUEUE, is_start_known, ret);
        return true;
}

static void read_first_batch(const Value *from, StageSet *ret) {
        if (!from)
                return;
        ret->first_batch_ms = number(from, "time_ms");
        ret->job.first_wait_s = number(from, "seconds");
}

static double number_or_nan(const Value *object, const char *key) {
        double v;

        return value_get_double(object, key, &v) && v >= 0 ? v : NAN;
}

/* Returns a number of threads; 0: none, or more than is possible. */
static unsigned read_threads(const Value *from) {
        double n = number(from, "threads");

        return n <= STAGE_SET_THREADS_MAX ? (unsigned)n : 0;
}

static bool is_true(const Value *value) {
        return value && value->type == VALUE_BOOL && value->boolean;
}

static void read_pools(const Value *list, PipelineProcess *ret) {
        ret->knows_pools = list && list->type == VALUE_LIST && list->n_items <= PIPELINE_POOLS_MAX;
        for (size_t i = 0; ret->knows_pools && i < list->n_items; i++) {
                const Value *from = &list->items[i], *stages = value_get(from, "stages");
                PipelinePool *pool = &ret->pools[ret->n_pools++];

                *pool = (PipelinePool){ .n_threads = read_threads(from), .waiting = number_or_nan(from, "waiting") };
                if (!is_true(value_get(from, "shared")) && stages && stages->type == VALUE_LIST &&
                    stages->n_items > 0 && stages->items[0].type == VALUE_STRING)
                        (void)snprintf(pool->stage, sizeof(pool->stage), "%s", stages->items[0].string);
        }
}

/* Finds the slow worker in the list of [number of tasks, seconds] of each worker of a stage. */
static void read_workers(const Member *from, SlowWorker *ret) {
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
                double n_tasks = is_pair ? value_number(&pair->items[0]) : 0;

                means[i] = n_tasks >= WORKER_TASKS_MIN ? value_number(&pair->items[1]) / n_tasks : NAN;
        }
        found = straggler_find(means, n, STRAGGLER_MEASURE_TIME, &median);
        if (found < n)
                *ret = (SlowWorker){ stage.pipeline, stage.order, found, n, means[found], median };
}

/* The description is what a producer chose to send: members of another type are not known. */
static void read_description(const Value *from, StageSet *ret) {
        const Value *measured = value_get_given(from, "process"), *workers = value_get_given(from, "workers");
        double seconds = number(measured, "seconds");

        ret->process = pipeline_diagnosis_unknown_process(read_threads(from));
        ret->process_pipeline = (unsigned)fmin(number(from, "pipeline"), UINT32_MAX);
        read_pools(value_get_given(from, "pools"), &ret->process);
        for (size_t i = 0; workers && workers->type == VALUE_OBJECT && i < workers->n_members; i++)
                read_workers(&workers->members[i], &ret->slow);
        if (!(seconds > 0))
                return;
        ret->process.cpus_used = number_or_nan(measured, "cpu_seconds") / seconds;
        ret->process.lock_waited = number_or_nan(measured, "lock_wait");
        ret->process.waiting_for_cpu = number_or_nan(measured, "tasks_cpu_wait_seconds") / seconds;
        ret->process.tasks_cpus = number_or_nan(measured, "tasks_cpu_seconds") / seconds;
}

int stage_set_read_answer(const Value *answer, StageSet *ret) {
        const Value *list = value_get(answer, "stages");
        size_t n = list && list->type == VALUE_LIST ? list->n_items : 0;

        *ret = (StageSet){ .job = pipeline_diagnosis_unknown_job() };
        read_description(value_get_given(answer, "description"), ret);
        read_first_batch(value_get_given(answer, "first_batch"), ret);
        ret->stages = calloc(n + 1, sizeof(*ret->stages));
        if (!ret->stages)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                ret->n += read_stage(&list->items[i], ret->first_batch_ms > 0, &ret->stages[ret->n]);
        return 0;
}

/* Returns a metric of the job; NAN: it is absent. */
static double find_metric(const Value *job, const char *key) {
        const Value *metrics = value_get(job, "metrics");

        for (size_t i = 0; metrics && metrics->type == VALUE_LIST && i < metrics->n_items; i++) {
                const Value *metric = &metrics->items[i];
                double v;

                if (strcmp(value_get_string(metric, "key") ?: "", key) == 0)
                        return value_get_double(metric, "value", &v) ? v : NAN;
        }
        return NAN;
}

/* The label `gpus` of the job is the number of its GPUs. */
static unsigned find_gpus(const Value *job) {
        const char *text = value_get_string(value_get(job, "labels"), "gpus");
        uint64_t n;

        return text && parse_u64(text, &n) == 0 && n <= GPUS_MAX ? (unsigned)n : 0;
}

void stage_set_join_job(StageSet *stages, const Value *job) {
        double duration_s = find_metric(job, "duration_seconds"), cpu_s = 3600 * find_metric(job, "node_cpu_hours");
        double used_s = cpu_s - 3600 * find_metric(job, "node_unused_cpu_hours"),
               cpus = find_metric(job, "job_cpus_used");

        double begin_ms = number(job, "begin_ms"), first_wait_s = stages->job.first_wait_s;

        stages->has_job = true;
        stages->job = (PipelineJob){
                .cpus_used = cpus,
                .cpus_given = find_metric(job, "job_cpus_given"),
                .cpus_of_node = cpu_s / duration_s,
                .cpus_of_others = used_s / duration_s - cpus,
                .cpu_waited = find_metric(job, "job_psi_cpu_some_seconds") / duration_s,
                .io_stalled = find_metric(job, "job_psi_io_full_seconds") / duration_s,
                .memory_waited = find_metric(job, "job_psi_memory_some_seconds") / duration_s,
                .throttled = find_metric(job, "job_cpu_throttled_ratio"),
                .stolen = find_metric(job, "cpu_steal_seconds") / cpu_s,
                .first_batch_s = begin_ms > 0 && stages->first_batch_ms >= begin_ms ?
                                 (stages->first_batch_ms - begin_ms) / 1e3 + first_wait_s : NAN,
                .first_wait_s = first_wait_s,
                .n_gpus = find_gpus(job),
        };
        /* Use before the first batch, for example to load a library, is not of the tasks. */
        if (!isnan(cpus) && stages->process.tasks_cpus > 0)
                stages->job.cpus_used = stages->process.tasks_cpus;
}

/* --- lines ------------------------------------------------------------------------------------ */

typedef struct PartSums {
        size_t n;
        PipelineSums first, all;
        double n_last;
} PartSums;

typedef struct StageSums {
        PipelineStage stage;
        PartSums parts[N_PIPELINE_PARTS];
} StageSums;

typedef struct StageSumsList {
        StageSums *items; /* owned */
        size_t n, n_allocated;
        size_t last;      /* found last: files have the stages in the same order again and again */
} StageSumsList;

static int find_sums(StageSumsList *list, const char *label, StageSums **ret) {
        PipelineStage stage;

        if (!pipeline_stage_parse(&stage, label, strlen(label)))
                return -EINVAL; /* pipeline_line.h has parsed it */
        for (size_t i = 0; i < list->n; i++) {
                size_t at = (list->last + i) % list->n;

                if (pipeline_stage_compare(&list->items[at].stage, &stage) != 0)
                        continue;
                list->last = at;
                *ret = &list->items[at];
                return 0;
        }
        if (ARRAY_RESERVE(list->items, list->n_allocated, list->n + 1) < 0)
                return -ENOMEM;
        list->last = list->n++;
        *ret = &list->items[list->last];
        **ret = (StageSums){ .stage = stage };
        return 0;
}

static int add_interval(StageSumsList *list, const PipelineInterval *interval) {
        StageSums *stage;
        PartSums *part;
        int r;

        r = find_sums(list, interval->stage, &stage);
        if (r < 0)
                return r;
        part = &stage->parts[interval->part];
        if (part->n++ == 0)
                part->first = interval->sums;
        pipeline_report_add_sums(&part->all, &interval->sums);
        part->n_last = interval->sums.n;
        return 0;
}

static int finish(const StageSumsList *list, StageSet *ret) {
        ret->stages = calloc(list->n + 1, sizeof(*ret->stages));
        if (!ret->stages)
                return -ENOMEM;
        for (size_t i = 0; i < list->n; i++) {
                ret->stages[i] = list->items[i].stage;
                for (PipelinePart k = 0; k < N_PIPELINE_PARTS; k++) {
                        PartSums part = list->items[i].parts[k];

                        pipeline_report_drop_first(&part.all, &part.first, part.n, false);
                        if (part.n > 0)
                                pipeline_report_set_stage(&ret->stages[i], k, &part.all, part.n_last);
                }
        }
        ret->n = list->n;
        qsort(ret->stages, ret->n, sizeof(*ret->stages), pipeline_stage_compare);
        return 0;
}

typedef struct StagesReader {
        Arena arena;
        StageSumsList list;
        bool counts_open_periods; /* the producer does, which a description may name */
        char *error;              /* PIPELINE_LINE_ERROR_MAX bytes */
        unsigned column;          /* of the error; 0: the whole line */
} StagesReader;

static void reader_deinit(StagesReader *reader) {
        arena_deinit(&reader->arena);
        free(reader->list.items);
}

static int take_line(StagesReader *reader, const char *text, size_t n) {
        PipelineLine line;
        int r;

        if (n > LINE_BYTES_MAX) {
                (void)snprintf(reader->error, PIPELINE_LINE_ERROR_MAX, "the line has more than %u KiB",
                               LINE_BYTES_MAX >> 10);
                return PIPELINE_LINE_INVALID;
        }
        if (strspn(text, " \t\r\n") >= n)
                return 0;
        arena_reset(&reader->arena);
        r = pipeline_line_read(text, n, reader->counts_open_periods, &reader->arena, &line, reader->error);
        reader->column = line.error_column;
        if (r == 0 && line.kind == PIPELINE_LINE_DESCRIPTION && line.producer)
                reader->counts_open_periods = pipeline_report_counts_open_periods(line.producer);
        return r == 0 && line.kind == PIPELINE_LINE_INTERVAL ? add_interval(&reader->list, &line.interval) : r;
}

int stage_set_read_lines(StageSet *ret, const Buffer *text, bool counts_open_periods, size_t *ret_line,
                         unsigned *ret_column, char ret_error[static PIPELINE_LINE_ERROR_MAX]) {
        scoped(reader_deinit) StagesReader reader = { .counts_open_periods = counts_open_periods, .error = ret_error };
        int r;

        *ret = (StageSet){ .process = pipeline_diagnosis_unknown_process(0) };
        *ret_line = *ret_column = 0;
        r = arena_init(&reader.arena, value_parse_arena_size(LINE_BYTES_MAX));
        for (size_t begin = 0, end; r == 0 && begin < text->n; begin = end + 1) {
                const char *newline = memchr(text->text + begin, '\n', text->n - begin);

                end = newline ? (size_t)(newline - text->text) : text->n;
                ++*ret_line;
                r = take_line(&reader, text->text + begin, end - begin);
        }
        *ret_column = reader.column;
        if (r == 0 && reader.list.n == 0) {
                (void)snprintf(ret_error, PIPELINE_LINE_ERROR_MAX, "no line has statistics of a stage");
                return PIPELINE_LINE_INVALID;
        }
        return r == 0 ? finish(&reader.list, ret) : r;
}
