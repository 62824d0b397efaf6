/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pipelines/pipelines_subject.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/format/csv.h"
#include "http/jobs/job_lookup.h"
#include "http/metrics.h"
#include "http/pagination.h"
#include "json/json.h"
#include "pipeline/pipeline_changes.h"
#include "pipeline/pipeline_verdict.h"
#include "store/jobs/job_reader.h"
#include "store/pipelines/pipeline_reader.h"
#include "util/array.h"
#include "util/parse.h"
#include "value/value_parse.h"

/* A page ends early at this number of rows, which are kept in memory for their order, or bytes. */
#define PAGE_ROWS_MAX  10000U
#define PAGE_BYTES_MAX (4U * 1024U * 1024U)

static const char *const part_names[N_PIPELINE_PARTS] = { [PIPELINE_TASKS] = "tasks", [PIPELINE_QUEUE] = "queue" };

/* --- stages --------------------------------------------------------------------------------------- */

/* A part of a stage without its texts. */
typedef struct StagePart {
        bool is_known;
        uint64_t end_ms, n_intervals;
        double n_last;
        uint32_t buffer_size;
        PipelineSums sums, first;
} StagePart;

typedef struct StageEntry {
        PipelineStage stage; /* position, name and concurrency only */
        char label[PIPELINE_LABEL_MAX + 1];
        char producer[PIPELINE_PRODUCER_MAX + 1];
        StagePart parts[N_PIPELINE_PARTS];
} StageEntry;

typedef struct StageList {
        StageEntry *items; /* owned */
        size_t n;
} StageList;

static void stage_list_deinit(StageList *list) {
        free(list->items);
}

static int add_stage(StageList *list, const PipelineSeriesRow *row) {
        StageEntry *entry = list->n > 0 ? &list->items[list->n - 1] : NULL;

        assert(row->part >= 0 && row->part < N_PIPELINE_PARTS);
        if (!entry || strcmp(entry->label, row->stage) != 0) {
                if (ARRAY_EXTEND(list->items, list->n) < 0)
                        return -ENOMEM;
                entry = &list->items[list->n++];
                *entry = (StageEntry){};
                (void)snprintf(entry->label, sizeof(entry->label), "%s", row->stage);
                (void)snprintf(entry->producer, sizeof(entry->producer), "%s", row->producer);
                /* checked when it was received */
                (void)pipeline_stage_parse(&entry->stage, row->stage, strlen(row->stage));
        }

        entry->parts[row->part] = (StagePart){
                true, row->end_ms, row->n_intervals, row->n_last, row->buffer_size, row->sums, row->first,
        };
        return 0;
}

static int compare_entries(const void *a, const void *b) {
        const StageEntry *x = a, *y = b;

        return pipeline_stage_compare(&x->stage, &y->stage) ?: strcmp(x->label, y->label);
}

static void put_sums(Json *json, PipelinePart part, const PipelineSums *sums) {
        json_put_double(json, "elapsed_s", sums->elapsed_s);
        if (part == PIPELINE_TASKS) {
                json_put_uint(json, "num_tasks", (uint64_t)sums->n);
                json_put_uint(json, "num_failures", (uint64_t)sums->n_failures);
                json_put_double(json, "success_s", sums->time_s);
                return;
        }
        json_put_uint(json, "num_items", (uint64_t)sums->n);
        json_put_double(json, "put_wait_s", sums->time_s);
        json_put_double(json, "get_wait_s", sums->get_s);
        json_put_double(json, "ready_s", sums->ready_s);
        json_put_double(json, "readiness_measured_s", sums->judged_s);
}

static void put_part(Json *json, PipelinePart part, const StagePart *from) {
        json_key(json, part_names[part]);
        if (!from->is_known) {
                json_null(json);
                return;
        }
        json_object_begin(json);
        json_put_uint(json, "intervals", from->n_intervals);
        json_put_uint(json, "end_ms", from->end_ms);
        put_sums(json, part, &from->sums);
        if (part == PIPELINE_QUEUE)
                json_put_int_or_null(json, "buffer_size", from->buffer_size > 0, from->buffer_size);
        json_put_uint(json, "newest_interval_n", (uint64_t)from->n_last);
        json_key(json, "first_interval");
        json_object_begin(json);
        put_sums(json, part, &from->first);
        json_object_end(json);
        json_object_end(json);
}

