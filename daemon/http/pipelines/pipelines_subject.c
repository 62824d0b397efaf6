/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pipelines/pipelines_subject.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/format/csv.h"
#include "http/jobs/job_lookup.h"
#include "http/metrics.h"
#include "http/pipelines/verdict_json.h"
#include "json/json.h"
#include "store/pipelines/pipeline_reader.h"
#include "util/array.h"

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
        size_t n, n_allocated;
} StageList;

static void stage_list_deinit(StageList *list) {
        free(list->items);
}

static int add_stage(StageList *list, const PipelineSeriesRow *row) {
        StageEntry *entry = list->n > 0 ? &list->items[list->n - 1] : NULL;
        int r;

        assert(row->part >= 0 && row->part < N_PIPELINE_PARTS);
        if (!entry || strcmp(entry->label, row->stage) != 0) {
                r = ARRAY_RESERVE(list->items, list->n_allocated, list->n + 1);
                if (r < 0)
                        return r;
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
        int order = pipeline_stage_compare(&x->stage, &y->stage);

        return order ? order : strcmp(x->label, y->label);
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
        if (head->description.text)
                json_text_write(head->description, json);
        else
                json_null(json);
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
        scoped(verdict_json_deinit) PipelineRuns runs = {};
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
        r = verdict_json_read(sources->reader, &job, has_changes, &runs);
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
        verdict_json_put(&json, &runs, (unsigned)n_threads);
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
        const char *format = exchange_parameter(target, "format") ?: "json";

        *ret = (Rows){ .json = { .out = response->body },
                       .csv = { .out = response->body },
                       .is_csv = strcmp(format, "csv") == 0 };
        if (!ret->is_csv && strcmp(format, "json") != 0)
                return exchange_error(response, 400, "query parameter 'format' must be json or csv, not '%s'", format);
        if (exchange_parameter_u64(target, response, "limit", 1, PAGE_ROWS_MAX, PAGE_ROWS_MAX, &ret->n_left) > 0)
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
                json_put_string(&rows->json, "next", *next ? next : NULL);
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
        if (exchange_parameter_u64(target, response, "since_ms", 0, INT64_MAX, 0, &ret->since_ms) > 0 ||
            exchange_parameter_u64(target, response, "until_ms", 0, INT64_MAX, 0, &ret->until_ms) > 0)
                return EXCHANGE_ANSWERED;
        return 0;
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

static int add_stages(Exposition *exposition, const Snapshot *snapshot) {
        const PipelinesSnapshot *pipelines = &snapshot->pipelines;

        for (size_t i = 0; exposition->has_names && i < N_ELEMENTS(counters); i++)
                put_counter(exposition, pipelines, &counters[i]);
        return 0;
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

static int add_counts(Exposition *exposition, const Snapshot *snapshot) {
        PipelinesStats stats = snapshot->pipelines.stats;

        if (!exposition->has_names)
                stats.n_not_exposed += snapshot->pipelines.n;
        metrics_scalars(exposition, &stats, scalars, N_ELEMENTS(scalars));
        return 0;
}

static const Route routes[] = {
        { "/api/v1/jobs/{id}/pipeline",           "threads changes",                     false, true, answer_pipeline },
        { "/api/v1/jobs/{id}/pipeline/intervals", "stage since_ms until_ms limit format page", false, true, answer_intervals },
        { "/api/v1/jobs/{id}/pipeline/events",    "since_ms until_ms limit format",      false, true, answer_events },
        {},
};

static const Collector collectors[] = {
        { "jobs", false, add_stages, NULL },
        { "self", false, add_counts, NULL },
        {},
};

const Subject pipelines_subject = { routes, collectors };
