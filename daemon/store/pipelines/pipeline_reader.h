/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Pipeline reader: series, intervals and events of the data pipelines of a job. */

#include "json/json.h"
#include "pipeline/pipeline_report.h"
#include "pipeline/pipeline_stage.h"
#include "store/database/database.h"
#include "store/database/statement.h"
#include "store/read/reader.h"

/* A part of a stage. Texts are borrowed until the next step. */
typedef struct PipelineSeriesRow {
        const char *stage;  /* label */
        int64_t part;       /* PipelinePart */
        const char *producer;
        uint64_t end_ms, n_intervals;
        double n_last;      /* tasks or items of the newest interval */
        uint32_t buffer_size;
        PipelineSums sums, first; /* of all intervals, and of the first */
} PipelineSeriesRow;

/* Begins a query of the series of a job, in the order of their labels. 0 or an outcome of reader.h, as for all
 * functions here. */
int pipeline_reader_list(Reader *reader, const char *job);
READER_NEXT(pipeline_reader_next, PipelineSeriesRow)
/* Adds a row to an array of stages, of which it may be the second part. is_start_known: as of
 * pipeline_report_drop_first(). 0 or -ENOMEM. */
int pipeline_reader_add_stage(PipelineStage **stages, size_t *n, const PipelineSeriesRow *row, bool is_start_known);

/* Events and description of a job; zero for a job without. */
typedef struct PipelineHeadRow {
        uint64_t n_events;
        double event_s;
        JsonText description; /* borrowed until the next query */
        uint64_t first_batch_ms; /* when a training loop first asked for a batch; 0: unknown */
        double first_batch_s;    /* for how long it waited then */
} PipelineHeadRow;
int pipeline_reader_find_head(Reader *reader, const char *job, PipelineHeadRow *ret);

typedef struct PipelineIntervalRow {
        const char *stage; /* borrowed until the next step */
        int64_t part, level; /* level: 2^level received intervals were merged; -1: the first */
        uint64_t end_ms;
        PipelineSums sums;
        PipelinePercentiles percentiles;
} PipelineIntervalRow;

/* Place of an interval in the list of a job. */
typedef struct PipelinePlace {
        char stage[PIPELINE_LABEL_MAX + 1]; /* "": before all */
        unsigned part;
        uint64_t end_ms;
} PipelinePlace;

typedef struct PipelineFilter {
        const char *stage;           /* label; NULL: all */
        uint64_t since_ms, until_ms; /* end in [since, until); until 0: no bound */
        PipelinePlace after;         /* of intervals: behind this place */
        uint64_t n_max;              /* of intervals, which bounds the memory for their order; to be set */
} PipelineFilter;

/*
 * Begins a query of the intervals of a job, by series and time. An interval that was merged with later ones since
 * the query that ended with it is listed again, within their sum. The sum is the first row, and begins before the
 * place; no other interval is listed twice.
 */
int pipeline_reader_list_intervals(Reader *reader, const char *job, const PipelineFilter *filter);
READER_NEXT(pipeline_reader_next_interval, PipelineIntervalRow)

typedef struct PipelineEventRow {
        const char *name; /* borrowed until the next step */
        uint64_t begin_ms;
        double seconds;
} PipelineEventRow;

/* Begins a query of the kept events of a job, by time. The filter's stage must be NULL. */
int pipeline_reader_list_events(Reader *reader, const char *job, const PipelineFilter *filter);
READER_NEXT(pipeline_reader_next_event, PipelineEventRow)

/*
 * Pipeline numbers: what derived numbers can use of a job's data pipelines
 *
 * A pipeline is an object with its stages by name: {"decode": {"busy_share": 0.97, …}, "sink": {"wait_share": 0.17,
 * …}}. For the writer.
 */

/* Derived numbers are not computed for a job with more stages: the writer, and then the loop, would need seconds for
 * its results. */
#define PIPELINE_NUMBERS_STAGES_MAX 200

/* Stages of all pipelines of a job, in order. */
typedef struct PipelineNumbers {
        PipelineStage *stages; /* owned */
        size_t n;
} PipelineNumbers;

void pipeline_reader_deinit_numbers(PipelineNumbers *numbers);
/* Reads the stages of a job; the first interval of a stage is left out as in the diagnosis. job: its id. 0 or an
 * outcome of database.h. */
int pipeline_reader_read_numbers(Database *database, Field job, PipelineNumbers *ret);
/* Writes the list of the pipelines. */
void pipeline_reader_write_numbers(const PipelineNumbers *numbers, Json *json);
/* Writes the first pipeline; {} if there is none. */
void pipeline_reader_write_first(const PipelineNumbers *numbers, Json *json);