static void put_entry(Json *json, const StageEntry *entry) {
        json_object_begin(json);
        json_put_string(json, "stage", entry->label);
        json_put_uint(json, "pipeline", entry->stage.pipeline);
        json_put_uint(json, "position", entry->stage.order);
        json_put_string(json, "name", entry->stage.name);
        json_put_int_or_null(json, "concurrency", entry->stage.concurrency > 0, entry->stage.concurrency);
        json_put_string(json, "producer", entry->producer);
        for (PipelinePart part = 0; part < N_PIPELINE_PARTS; part++)
                put_part(json, part, &entry->parts[part]);
        json_object_end(json);
}

static int read_stages(const Target *target, const Sources *sources, Response *response, StageList *ret) {
        PipelineSeriesRow row;
        int r, added = 0;

        r = pipeline_reader_list(sources->reader, target->argument);
        while (r == 0 && added == 0 && (r = pipeline_reader_next(sources->reader, &row)) == 0)
                added = add_stage(ret, &row);
        if (added < 0 || r != READER_END)
                return exchange_store_error(response, added < 0 ? added : r);
        if (ret->n > 0)
                qsort(ret->items, ret->n, sizeof(*ret->items), compare_entries);
        return 0;
}

#define GPUS_MAX 1024

static double metric_of(const FoundJob *job, Metric metric) {
        return job->has_metrics ? metric_value(&job->view->metrics, metric) : (double)NAN;
}

static double usage_of(const FoundJob *job, UsageMetric metric) {
        return job->has_metrics ? usage_value(&job->view->usage, metric) : (double)NAN;
}

/* The label `gpus` of the job is the number of its GPUs. */
static unsigned find_gpus(const JobDescription *job) {
        const char *text = job_description_label(job, "gpus");
        uint64_t n;

        return text && parse_u64(text, &n) == 0 && n <= GPUS_MAX ? (unsigned)n : 0;
}

/* Jobs without a cgroup of their own have no numbers. */
static PipelineJob read_job(const FoundJob *job) {
        double duration_s = metric_of(job, METRIC_DURATION), cpu_s = metric_of(job, METRIC_CPU_HOURS);
        double used_s = cpu_s - metric_of(job, METRIC_CPU_UNUSED_HOURS), cpus = usage_of(job, USAGE_CPU_MEAN);

        return (PipelineJob){
                .cpus_used = cpus,
                .cpus_given = usage_of(job, USAGE_CPU_GIVEN),
                .cpus_of_node = cpu_s / duration_s,
                .cpus_of_others = used_s / duration_s - cpus,
                .cpu_waited = usage_of(job, USAGE_PSI_CPU_SOME) / duration_s,
                .io_stalled = usage_of(job, USAGE_PSI_IO_FULL) / duration_s,
                .memory_waited = usage_of(job, USAGE_PSI_MEMORY_SOME) / duration_s,
                .throttled = usage_of(job, USAGE_THROTTLED_RATIO),
                .stolen = metric_of(job, METRIC_CPU_STEAL) / cpu_s,
                .first_batch_s = (double)NAN,
                .first_wait_s = (double)NAN,
                .n_gpus = find_gpus(&job->view->info),
        };
}

/* --- pipelines of a job --------------------------------------------------------------------------- */

/* The pipelines of a job and of its earlier runs: those of its user, with its name and rank. */
typedef struct PipelineRuns {
        PipelineSet set;         /* of the job */
        bool has_changes;        /* changes within the run were searched for */
        PipelineChanges changes;
        PipelineSet earlier[PIPELINE_COMPARISON_RUNS_MAX]; /* newest first */
        char jobs[PIPELINE_COMPARISON_RUNS_MAX][JOB_ID_MAX];
        size_t n_earlier;
} PipelineRuns;

