/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JobsSnapshot: the jobs' part of a Snapshot
 *
 * The record of a running job points to copies of its counters, from which the metrics are computed on request. The
 * record of a finished job points to its final metrics. The copies are in arrays that are allocated before the
 * snapshot is filled, and are reused when it is filled again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/job.h"
#include "measure/usage.h"
#include "snapshot/job_description.h"
#include "snapshot/job_view.h"
#include "snapshot/node_snapshot.h"
#include "snapshot/sample_log.h"
#include "snapshot/shared_totals.h"
#include "snapshot/stats.h"
#include "snapshot/window.h"

/* Counters of a job since its last mark. */
typedef struct Phase {
        uint32_t index;
        char name[PHASE_NAME_MAX];
        uint64_t begin_realtime_ms;
        Window window;
        Usage usage;
        bool has_usage; /* the job had its own cgroup during the phase */
} Phase;

/* CPU time of a job while it ran, with that of its client, which the end excludes. Counters in /metrics do not decrease below it. */
typedef struct ShownCpu {
        double total_s, user_s, system_s;
} ShownCpu;

/* Final metrics of a job. */
typedef struct JobResult {
        JobEnd end;
        MetricSet metrics;
        UsageSet usage;
        ShownCpu shown;
} JobResult;

typedef struct JobRecord {
        JobDescription info; /* shared with the loop's job */
        JobState state;
        uint32_t n_phases;
        uint64_t begin_realtime_ms, end_realtime_ms; /* end 0: the job is running */
        bool is_usage_cut;       /* the cgroup was removed before its last counters were read */
        SharedTotals *begin;     /* totals of the node at the begin, shared with the loop's job; NULL: the record has a result */
        const WindowPeaks *peaks; /* NULL: the record has a result */
        const Usage *usage;      /* NULL: the record has a result, or the job has no cgroup of its own */
        const Phase *phase;      /* the current phase; NULL: the job has no marks, or has ended */
        const JobResult *result; /* NULL: the counters still change */
        SampleSpan samples;      /* valid if the record has no result; its head is in the snapshot's array */
} JobRecord;

/* Numbers of elements of the arrays. */
typedef struct JobsSize {
        size_t n_records, n_peaks, n_usages, n_phases, n_results, n_heads;
} JobsSize;

/* Size of a key of totals, and maximum number of keys; further and longer keys share one entry. */
#define TOTAL_KEY_MAX 65U
#define TOTALS_SHOWN_MAX 100U

typedef struct JobsStats {
        uint64_t n_begun, n_finished, n_interrupted; /* since start */
        uint64_t n_with_cgroup;                      /* running jobs with their own cgroup */
} JobsStats;

/* Use of resources by the ended jobs of a user, or by those with the same value of a label. */
typedef struct UsageTotal {
        char key[TOTAL_KEY_MAX];  /* user id, "unknown", or the value of the label: "" if the jobs lack it */
        uint32_t uid;             /* of the first of the jobs */
        uint64_t begin_ms;        /* Unix time at which the totals were 0; 0: unknown */
        uint64_t last_ms;         /* Unix time at which the last of the jobs ended */
        uint64_t n_jobs, cpu_us, read_bytes, written_bytes;
} UsageTotal;

typedef struct UsageTotals {
        UsageTotal *entries; /* owned; TOTALS_SHOWN_MAX at most */
        size_t n, n_allocated;
        UsageTotal others;
} UsageTotals;

typedef struct JobsSnapshot {
        JobRecord *records; /* owned, like the arrays that the records point into; running jobs first */
        WindowPeaks *peaks;
        Usage *usages;
        Phase *phases;
        JobResult *results;
        ExportSample *heads;
        JobsSize allocated, used;
        size_t n_running;
        uint64_t n_left_out;  /* ended jobs without a record, because of the limit on /metrics */
        bool shows_created;   /* counters in /metrics have the time at which they were 0 */
        size_t n_exposed_max; /* maximum number of records in /metrics, which shows the first records */
        SampleLog samples; /* owned */
        JobsStats stats;
        UsageTotals users, labels;
        char totals_label[TOTAL_KEY_MAX]; /* label of the totals in `labels`; "": none */
        FinderStats finder;
} JobsSnapshot;

void jobs_snapshot_deinit(JobsSnapshot *jobs);
/* Frees the arrays of a snapshot without readers, unless they are small. jobs_snapshot_begin() allocates them again. */
void jobs_snapshot_trim(JobsSnapshot *jobs);
/* Copies totals, and keeps the memory of the former ones. 0 or -ENOMEM. */
int jobs_snapshot_copy_totals(UsageTotals *to, const UsageTotals *from);

/*
 * Empties the snapshot and allocates arrays for `size`; pointers of previous records are invalid. Returns 0, or
 * -ENOMEM with an empty snapshot.
 */
int jobs_snapshot_begin(JobsSnapshot *jobs, const JobsSize *size);
/*
 * Adds a record that shares the description and the totals at the begin; begin: NULL if the record gets a result. The rest is
 * empty.
 */
JobRecord *jobs_snapshot_add(JobsSnapshot *jobs, const JobDescription *info, SharedTotals *begin);
/* Copies an element into the snapshot and returns the copy. jobs_snapshot_begin() has allocated the array. */
const WindowPeaks *jobs_snapshot_copy_peaks(JobsSnapshot *jobs, const WindowPeaks *peaks);
const Usage *jobs_snapshot_copy_usage(JobsSnapshot *jobs, const Usage *usage);
const Phase *jobs_snapshot_copy_phase(JobsSnapshot *jobs, const Phase *phase);
const JobResult *jobs_snapshot_copy_result(JobsSnapshot *jobs, const JobResult *result);
/* Returns the span with a copy of its head, which has an element in the array only if the span has one. Caller must not deinit it. */
SampleSpan jobs_snapshot_copy_span(JobsSnapshot *jobs, const SampleSpan *span);

/* Returns the record of the job, or NULL. */
const JobRecord *jobs_snapshot_find(const JobsSnapshot *jobs, const char *id);
/* Returns the number of records in /metrics. */
size_t jobs_snapshot_n_exposed(const JobsSnapshot *jobs);

/* Computes the metrics of the record's job. node: part of the same snapshot. */
void jobs_snapshot_record_metrics(const JobRecord *record, const NodeSnapshot *node, MetricSet *ret_metrics, UsageSet *ret_usage);
/* As jobs_snapshot_record_metrics(), with the description, which is borrowed from the record: *ret needs no deinit. */
void jobs_snapshot_record_view(const JobRecord *record, const NodeSnapshot *node, JobView *ret);
/* Computes the metrics of the current phase. Returns false if the job has no current phase. */
bool jobs_snapshot_record_phase(const JobRecord *record, const NodeSnapshot *node, PhaseView *ret);
