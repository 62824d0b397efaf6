/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/pipeline_line.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/parse.h"
#include "util/utf8.h"
#include "value/value_parse.h"

/* --- stage set ------------------------------------------------------------------------------------- */

#define LINE_BYTES_MAX 65536U

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

static int finish(const StageSumsList *list, PipelineSet *ret) {
        ret->stages = calloc(list->n + 1, sizeof(*ret->stages));
        if (!ret->stages)
                return -ENOMEM;
        for (size_t i = 0; i < list->n; i++) {
                ret->stages[i] = list->items[i].stage;
                for (PipelinePart k = 0; k < N_PIPELINE_PARTS; k++) {
                        PartSums part = list->items[i].parts[k];

                        pipeline_report_drop_first(&part.all, &part.first, part.n, !isnan(ret->job.first_wait_s));
                        if (part.n > 0)
                                pipeline_report_set_stage(&ret->stages[i], k, &part.all, part.n_last);
                }
        }
        ret->n = list->n;
        qsort(ret->stages, ret->n, sizeof(*ret->stages), pipeline_stage_compare);
        return 0;
}

typedef struct StagesReader {
        PipelineSet *set; /* borrowed */
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
        if (r != 0)
                return r;
        switch (line.kind) {
        case PIPELINE_LINE_INTERVAL:
                return add_interval(&reader->list, &line.interval);
        case PIPELINE_LINE_EVENT:
                if (strcmp(line.event.name, PIPELINE_EVENT_FIRST_BATCH) == 0 && isnan(reader->set->job.first_wait_s))
                        reader->set->job.first_wait_s = line.event.seconds;
                break;
        case PIPELINE_LINE_DESCRIPTION:
                if (line.producer)
                        reader->counts_open_periods = pipeline_report_counts_open_periods(line.producer);
                return pipeline_set_read_description(reader->set, line.description);
        }
        return 0;
}