/* Completes the set of a job. begin_ms: of the job. */
static int read_set(Reader *reader, const char *job, uint64_t begin_ms, PipelineSet *set) {
        PipelineSeriesRow row;
        PipelineHeadRow head;
        int r, added = 0;

        r = pipeline_reader_find_head(reader, job, &head);
        if (r != 0)
                return r;
        if (head.first_batch_ms > 0)
                set->job.first_wait_s = head.first_batch_s;
        if (begin_ms > 0 && head.first_batch_ms >= begin_ms)
                set->job.first_batch_s = (double)(head.first_batch_ms - begin_ms) / 1e3 + head.first_batch_s;
        r = pipeline_set_read_description(set, head.description);
        /* Use before the first batch, for example to load a library, is not of the tasks. */
        if (!isnan(set->job.cpus_used) && set->process.tasks_cpus > 0)
                set->job.cpus_used = set->process.tasks_cpus;
        if (r == 0)
                r = pipeline_reader_list(reader, job);
        while (r == 0 && added == 0 && (r = pipeline_reader_next(reader, &row)) == 0)
                added = pipeline_reader_add_stage(&set->stages, &set->n, &row, head.first_batch_ms > 0);
        if (added < 0 || r != READER_END)
                return added < 0 ? added : r;
        if (set->n > 0)
                qsort(set->stages, set->n, sizeof(*set->stages), pipeline_stage_compare);
        return 0;
}

/* Searches the intervals of the tasks for changes within the run. */
static int find_changes(Reader *reader, const char *job, PipelineChanges *ret) {
        const PipelineFilter filter = { .n_max = N_PIPELINE_PARTS * PIPELINE_CHANGES_INTERVALS_MAX + 1 };
        PipelineIntervalRow row;
        int r, added = 0;

        r = pipeline_reader_list_intervals(reader, job, &filter);
        while (r == 0 && added == 0 && !ret->is_cut && (r = pipeline_reader_next_interval(reader, &row)) == 0)
                if (row.part == PIPELINE_TASKS)
                        added = pipeline_changes_add(ret, row.stage, row.end_ms, &row.sums);
        if (added == 0 && !ret->is_cut && r == READER_END)
                added = pipeline_changes_finish(ret);
        ret->is_cut |= r == READER_TIMEOUT; /* the verdict does not need them */
        return added < 0 ? added : r == READER_END || r == READER_TIMEOUT ? 0 : r;
}

/* --- earlier runs --------------------------------------------------------------------------------- */

#define SCANNED_MAX 1000U /* newest jobs */

static void runs_deinit(PipelineRuns *runs) {
        pipeline_set_deinit(&runs->set);
        pipeline_changes_deinit(&runs->changes);
        for (size_t i = 0; i < PIPELINE_COMPARISON_RUNS_MAX; i++)
                pipeline_set_deinit(&runs->earlier[i]);
}

/* Lists the earlier runs of a job. */
static int list_earlier(Reader *reader, const JobView *job, PipelineRuns *runs) {
        const uint32_t uid = job->info.uid;
        const int64_t rank = job->info.rank;
        char name[JOB_TEXT_MAX];
        const JobFilter filter = { .name = name, .until_ms = job->begin_realtime_ms };
        ListedJob row;
        int r;

        if (!job->info.name[0])
                return 0; /* jobs without a name may run anything, whose stages have common names */
        (void)snprintf(name, sizeof(name), "%s", job->info.name);
        r = job_reader_list(reader, &filter);
        for (size_t n = 0; r == 0 && n < SCANNED_MAX && runs->n_earlier < PIPELINE_COMPARISON_RUNS_MAX; n++) {
                r = job_reader_next(reader, &row);
                if (r == 0 && row.uid == uid && row.rank == rank && row.id)
                        (void)snprintf(runs->jobs[runs->n_earlier++], JOB_ID_MAX, "%s", row.id);
        }
        return r == READER_END ? 0 : r;
}

/* Reads the pipelines of a job, which may be a row of the reader: the row is not valid afterwards. 0, an outcome of
 * reader.h, or -ENOMEM. */
