/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SPDL table: rows of statistics that were read from a text of SPDL, an export or a log
 *
 * A row has the statistics of the tasks or of the queue of a stage in one interval. It is written as a line of pipeline_line.h, whose
 * reader checks the values.
 */

#include <stdbool.h>
#include <stddef.h>

#include "pipeline/pipeline_report.h"
#include "util/buffer.h"
#include "value/value.h"

typedef enum SpdlValue {
        SPDL_ELAPSED,
        SPDL_COUNT, /* of tasks, or of items */
        SPDL_FAILURES,
        SPDL_TIME,  /* mean of the tasks, or of put */
        SPDL_P90,
        SPDL_P99,
        SPDL_GET,
        SPDL_GET_P90,
        SPDL_GET_P99,
        SPDL_OCCUPANCY,
        N_SPDL_VALUES,
} SpdlValue;

typedef struct SpdlRow {
        size_t stage;           /* index */
        PipelinePart part;
        size_t at;              /* number of the interval or line, from 1 */
        double end_s;           /* Unix time; NAN: unknown */
        double values[N_SPDL_VALUES]; /* NAN: missing */
        SpdlValue wrong;        /* a value that is not a number; N_SPDL_VALUES: none */
        ValueType wrong_type;
} SpdlRow;

typedef struct SpdlStage {
        PipelineStage stage; /* without statistics */
        char label[PIPELINE_LABEL_MAX + 1];
} SpdlStage;

/* Initialize with zeros. */
typedef struct SpdlTable {
        SpdlStage *stages; /* owned */
        size_t n_stages, n_stages_allocated, last_stage;
        SpdlRow *rows;     /* owned */
        size_t n, n_allocated;
        size_t n_left_out; /* rows with a missing value, or with the time of the row before; truncated lines */
        bool is_log;
        bool has_fractions; /* of seconds, in the times of a log */
} SpdlTable;

void spdl_table_deinit(SpdlTable *table);

enum {
        SPDL_TABLE_INVALID = 1, /* ret_error has the place, the error and a fix */
        SPDL_TABLE_NO_STAGE,
};
#define SPDL_TABLE_ERROR_MAX 512U

/* Finds or adds the stage of a label without a suffix. Returns 0, SPDL_TABLE_NO_STAGE for another text, SPDL_TABLE_INVALID or -ENOMEM. */
int spdl_table_find_stage(SpdlTable *table, const char *label, size_t n, size_t *ret, char ret_error[static SPDL_TABLE_ERROR_MAX]);
/* Returns a row without values. */
SpdlRow spdl_table_row(size_t stage, PipelinePart part, size_t at);
int spdl_table_add(SpdlTable *table, const SpdlRow *row); /* 0 or -ENOMEM */

/* Returns true if all rows have a time. */
bool spdl_table_has_times(const SpdlTable *table);
/*
 * Orders the rows by time. begin_s: Unix time at which the pipelines began, NAN if not known: from it, rows without a time get one, as the
 * intervals of a queue follow each other. Returns 0, SPDL_TABLE_INVALID or -ENOMEM.
 */
int spdl_table_order(SpdlTable *table, double begin_s, char ret_error[static SPDL_TABLE_ERROR_MAX]);

/* Writes a row as a line. */
void spdl_table_put(const SpdlTable *table, const SpdlRow *row, Buffer *out);
/* Writes the place of a row, such as "line 12". */
#define SPDL_TABLE_PLACE_MAX (PIPELINE_LABEL_MAX + 48U)
void spdl_table_put_place(const SpdlTable *table, const SpdlRow *row, char ret[static SPDL_TABLE_PLACE_MAX]);
