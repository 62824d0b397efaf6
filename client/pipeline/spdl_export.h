/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SPDL export: statistics of pipelines in the JSON files that SPDL's examples write
 *
 * The file has one object, whose members are lists with a value for each interval: "0:1:decode_num_tasks", "0:1:decode_queue_qps" and so
 * on. All dialects that SPDL's documentation has published are read, with numbers or with texts of numbers.
 */

#include <stdbool.h>
#include <stddef.h>

#include "pipeline/pipeline_job.h"
#include "pipeline/pipeline_stage.h"
#include "util/buffer.h"

typedef struct SpdlExport {
        PipelineStage *stages; /* owned; sums over the intervals, in the order of pipeline and position */
        size_t n;
        unsigned n_threads;    /* of the pool that the stages share; 0: not known */
        PipelineJob job;       /* that the pipelines were part of */
        bool has_job;
        double first_batch_ms; /* Unix time at which a training loop first asked for a batch; 0: unknown */
        size_t n_left_out;     /* intervals with a missing value, or with the time of the interval before; cut lines of a log */
        char error[320];
} SpdlExport;

typedef struct SpdlSettings {
        bool counts_open_periods; /* the readiness of an interval without items is right: SPDL 0.8 and newer */
} SpdlSettings;

void spdl_export_deinit(SpdlExport *export);

enum {
        SPDL_EXPORT_INVALID = 1, /* `error` has the place, the error and a fix */
};

/* Writes `error`. Returns SPDL_EXPORT_INVALID. */
__attribute__((format(printf, 2, 3))) int spdl_export_refuse(SpdlExport *export, const char *format, ...);

/*
 * Reads a text. name: of the text, for messages. The first of three or more intervals does not count: the queues fill in it. Returns 0,
 * SPDL_EXPORT_INVALID or -ENOMEM. Call spdl_export_deinit() in all cases.
 */
int spdl_export_read(SpdlExport *export, const char *name, const Buffer *text, const SpdlSettings *settings);