static int read_runs(Reader *reader, const FoundJob *job, bool has_changes, PipelineRuns *ret) {
        uint64_t begin_ms = job->view->begin_realtime_ms;
        char id[JOB_ID_MAX];
        int r;

        pipeline_set_init(&ret->set);
        ret->set.job = read_job(job);
        ret->has_changes = has_changes;
        (void)snprintf(id, sizeof(id), "%s", job->view->info.id);
        r = list_earlier(reader, job->view, ret);
        if (r == 0)
                r = read_set(reader, id, begin_ms, &ret->set);
        if (r == 0 && has_changes)
                r = find_changes(reader, id, &ret->changes);
        for (size_t i = 0; r == 0 && i < ret->n_earlier; i++) {
                pipeline_set_init(&ret->earlier[i]);
                r = read_set(reader, ret->jobs[i], 0, &ret->earlier[i]);
        }
        return r;
}

/* Compares the pipeline with the one of the same number in the earlier runs, of which a user knows the threads too. */
static void compare(const PipelineRuns *runs, unsigned n_threads, PipelineVerdict *verdict) {
        ComparedRun earlier[PIPELINE_COMPARISON_RUNS_MAX];

        for (size_t i = 0; i < runs->n_earlier; i++) {
                const PipelineSet *set = &runs->earlier[i];
                size_t begin = 0, end;

                while (begin < set->n && set->stages[begin].pipeline != verdict->stages[0].pipeline)
                        begin++;
                for (end = begin; end < set->n && set->stages[end].pipeline == verdict->stages[0].pipeline;)
                        end++;
                earlier[i] = (ComparedRun){ runs->jobs[i], set->n > 0 ? &set->stages[begin] : NULL, end - begin,
                                            n_threads > 0 ? n_threads : set->process.n_threads };
        }
        pipeline_verdict_compare(verdict, earlier, runs->n_earlier);
}

/* Verdicts are made for each request: those of a running job change with every interval. n_threads: as of
 * pipeline_verdict_next(). */
static void put_verdicts(Json *json, const PipelineRuns *runs, unsigned n_threads) {
        const PipelineChanges *changes = &runs->changes;
        PipelineVerdict verdict;
        size_t at = 0;

        json_put_array_begin(json, "verdicts");
        while (pipeline_verdict_next(&runs->set, n_threads, &at, &verdict)) {
                compare(runs, n_threads, &verdict);
                json_object_begin(json);
                pipeline_verdict_put(&verdict, json);
                if (runs->has_changes)
                        json_key(json, "changes");
                if (runs->has_changes && changes->is_cut)
                        json_null(json);
                else if (runs->has_changes) {
                        json_array_begin(json);
                        pipeline_changes_put(changes, verdict.stages[0].pipeline, json);
                        json_array_end(json);
                }
                json_object_end(json);
        }
        json_array_end(json);
}

/* --- stages and verdicts -------------------------------------------------------------------------- */

static void put_head(Json *json, const PipelineHeadRow *head) {
        json_put_object_begin(json, "events");
        json_put_uint(json, "count", head->n_events);
        json_put_double(json, "seconds", head->event_s);
        json_object_end(json);
        json_key(json, "first_batch");
        if (head->first_batch_ms > 0) {
                json_object_begin(json);
                json_put_uint(json, "time_ms", head->first_batch_ms);
                json_put_double(json, "seconds", head->first_batch_s);
                json_object_end(json);
        } else {
                json_null(json);
        }
        json_key(json, "description");
        (void)value_parse_write_kept(head->description, json);
}

static int parse_options(const Target *target, Response *response, uint64_t *ret_threads, bool *ret_has_changes) {
        *ret_has_changes = true;
        if (exchange_parameter_u64(target, response, "threads", 0, PIPELINE_SET_THREADS_MAX, 0, ret_threads) > 0 ||
            (exchange_parameter(target, "changes") &&
             exchange_parameter_bool(target, response, "changes", ret_has_changes) > 0))
                return EXCHANGE_ANSWERED;
        return 0;
}

