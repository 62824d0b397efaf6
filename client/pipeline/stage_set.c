/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/stage_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_report.h"
#include "util/array.h"
#include "value/value_parse.h"

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

int stage_set_read_lines(PipelineSet *ret, const Buffer *text, bool counts_open_periods, size_t *ret_line,
                         unsigned *ret_column, char ret_error[static PIPELINE_LINE_ERROR_MAX]) {
        scoped(reader_deinit) StagesReader reader = { .counts_open_periods = counts_open_periods, .error = ret_error };
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
