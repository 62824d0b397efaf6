/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline line: one JSON object of the input of `perfctl pipeline submit`
 *
 * Members have the names of SPDL's TaskPerfStats and QueuePerfStats; numbers may be texts, as in SPDL's exports.
 *
 *   {"stage": "0:1:decode[4]", "time": 1764000060.0, "num_tasks": 100, "num_failures": 1, "ave_time": 0.02}
 *   {"stage": "0:1:decode[4]_queue", "elapsed": 60, "num_items": 99, "ave_put_time": 0, "ave_get_time": 0.1,
 *   "occupancy_rate": 0.4}
 *   {"event": "gc", "time": 1764000061.5, "seconds": 0.2}
 *   {"producer": "spdl 0.8.0", "threads": 12}
 */

#include <stdbool.h>
#include <stddef.h>

#include "pipeline/pipeline_report.h"
#include "pipeline/pipeline_set.h"
#include "util/arena.h"
#include "util/buffer.h"

typedef enum PipelineLineKind {
        PIPELINE_LINE_INTERVAL,
        PIPELINE_LINE_EVENT,
        PIPELINE_LINE_DESCRIPTION, /* any other object that names its producer or lists its stages */
} PipelineLineKind;

/* Texts are in the arena, or point into the line. */
typedef struct PipelineLine {
        PipelineLineKind kind;
        PipelineInterval interval; /* end_ms 0: without a time */
        PipelineEvent event;
        const char *producer;      /* of a description; NULL: not given */
        JsonText description;
        unsigned error_column;     /* of an invalid line; 0: unknown */
} PipelineLine;

enum {
        PIPELINE_LINE_INVALID = 1, /* ret_error has the error and a fix */
};

#define PIPELINE_LINE_ERROR_MAX 256U
/* counts_open_periods: as of pipeline_report_counts_open_periods(). Returns 0, PIPELINE_LINE_INVALID or -ENOMEM. */
int pipeline_line_read(const char *text, size_t n, bool counts_open_periods, Arena *arena, PipelineLine *ret,
                       char ret_error[static PIPELINE_LINE_ERROR_MAX]);

/* Stage set: the stages of data pipelines with sums over a run, from lines of pipeline_line.h. */

/*
 * Reads the stages in lines of pipeline_line.h. counts_open_periods: as of pipeline_report_counts_open_periods(),
 * until a line names the producer. Returns 0, PIPELINE_LINE_INVALID, with the number of the line and the error, or a
 * negative errno. Call pipeline_set_deinit() in all cases.
 */
int pipeline_line_read_stages(PipelineSet *ret, const Buffer *text, bool counts_open_periods, size_t *ret_line,
                              unsigned *ret_column, char ret_error[static PIPELINE_LINE_ERROR_MAX]);