/* Each query ends the rows of the one before: what the verdicts need of the job is read first. */
static void answer_pipeline(const Target *target, const Sources *sources, Response *response) {
        scoped(runs_deinit) PipelineRuns runs = {};
        scoped(stage_list_deinit) StageList list = {};
        Json json = { .out = response->body };
        PipelineHeadRow head;
        uint64_t n_threads;
        bool has_changes;
        FoundJob job;
        int r;

        if (parse_options(target, response, &n_threads, &has_changes) > 0 ||
            job_lookup(target, sources, response, &job) > 0)
                return;
        r = read_runs(sources->reader, &job, has_changes, &runs);
        if (r != 0) {
                (void)exchange_store_error(response, r);
                return;
        }
        if (read_stages(target, sources, response, &list) > 0)
                return;
        r = pipeline_reader_find_head(sources->reader, target->argument, &head);
        if (r != 0) {
                (void)exchange_store_error(response, r);
                return;
        }

        json_object_begin(&json);
        json_put_string(&json, "job", target->argument);
        json_put_array_begin(&json, "stages");
        for (size_t i = 0; i < list.n; i++)
                put_entry(&json, &list.items[i]);
        json_array_end(&json);
        put_head(&json, &head);
        put_verdicts(&json, &runs, (unsigned)n_threads);
        json_object_end(&json);
}

/* --- intervals and events ------------------------------------------------------------------------- */

/* Destination of rows: a JSON list, or CSV with a line of names, which the functions that put a row write too. */
typedef struct Rows {
        Json json;
        Csv csv;
        bool is_csv, is_cut;
        bool is_head; /* writes the names instead of the values */
        uint64_t n_left;
} Rows;

static int rows_begin(const Target *target, Response *response, const char *list, Rows *ret) {
        *ret = (Rows){ .json = { .out = response->body }, .csv = { .out = response->body } };
        if (exchange_parameter_is_csv(target, response, &ret->is_csv) > 0 ||
            exchange_parameter_u64(target, response, "limit", 1, PAGE_ROWS_MAX, PAGE_ROWS_MAX, &ret->n_left) > 0)
                return EXCHANGE_ANSWERED;

        if (ret->is_csv) {
                response->type = CONTENT_CSV;
                ret->is_head = true;
                return 0;
        }
        json_object_begin(&ret->json);
        json_put_array_begin(&ret->json, list);
        return 0;
}

static void rows_end_row(Rows *rows) {
        if (rows->is_csv)
                csv_end_line(&rows->csv);
        else
                json_object_end(&rows->json);
        rows->is_head = false;
}

/* False: a limit is reached. */
static bool rows_begin_row(Rows *rows) {
        rows->is_cut = rows->n_left == 0 || rows->json.out->n >= PAGE_BYTES_MAX;
        if (rows->is_cut)
                return false;
        rows->n_left--;
        if (!rows->is_csv)
                json_object_begin(&rows->json);
        return true;
}

static void rows_text(Rows *rows, const char *name, const char *text) {
        if (rows->is_csv)
                csv_text(&rows->csv, rows->is_head ? name : text);
        else
                json_put_string(&rows->json, name, text);
}

/* NAN: null in JSON, empty in CSV. */
static void rows_number(Rows *rows, const char *name, double v) {
        if (rows->is_head)
                csv_text(&rows->csv, name);
        else if (rows->is_csv)
                csv_number(&rows->csv, v);
        else
                json_put_double(&rows->json, name, v);
}

/* A whole number. */
static void rows_count(Rows *rows, const char *name, bool is_known, double v) {
        if (rows->is_csv)
                rows_number(rows, name, is_known ? v : (double)NAN);
        else
                json_put_int_or_null(&rows->json, name, is_known, is_known ? (int64_t)v : 0);
}

/* next: name of the following page, "": there is none; NULL: the list has no pages. */
static void rows_end(Rows *rows, const char *next) {
        if (rows->is_csv)
                return;
        json_array_end(&rows->json);
        json_put_bool(&rows->json, "truncated", rows->is_cut);
        if (next)
                json_put_text_or_null(&rows->json, "next", next);
        json_object_end(&rows->json);
}

