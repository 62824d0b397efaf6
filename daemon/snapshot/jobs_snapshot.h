/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JobsSnapshot: what the jobs' part of a Snapshot has
 *
 * A record of each running job points to copies of its counters, from which its metrics are computed when somebody asks
 * for them. A record of a job that has ended points to its final metrics. The copies are in arrays that are sized before the
 * snapshot is filled and reused by its next filling.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/job.h"
#include "job/job_description.h"
#include "measure/usage.h"
#include "measure/window.h"
#include "snapshot/job_view.h"
#include "snapshot/node_snapshot.h"
#include "snapshot/stats.h"

/* What a job did since its last mark. */
typedef struct Phase {
        uint32_t index;
        char name[PHASE_NAME_MAX];
        uint64_t begin_realtime_ms;
        Window window;
        Usage usage;
        bool has_usage; /* the job had a cgroup of its own during the phase */
} Phase;

/* The metrics of a job in which nothing can happen any more. */
typedef struct JobResult {
        JobEnd end;
        MetricSet metrics;
        UsageSet usage;
} JobResult;

typedef struct JobRecord {
        JobDescription info; /* shared with the loop's job */
        JobState state;
        uint32_t n_phases;
        uint64_t begin_realtime_ms, end_realtime_ms; /* end 0 while it runs */
        bool is_usage_cut;       /* its cgroup was removed before its last counters were read */
        const Window *window;    /* NULL: it has a result */
        const Usage *usage;      /* NULL: it has a result, or never had a cgroup of its own */
        const Phase *phase;      /* the present phase; NULL: never marked, or ended */
        const JobResult *result; /* NULL: its counters still change */
} JobRecord;

/* Numbers of elements of the arrays. */
typedef struct JobsSize {
        size_t n_records, n_windows, n_usages, n_phases, n_results;
} JobsSize;

typedef struct JobsStats {
        uint64_t n_begun, n_finished, n_interrupted; /* since start */
        uint64_t n_with_cgroup;                      /* of the running jobs */
} JobsStats;

typedef struct JobsSnapshot {
        JobRecord *records; /* owned, like the arrays that the records point into; running jobs first */
        Window *windows;
        Usage *usages;
        Phase *phases;
        JobResult *results;
        JobsSize allocated, used;
        size_t n_running;
        size_t n_exposed_max; /* how many of the records /metrics shows: the first */
        JobsStats stats;
        FinderStats finder;
} JobsSnapshot;

void jobs_snapshot_deinit(JobsSnapshot *jobs);

/* Empties it and makes room for `size`; the pointers of its former records are invalid. 0 or -ENOMEM: it is empty. */
int jobs_snapshot_begin(JobsSnapshot *jobs, const JobsSize *size);
/* The next record, empty but for info, which is that of a former filling and is to be replaced by job_description_share(). */
JobRecord *jobs_snapshot_add(JobsSnapshot *jobs);
/* Copies into the snapshot, for a record to point to. The room was made by jobs_snapshot_begin(). */
const Window *jobs_snapshot_copy_window(JobsSnapshot *jobs, const Window *window);
const Usage *jobs_snapshot_copy_usage(JobsSnapshot *jobs, const Usage *usage);
const Phase *jobs_snapshot_copy_phase(JobsSnapshot *jobs, const Phase *phase);
const JobResult *jobs_snapshot_copy_result(JobsSnapshot *jobs, const JobResult *result);

/* The record of the job, or NULL. */
const JobRecord *jobs_snapshot_find(const JobsSnapshot *jobs, const char *id);
/* How many records /metrics shows. */
size_t jobs_snapshot_n_exposed(const JobsSnapshot *jobs);

/* The metrics of the record's job; `node` is of the same snapshot. */
void jobs_snapshot_record_metrics(const JobRecord *record, const NodeSnapshot *node, MetricSet *ret_metrics, UsageSet *ret_usage);
/* The same with its description, which is borrowed from the record: *ret needs no deinit, and lasts as long as the snapshot. */
void jobs_snapshot_record_view(const JobRecord *record, const NodeSnapshot *node, JobView *ret);
/* False when the job has no present phase. */
bool jobs_snapshot_record_phase(const JobRecord *record, const NodeSnapshot *node, PhaseView *ret);
