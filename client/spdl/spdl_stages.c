/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_stages.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/pipeline/pipeline_line.h"
#include "util/array.h"
#include "value/value_parse.h"

#define LINE_BYTES_MAX 65536U
#define INTERVALS_MIN  3

typedef struct PartSums {
        size_t n;
        PipelineSums first, others;
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

static void list_deinit(StageSumsList *list) {
        free(list->items);
}

static int find(StageSumsList *list, const char *label, StageSums **ret) {
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

static int add(StageSumsList *list, const PipelineInterval *interval) {
        StageSums *stage;
        PartSums *part;
        int r;

        r = find(list, interval->stage, &stage);
        if (r < 0)
                return r;
        part = &stage->parts[interval->part];
        pipeline_report_add_sums(part->n++ == 0 ? &part->first : &part->others, &interval->sums);
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

                        if (part.n < INTERVALS_MIN)
                                pipeline_report_add_sums(&part.others, &part.first);
                        if (part.n > 0)
                                pipeline_report_set_stage(&ret->stages[i], k, &part.others, part.n_last);
                }
        }
        ret->n = list->n;
        qsort(ret->stages, ret->n, sizeof(*ret->stages), pipeline_stage_compare);
        return 0;
}

int spdl_stages_read(StageSet *ret, const char *path, bool counts_open_periods, size_t *ret_n_left_out,
                     char ret_error[static SPDL_FILE_ERROR_MAX]) {
        scoped(spdl_file_deinit) SpdlFile file = {};
        scoped(list_deinit) StageSumsList list = {};
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer row = {};
        char error[PIPELINE_LINE_ERROR_MAX];
        PipelineLine line;
        int r;

        *ret = (StageSet){};
        r = arena_init(&arena, value_parse_arena_size(LINE_BYTES_MAX));
        if (r == 0)
                r = spdl_file_open(&file, path, &(SpdlFileOptions){ .begin_s = NAN }, ret_error);
        while (r == 0 && (r = spdl_file_next(&file, &row, ret_error)) == 0) {
                arena_reset(&arena);
                r = pipeline_line_read(row.text, row.n, counts_open_periods, &arena, &line, error);
                if (r == PIPELINE_LINE_INVALID)
                        (void)snprintf(ret_error, SPDL_FILE_ERROR_MAX, "%s: %s", spdl_file_place(&file), error);
                if (r == 0 && line.kind == PIPELINE_LINE_INTERVAL)
                        r = add(&list, &line.interval);
        }
        *ret_n_left_out = file.table.n_left_out;
        return r == SPDL_FILE_END ? finish(&list, ret) : r == PIPELINE_LINE_INVALID ? SPDL_FILE_INVALID : r;
}