static double ratio(double sum, double n) {
        return n > 0 ? sum / n : (double)NAN;
}

static double measured(bool is_queue, double v) {
        return is_queue && v > 0 ? v : (double)NAN;
}

/* Returns the begin in Unix time in ms. Merged intervals adjoin each other, and their lengths are added. */
static double begin_ms(const PipelineIntervalRow *row) {
        return fmax(0, round((double)row->end_ms - 1000 * row->sums.elapsed_s));
}

/* In JSON, members of the part that does not apply are null. */
static void put_interval(Rows *rows, const PipelineIntervalRow *row) {
        const PipelineSums *sums = &row->sums;
        const PipelinePercentiles *percentiles = &row->percentiles;
        bool is_queue = row->part == PIPELINE_QUEUE;
        double empty_s = fmax(0, sums->judged_s - sums->ready_s);

        rows_text(rows, "stage", row->stage);
        rows_text(rows, "part", part_names[row->part]);
        rows_count(rows, "end_ms", true, (double)row->end_ms);
        rows_count(rows, "merged", true, row->level > 0 ? ldexp(1, (int)row->level) : 1);
        rows_number(rows, "elapsed_s", sums->elapsed_s);
        rows_count(rows, "num_tasks", !is_queue, sums->n);
        rows_count(rows, "num_failures", !is_queue, sums->n_failures);
        rows_number(rows, "ave_time", is_queue ? (double)NAN : ratio(sums->time_s, sums->n - sums->n_failures));
        rows_number(rows, "p90_time", measured(!is_queue, percentiles->p90_s));
        rows_number(rows, "p99_time", measured(!is_queue, percentiles->p99_s));
        rows_count(rows, "num_items", is_queue, sums->n);
        rows_number(rows, "qps", is_queue ? ratio(sums->n, sums->elapsed_s) : (double)NAN);
        rows_number(rows, "ave_put_time", is_queue ? ratio(sums->time_s, sums->n) : (double)NAN);
        rows_number(rows, "p90_put_time", measured(is_queue, percentiles->p90_s));
        rows_number(rows, "p99_put_time", measured(is_queue, percentiles->p99_s));
        rows_number(rows, "ave_get_time", is_queue ? ratio(sums->get_s, sums->n) : (double)NAN);
        rows_number(rows, "p90_get_time", measured(is_queue, percentiles->get_p90_s));
        rows_number(rows, "p99_get_time", measured(is_queue, percentiles->get_p99_s));
        rows_number(rows, "occupancy_rate", ratio(sums->ready_s, sums->judged_s));
        rows_count(rows, "begin_ms", true, begin_ms(row));
        rows_number(rows, "empty_s", sums->judged_s > 0 ? empty_s : (double)NAN);
        rows_number(rows, "empty_rate", ratio(empty_s, sums->judged_s));
        rows_end_row(rows);
}

static int filter_parse(const Target *target, Response *response, PipelineFilter *ret) {
        *ret = (PipelineFilter){ .stage = exchange_parameter(target, "stage") };
        return pagination_parse_times(target, response, &ret->since_ms, &ret->until_ms);
}

/* The page is named by the place of the last interval before: the part, the end and the bytes of the stage as
 * hexadecimal digits. */
#define PAGE_PREFIX 17U
_Static_assert(PAGE_PREFIX + 2 * PIPELINE_LABEL_MAX < EXCHANGE_NEXT_MAX, "the name of a page fits");

static void note_place(const PipelineIntervalRow *row, PipelinePlace *ret) {
        *ret = (PipelinePlace){ .part = (unsigned)row->part, .end_ms = row->end_ms };
        (void)snprintf(ret->stage, sizeof(ret->stage), "%s", row->stage);
}

static void format_page(const PipelinePlace *place, char ret[static EXCHANGE_NEXT_MAX]) {
        size_t n = (size_t)snprintf(ret, EXCHANGE_NEXT_MAX, "%x%016" PRIx64, place->part, place->end_ms);

        for (const char *at = place->stage; *at; at++, n += 2)
                (void)snprintf(ret + n, EXCHANGE_NEXT_MAX - n, "%02x", (unsigned char)*at);
}