int pipeline_line_read_stages(PipelineSet *ret, const Buffer *text, bool counts_open_periods, size_t *ret_line,
                              unsigned *ret_column, char ret_error[static PIPELINE_LINE_ERROR_MAX]) {
        scoped(reader_deinit) StagesReader reader = { .set = ret, .counts_open_periods = counts_open_periods,
                                                        .error = ret_error };
        int r;

        pipeline_set_init(ret);
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

/* --- pipeline line ----------------------------------------------------------------------------------- */

#define QUEUE_SUFFIX "_queue"
#define TIME_S_MAX   9e9 /* in the year 2255 */

typedef struct LineReader {
        const Value *object;
        char *error; /* PIPELINE_LINE_ERROR_MAX bytes */
} LineReader;

__attribute__((format(printf, 2, 3))) static int invalid(const LineReader *reader, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(reader->error, PIPELINE_LINE_ERROR_MAX, format, args);
        va_end(args);
        return PIPELINE_LINE_INVALID;
}

/* Reads a number, or the text of one. *ret is unchanged if the member is missing or null. */
static int take_number(const LineReader *reader, const char *key, double *ret) {
        const Value *value = value_get_given(reader->object, key);

        if (value && value_is_number(value))
                *ret = value_number(value);
        else if (value && (value->type != VALUE_STRING || parse_double(value->string, ret) != 0))
                return invalid(reader, "\"%s\" is %s, expected a number", key, value_type_text(value));
        return 0;
}

static int refuse_impossible(const LineReader *reader, ImpossibleNumber number) {
        return number.name ? invalid(reader, "\"%s\" is %g, expected 0 to %g", number.name, number.value, number.max)
                           : 0;
}

/* Reads a number from 0 to max. */
static int take_limited(const LineReader *reader, const char *key, double max, double *ret) {
        int r = take_number(reader, key, ret);

        return r == 0 && !(*ret >= 0 && *ret <= max) ? refuse_impossible(reader, (ImpossibleNumber){ key, *ret, max })
                                                     : r;
}

/* Reads "time", or "timestamp" as in SPDL's exports: Unix time in seconds. */
static int take_time(const LineReader *reader, uint64_t *ret_ms) {
        double time_s = 0;
        int r;

        r = take_limited(reader, "time", TIME_S_MAX, &time_s);
        if (r == 0 && time_s == 0)
                r = take_limited(reader, "timestamp", TIME_S_MAX, &time_s);
        *ret_ms = (uint64_t)(time_s * 1e3 + 0.5);
        return r;
}

static int take_numbers(const LineReader *reader, bool counts_open_periods, PipelineInterval *ret) {
        double buffer_size = 0, successes;
        int r = 0;

        ret->sums.ready_s = NAN;
        for (size_t i = 0; r == 0 && i < N_PIPELINE_NUMBERS; i++) {
                const PipelineNumber *number = &pipeline_report_numbers[i];

                if (number->names[ret->part])
                        r = take_number(reader, number->names[ret->part],
                                        (double *)(void *)((char *)ret + number->offset));
        }
        if (r == 0)
                r = take_limited(reader, "buffer_size", UINT32_MAX, &buffer_size);
        if (r == 0)
                r = refuse_impossible(reader, pipeline_report_take(ret, counts_open_periods));
        if (r != 0)
                return r;
        ret->buffer_size = (uint32_t)buffer_size;
        successes = ret->sums.n - ret->sums.n_failures;
        if (ret->part == PIPELINE_QUEUE && !value_get_given(reader->object, "elapsed"))
                return invalid(reader, "a queue needs \"elapsed\", the length of the interval in seconds");
        if (ret->part == PIPELINE_TASKS && successes > 0 && !value_get_given(reader->object, "ave_time"))
                return invalid(reader, "tasks need \"ave_time\", the mean time of a successful task in seconds");
        return 0;
}

/* Removes the suffix of a queue from the label. */
static int take_label(const LineReader *reader, Arena *arena, const char *text, const char **ret) {
        size_t n = strlen(text), n_suffix = strlen(QUEUE_SUFFIX);

        if (n > n_suffix && strcmp(text + n - n_suffix, QUEUE_SUFFIX) == 0)
                n -= n_suffix;
        if (!pipeline_report_label_is_valid(text, n))
                return invalid(reader, "\"stage\" is \"%.60s\", expected " PIPELINE_LABEL_EXPECTED, text);
        *ret = arena_strndup(arena, text, n);
        return *ret ? 0 : -ENOMEM;
}

static int take_interval(const LineReader *reader, bool counts_open_periods, Arena *arena, PipelineInterval *ret) {
        bool is_tasks = value_get_given(reader->object, "num_tasks"),
             is_queue = value_get_given(reader->object, "num_items");
        const char *label = value_get_string(reader->object, "stage");
        int r;

        if (!label)
                return invalid(reader, "\"stage\" is %s, expected a text",
                               value_type_text(value_get(reader->object, "stage")));
        if (is_tasks == is_queue)
                return invalid(
                        reader,
                        "expected either \"num_tasks\", for the tasks of the stage, or \"num_items\", for its queue");
        *ret = (PipelineInterval){ .part = is_tasks ? PIPELINE_TASKS : PIPELINE_QUEUE };
        r = take_label(reader, arena, label, &ret->stage);
        if (r == 0)
                r = take_time(reader, &ret->end_ms);
        if (r == 0)
                r = take_numbers(reader, counts_open_periods, ret);
        return r;
}

static int take_event(const LineReader *reader, PipelineEvent *ret) {
        const char *name = value_get_string(reader->object, "event");

        *ret = (PipelineEvent){ .name = name };
        if (!name || !*name || strlen(name) > PIPELINE_EVENT_NAME_MAX || !utf8_is_line(name))
                return invalid(reader, "\"event\" must be a name of 1 to %u bytes without control characters",
                               PIPELINE_EVENT_NAME_MAX);
        if (!value_get_given(reader->object, "seconds"))
                return invalid(reader, "an event needs \"seconds\", its duration");
        if (take_time(reader, &ret->begin_ms) != 0)
                return PIPELINE_LINE_INVALID;
        return take_limited(reader, "seconds", PIPELINE_SECONDS_MAX, &ret->seconds);
}

int pipeline_line_read(const char *text, size_t n, bool counts_open_periods, Arena *arena, PipelineLine *ret,
                       char ret_error[static PIPELINE_LINE_ERROR_MAX]) {
        LineReader reader = { .error = ret_error };
        ValueReader values;
        ValueError error;
        int r;

        *ret = (PipelineLine){};
        value_parse_begin(&values, text, n);
        r = value_parse_next(&values, arena, &reader.object, &error);
        if (r == VALUE_NO_ROOM || r < 0)
                return -ENOMEM;
        if (r == VALUE_MALFORMED) {
                ret->error_column = error.column;
                return invalid(&reader, "%s", error.text);
        }
        if (r == VALUE_END || reader.object->type != VALUE_OBJECT)
                return invalid(&reader, "expected a JSON object on the line");
        if (strspn(text + values.at, " \t\r") < n - values.at)
                return invalid(&reader, "expected one JSON object on the line, found more after it");

        if (value_get(reader.object, "stage")) {
                ret->kind = PIPELINE_LINE_INTERVAL;
                return take_interval(&reader, counts_open_periods, arena, &ret->interval);
        }
        if (value_get(reader.object, "event")) {
                ret->kind = PIPELINE_LINE_EVENT;
                return take_event(&reader, &ret->event);
        }
        ret->kind = PIPELINE_LINE_DESCRIPTION;
        ret->producer = value_get_string(reader.object, "producer");
        ret->description = json_text(text, n);
        if (!ret->producer && !value_get(reader.object, "stages") && !value_get(reader.object, "threads"))
                return invalid(
                        &reader,
                        "expected \"stage\", \"event\", or a description with \"producer\", \"stages\" or \"threads\"");
        if (ret->producer && (strlen(ret->producer) > PIPELINE_PRODUCER_MAX || !utf8_is_line(ret->producer)))
                return invalid(&reader, "\"producer\" may have up to %u bytes without control characters",
                               PIPELINE_PRODUCER_MAX);
        return refuse_impossible(&reader, pipeline_set_check_description(reader.object));
}
