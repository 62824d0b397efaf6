/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline rows: stores the reports of data pipelines
 *
 * A series is a part of a stage of a job: its tasks, or its queue. The sums of a series are exact. Its intervals are
 * rows of their own, of which a job keeps a bounded number: then pairs of the oldest are merged, so that all of a
 * run stays visible.
 *
 * A large report is stored in parts. If it fails in between, the stored parts stay: intervals that are sent again
 * are not stored again. A report with intervals that have no time, which would be stored again, is stored at once.
 */

#include <stdint.h>

#include "pipeline/pipeline_report.h"
#include "store/database/statement.h"
#include "store/table/rowset.h"
#include "store/table/store_subject.h"

/* Kept intervals for each series of a job: at least one for each 4 minutes of a day, or less if the job has many
 * series. */
#define PIPELINE_SERIES_ROWS_MAX 720
#define PIPELINE_JOB_ROWS_MAX 500000
/* Intervals of a series that are kept in any case: one of each level. */
#define PIPELINE_SERIES_ROWS_MIN 32
/* Merging takes some intervals of all series of a job at once. */
#define PIPELINE_JOB_STAGES_MAX 1000
#define PIPELINE_JOB_EVENTS_MAX 4096U /* newest events that are kept of a job */
#define PIPELINE_JOB_FIRST_BATCHES_MAX 64 /* and the oldest of the first batches */

/* State of a series after one of its intervals was stored. */
typedef struct StoredSeries {
        int64_t row;    /* identifies the series as long as the job is stored; 0: the interval was not stored */
        uint64_t end_ms;
        PipelineSums sums; /* of all intervals */
        double n_last;     /* tasks or items of the newest interval */
        bool is_rejected;  /* of a stage beyond PIPELINE_JOB_STAGES_MAX */
} StoredSeries;

/* Outcome of a report. */
typedef struct StoredReport {
        uint64_t n_new;      /* intervals */
        uint64_t n_repeated; /* intervals that were stored before, or are older than the merged intervals */
        uint64_t n_rejected; /* intervals of stages beyond PIPELINE_JOB_STAGES_MAX */
        uint64_t n_series;   /* of the job, after the report */
} StoredReport;

extern const RowKind pipeline_rows_kind;

/*
 * Merges the oldest intervals of each series of a job. *n_rows, the number of its intervals, becomes smaller;
 * *merged_ms becomes the end of the newest merged interval. 0 or an outcome of database.h.
 */
int pipeline_rows_merge(struct Database *database, int64_t job, int64_t n_series, int64_t *n_rows, int64_t *merged_ms);

/*
 * Packs a report of the job with this id. may_act: the sender may act for the job of another user. arrived_ms: Unix
 * time, for intervals and events without a time. Returns NULL if out of memory. Outcomes: STORE_DONE, STORE_MISSING
 * (no such job), STORE_DENIED.
 */
RowSet *pipeline_rows_pack(const PipelineReport *report, const char *job, uint32_t uid, bool may_act,
                           uint64_t arrived_ms, StoreCookie cookie);

/* All are borrowed from the row set, after its completion. series: one for each interval of the report. */
const char *pipeline_rows_job(const RowSet *set);
const StoredReport *pipeline_rows_stored(const RowSet *set);
const StoredSeries *pipeline_rows_series(const RowSet *set);
/* Walks over the packed intervals in order. `sums` and `percentiles` are those of the interval. */
typedef struct PipelineWalk {
        Unpack from;
        size_t n_left;
} PipelineWalk;
PipelineWalk pipeline_rows_walk(const RowSet *set);
bool pipeline_rows_next(PipelineWalk *walk, PipelineInterval *ret);

/* The subject: statistics of the data pipelines of jobs. */
extern const StoreSubject store_pipelines;