/* 0 or EXCHANGE_ANSWERED. */
static int page_parse(const Target *target, Response *response, PipelinePlace *ret) {
        const char *text = exchange_parameter(target, "page");
        size_t n = text ? strlen(text) : 0;

        *ret = (PipelinePlace){};
        if (!text)
                return 0;
        if (n <= PAGE_PREFIX || n > PAGE_PREFIX + 2 * PIPELINE_LABEL_MAX || (n - PAGE_PREFIX) % 2 != 0 ||
            strspn(text, "0123456789abcdef") != n || sscanf(text, "%1x%16" SCNx64, &ret->part, &ret->end_ms) != 2 ||
            ret->part >= N_PIPELINE_PARTS)
                return exchange_error(
                        response, 400,
                        "query parameter 'page' must be the value of 'next' in the previous page, not '%s'", text);
        for (size_t i = 0; PAGE_PREFIX + 2 * i < n; i++)
                ret->stage[i] = (char)strtoul(
                        (char[]){ text[PAGE_PREFIX + 2 * i], text[PAGE_PREFIX + 2 * i + 1], '\0' }, NULL, 16);
        return 0;
}

static void answer_intervals(const Target *target, const Sources *sources, Response *response) {
        PipelineIntervalRow row;
        PipelineFilter filter;
        FoundJob job;
        Rows rows;
        int r;

        if (filter_parse(target, response, &filter) > 0 || page_parse(target, response, &filter.after) > 0 ||
            job_lookup(target, sources, response, &job) > 0 ||
            rows_begin(target, response, "intervals", &rows) > 0)
                return;
        if (rows.is_head)
                put_interval(&rows, &(PipelineIntervalRow){});

        filter.n_max = rows.n_left + 1;
        r = pipeline_reader_list_intervals(sources->reader, target->argument, &filter);
        while (r == 0 && (r = pipeline_reader_next_interval(sources->reader, &row)) == 0 && rows_begin_row(&rows)) {
                put_interval(&rows, &row);
                note_place(&row, &filter.after);
        }
        if (r != 0 && r != READER_END) {
                (void)exchange_store_error(response, r);
                return;
        }
        if (rows.is_cut)
                format_page(&filter.after, response->next);
        rows_end(&rows, response->next);
}

static void put_event(Rows *rows, const PipelineEventRow *row) {
        rows_text(rows, "name", row->name);
        rows_count(rows, "time_ms", true, (double)row->begin_ms);
        rows_number(rows, "seconds", row->seconds);
        rows_end_row(rows);
}

static void answer_events(const Target *target, const Sources *sources, Response *response) {
        PipelineEventRow row;
        PipelineFilter filter;
        FoundJob job;
        Rows rows;
        int r;

        if (filter_parse(target, response, &filter) > 0 || job_lookup(target, sources, response, &job) > 0 ||
            rows_begin(target, response, "events", &rows) > 0)
                return;
        if (rows.is_head)
                put_event(&rows, &(PipelineEventRow){});

        r = pipeline_reader_list_events(sources->reader, target->argument, &filter);
        while (r == 0 && (r = pipeline_reader_next_event(sources->reader, &row)) == 0 && rows_begin_row(&rows))
                put_event(&rows, &row);
        if (r != 0 && r != READER_END)
                (void)exchange_store_error(response, r);
        else
                rows_end(&rows, NULL);
}

/* --- metrics ------------------------------------------------------------------------------------------ */

/* A counter of each stage: a member of the sums of one of its parts. */
typedef struct StageCounter {
        PipelinePart part;
        size_t offset;
        const char *name, *unit, *help;
} StageCounter;

#define COUNTER(part, member, name, unit, help) { part, offsetof(PipelineSums, member), name, unit, help }

static const StageCounter counters[] = {
        COUNTER(PIPELINE_TASKS, n, "perfd_job_pipeline_tasks", "",
                "Tasks of the stage that were completed, including failed tasks"),
        COUNTER(PIPELINE_TASKS, n_failures, "perfd_job_pipeline_task_failures", "", "Tasks of the stage that failed"),
        COUNTER(PIPELINE_TASKS, time_s, "perfd_job_pipeline_task_seconds", "seconds",
                "Time of the tasks of the stage that succeeded"),
        COUNTER(PIPELINE_QUEUE, n, "perfd_job_pipeline_items", "",
                "Items that were taken out of the queue of the stage"),
        COUNTER(PIPELINE_QUEUE, time_s, "perfd_job_pipeline_put_wait_seconds", "seconds",
                "Time for which the stage waited to put an item into its queue"),
        COUNTER(PIPELINE_QUEUE, get_s, "perfd_job_pipeline_get_wait_seconds", "seconds",
                "Time for which the next stage waited for an item of the queue"),
        COUNTER(PIPELINE_QUEUE, elapsed_s, "perfd_job_pipeline_queue_seconds", "seconds",
                "Time in which the queue was measured"),
        COUNTER(PIPELINE_QUEUE, judged_s, "perfd_job_pipeline_readiness_seconds", "seconds",
                "Time in which it was measured whether the queue had an item"),
        COUNTER(PIPELINE_QUEUE, ready_s, "perfd_job_pipeline_ready_seconds", "seconds",
                "Time in which the queue had an item"),
};

static void put_counter(Exposition *exposition, const PipelinesSnapshot *pipelines, const StageCounter *counter) {
        exposition_family(exposition, counter->name, FAMILY_COUNTER, counter->unit, counter->help);
        for (size_t i = 0; i < pipelines->n; i++) {
                const PipelineTotal *total = &pipelines->totals[i];

                if (total->part != counter->part)
                        continue;
                exposition_sample(exposition);
                exposition_label(exposition, "job", total->job);
                exposition_label(exposition, "pipeline_stage", total->stage);
                exposition_double(exposition,
                                  *(const double *)(const void *)((const char *)&total->sums + counter->offset));
        }
}

static void add_stages(Exposition *exposition, const Snapshot *snapshot) {
        const PipelinesSnapshot *pipelines = &snapshot->pipelines;

        for (size_t i = 0; exposition->has_names && i < N_ELEMENTS(counters); i++)
                put_counter(exposition, pipelines, &counters[i]);
}

static const Scalar scalars[] = {
        SCALAR_COUNTER(PipelinesStats, n_intervals, "perfd_pipeline_intervals",
                       "Intervals of stages of data pipelines that were stored"),
        SCALAR_COUNTER(PipelinesStats, n_repeated, "perfd_pipeline_intervals_repeated",
                       "Intervals that were received again, or after older intervals of their time were merged"),
        SCALAR_COUNTER(PipelinesStats, n_rejected, "perfd_pipeline_intervals_rejected",
                       "Intervals of stages beyond the limit of a job, which are not stored"),
        SCALAR_GAUGE(PipelinesStats, n_not_exposed, SCALAR_U64, "perfd_pipeline_series_not_exposed", "",
                     "Parts of stages omitted because of the limit on their number; the JSON API has them"),
};

static void add_counts(Exposition *exposition, const Snapshot *snapshot) {
        PipelinesStats stats = snapshot->pipelines.stats;

        if (!exposition->has_names)
                stats.n_not_exposed += snapshot->pipelines.n;
        metrics_scalars(exposition, &stats, scalars, N_ELEMENTS(scalars));
}

const Subject pipelines_subject = {
        .routes = ROUTES(
                { "/api/v1/jobs/{id}/pipeline",           "threads changes",                     false, true, answer_pipeline },
                { "/api/v1/jobs/{id}/pipeline/intervals", "stage since_ms until_ms limit format page", false, true, answer_intervals },
                { "/api/v1/jobs/{id}/pipeline/events",    "since_ms until_ms limit format",      false, true, answer_events }),
        .collectors = COLLECTORS(
                { "jobs", false, add_stages, NULL },
                { "self", false, add_counts, NULL }),
};
