/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Snapshot: the state of the daemon at one tick
 *
 * Each subsystem fills its own part; the Publisher makes the complete snapshot available to the HTTP threads,
 * read-only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/job.h"
#include "job/job_gpus.h"
#include "job/job_steps.h"
#include "measure/meter.h"
#include "measure/metric.h"
#include "measure/sample.h"
#include "measure/totals.h"
#include "measure/usage.h"
#include "pipeline/pipeline_report.h"
#include "snapshot/job_description.h"
#include "snapshot/recent.h"
#include "snapshot/sample_log.h"
#include "snapshot/shared_texts.h"
#include "snapshot/stats.h"
#include "snapshot/window.h"
#include "util/buffer.h"

/* --- totals at the begin of a job -------------------------------------------------------------------- */

/*
 * Shared totals: the node's totals at the begin of a job
 *
 * The job and its records in snapshots share one immutable copy, which is freed with its last reference. All references
 * must be taken and released by one thread; others may read.
 */

typedef struct SharedTotals {
        size_t n_references;
        Totals totals;
} SharedTotals;

/* Makes a copy of the totals with one reference. NULL: out of memory. */
SharedTotals *snapshot_totals_new(const Totals *totals);
/* Makes *to a reference to `from`, which may be NULL; releases the previous reference. */
void snapshot_totals_share(SharedTotals *from, SharedTotals **to);
/* Releases a reference, or nothing if it is NULL. Returns NULL. */
SharedTotals *snapshot_totals_unref(SharedTotals *totals);

/* --- the node ---------------------------------------------------------------------------------------- */

/*
 * NodeSnapshot: the node's part of a Snapshot
 *
 * Contains the latest sample, the meter's totals, and the window since perfd started. The metrics are computed on
 * request.
 */

/* Names returned by uname(2). */
typedef struct NodeIdentity {
        char hostname[65];
        char machine[65], kernel[65];
} NodeIdentity;

typedef struct NodeSnapshot {
        NodeIdentity identity;
        char boot_id[37];
        uint64_t interval_ns;
        uint64_t cpu_interval_ns; /* between readings of the CPUs: threshold times and peaks of CPUs */
        uint64_t boottime_ns, realtime_ns; /* times of the last sample; 0: none yet */
        Sample sample;                     /* owned copy of the last sample */
        Totals totals;                     /* totals since perfd's first sample of this boot */
        MeterEvents events;
        Observation observation;           /* the latest observation; end_ns 0: none yet */
        Recent recent;
        Window window;                     /* since perfd started */
        uint64_t window_begin_realtime_ns;
        SamplerStats sampler;
        uint64_t sample_cpu_ns, last_sample_cpu_ns; /* CPU time spent sampling */
} NodeSnapshot;

void snapshot_node_deinit(NodeSnapshot *node);

/* Return the number of CPUs online and MemTotal; 0 if unknown. node may be NULL. */
uint32_t snapshot_node_n_cpus(const NodeSnapshot *node);
uint64_t snapshot_node_memory_bytes(const NodeSnapshot *node);
/*
 * Compute the metrics of `window` and `usage` up to the snapshot's sample. usage NULL: the job has no cgroup of its
 * own.
 */
void snapshot_node_window(const NodeSnapshot *node, const Totals *begin, const WindowPeaks *peaks, MetricSet *ret);

/* --- jobs -------------------------------------------------------------------------------------------- */

/*
 * JobsSnapshot: the jobs' part of a Snapshot
 *
 * The record of a running job points to copies of its counters, from which the metrics are computed on request. The
 * record of a finished job points to its final metrics. The copies are in arrays that are allocated before the
 * snapshot is filled, and are reused when it is filled again.
 */

/* Counters of a job since its last mark. */
typedef struct Phase {
        uint32_t index;
        char name[PHASE_NAME_MAX];
        uint64_t begin_realtime_ms;
        Window window;
        Usage usage;
        bool has_usage; /* the job had its own cgroup during the phase */
} Phase;

/* CPU time of a job while it ran, with that of its client, which the end excludes. Counters in /metrics do not
 * decrease below it. */
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
        /* totals of the node at the begin, shared with the loop's job; NULL: the record has a result */
        SharedTotals *begin;
        const WindowPeaks *peaks; /* NULL: the record has a result */
        const Usage *usage;      /* NULL: the record has a result, or the job has no cgroup of its own */
        const Phase *phase;      /* the current phase; NULL: the job has no marks, or has ended */
        const JobResult *result; /* NULL: the counters still change */
        JobSteps steps;          /* of a running job, as the GPUs */
        JobGpus gpus;
        Buffer timeline;         /* owned; timeline_write() of a running job that has GPUs; empty: none */
        SampleSpan samples;      /* valid if the record has no result; its head is in the snapshot's array */
} JobRecord;

/* X(array, type): the records, and what they point into. */
#define JOBS_ARRAYS(X)                                                                                        \
        X(records, JobRecord) X(peaks, WindowPeaks) X(usages, Usage) X(phases, Phase) X(results, JobResult)   \
        X(heads, ExportSample) X(steps, JobStep) X(gpus, JobGpu)

/* Numbers of elements of the arrays. */
typedef struct JobsSize {
#define X(array, type) size_t n_##array;
        JOBS_ARRAYS(X)
#undef X
} JobsSize;

/* Size of a key of totals, and maximum number of keys; further and longer keys share one entry. */
#define TOTAL_KEY_MAX 65U
#define TOTALS_SHOWN_MAX 100U

typedef struct JobsStats {
        uint64_t n_begun, n_finished, n_interrupted; /* since start */
        uint64_t n_with_cgroup;                      /* running jobs with their own cgroup */
        uint64_t n_io_lines_skipped;                 /* lines about I/O without a device, or cut short, since start */
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
#define X(array, type) type *array; /* owned */
        JOBS_ARRAYS(X) /* records: running jobs first */
#undef X
        JobsSize allocated, used;
        size_t n_running;
        uint64_t n_not_exposed;  /* ended jobs without a record, because of the limit on /metrics */
        bool shows_created;   /* counters in /metrics have the time at which they were 0 */
        size_t n_exposed_max; /* maximum number of records in /metrics, which shows the first records */
        SampleLog samples; /* owned */
        JobsStats stats;
        UsageTotals users, labels;
        char totals_label[TOTAL_KEY_MAX]; /* label of the totals in `labels`; "": none */
        FinderStats finder;
} JobsSnapshot;

void snapshot_jobs_deinit(JobsSnapshot *jobs);
/* Frees the arrays of a snapshot without readers, unless they are small. snapshot_jobs_begin() allocates them again. */
void snapshot_jobs_trim(JobsSnapshot *jobs);
/* Copies totals, and keeps the memory of the former ones. 0 or -ENOMEM. */
int snapshot_jobs_copy_totals(UsageTotals *to, const UsageTotals *from);

/*
 * Empties the snapshot and allocates arrays for `size`; pointers of previous records are invalid. Returns 0, or
 * -ENOMEM with an empty snapshot.
 */
int snapshot_jobs_begin(JobsSnapshot *jobs, const JobsSize *size);
/*
 * Adds a record that shares the description and the totals at the begin; begin: NULL if the record gets a result.
 * The rest is empty.
 */
JobRecord *snapshot_jobs_add(JobsSnapshot *jobs, const JobDescription *info, SharedTotals *begin);
/* Copies an element into the snapshot and returns the copy. snapshot_jobs_begin() has allocated the array. */
const WindowPeaks *snapshot_jobs_copy_peaks(JobsSnapshot *jobs, const WindowPeaks *peaks);
const Usage *snapshot_jobs_copy_usage(JobsSnapshot *jobs, const Usage *usage);
const Phase *snapshot_jobs_copy_phase(JobsSnapshot *jobs, const Phase *phase);
const JobResult *snapshot_jobs_copy_result(JobsSnapshot *jobs, const JobResult *result);
JobSteps snapshot_jobs_copy_steps(JobsSnapshot *jobs, const JobSteps *steps);
JobGpus snapshot_jobs_copy_gpus(JobsSnapshot *jobs, const JobGpus *gpus);
/* Returns the span with a copy of its head, which has an element in the array only if the span has one. Caller must
 * not deinit it. */
SampleSpan snapshot_jobs_copy_span(JobsSnapshot *jobs, const SampleSpan *span);

/* Returns the record of the job, or NULL. */
const JobRecord *snapshot_jobs_find(const JobsSnapshot *jobs, const char *id);
/* Returns the number of records in /metrics. */
size_t snapshot_jobs_n_exposed(const JobsSnapshot *jobs);

/* Computes the metrics of the record's job. node: part of the same snapshot. */
void snapshot_jobs_record_metrics(const JobRecord *record, const NodeSnapshot *node, MetricSet *ret_metrics,
                                  UsageSet *ret_usage);
/* As snapshot_jobs_record_metrics(), with the description, which is borrowed from the record: *ret needs no deinit. */
void snapshot_jobs_record_view(const JobRecord *record, const NodeSnapshot *node, JobView *ret);
/* Computes the metrics of the current phase. Returns false if the job has no current phase. */
bool snapshot_jobs_record_phase(const JobRecord *record, const NodeSnapshot *node, PhaseView *ret);

/* --- indicators -------------------------------------------------------------------------------------- */

/* IndicatorsSnapshot: the indicators' part of a Snapshot: counts of results, and the models. */

#define KPIS_FAMILY_MAX 95U /* bytes of the name of a family */

/* Texts are borrowed from `texts`. */
typedef struct KpiSample {
        const char *family, *unit, *help; /* unit: "" unless the name of the family ends with it */
        const char *labels;               /* key="value" pairs, escaped */
        double value;
} KpiSample;

/* The current values of KPIs, by family, for /metrics. */
typedef struct KpisSnapshot {
        KpiSample *samples; /* owned; those of a family are together */
        size_t n;
        char *texts; /* owned */
        uint64_t version;
        /* series that are not shown: since start because of a limit, and now because of their name */
        uint64_t n_not_exposed;
} KpisSnapshot;

void snapshot_indicators_deinit_kpis(KpisSnapshot *kpis);

typedef enum IndicatorOutcome {
        INDICATOR_STORED,
        INDICATOR_FAILED,  /* the result is stored, but the run failed */
        INDICATOR_REFUSED, /* the result does not conform to its model */
        N_INDICATOR_OUTCOMES,
} IndicatorOutcome;

/* Results of one user with one indicator and component since start. */
typedef struct IndicatorCount {
        const char *name, *component; /* borrowed from `names` in a snapshot; component may be "" */
        uint32_t uid;                 /* no user's if the name is "" */
        uint64_t n[N_INDICATOR_OUTCOMES];
} IndicatorCount;

/* Counters since start. */
typedef struct IndicatorsStats {
        uint64_t n_stored;
        uint64_t n_deviations; /* keys of stored results that do not conform to the model */
} IndicatorsStats;

typedef struct IndicatorsSnapshot {
        IndicatorCount *counts; /* owned; the last element may count all results without a series of their own, with
                                 * empty names */
        size_t n, n_allocated;
        char *names; /* owned; texts of the counts */
        uint64_t names_version;
        IndicatorsStats stats;
        KpisSnapshot kpis;
        SharedTexts *models; /* a reference; JSON of /api/v1/models; NULL before it was set */
} IndicatorsSnapshot;

void snapshot_indicators_deinit(IndicatorsSnapshot *indicators);
/* Allocates n counts. Returns 0 or -ENOMEM. */
int snapshot_indicators_reserve(IndicatorsSnapshot *indicators, size_t n);
/* Takes a reference to the models. */
void snapshot_indicators_set_models(IndicatorsSnapshot *indicators, SharedTexts *models);

/* --- data pipelines ---------------------------------------------------------------------------------- */

/* PipelinesSnapshot: the data pipelines' part of a Snapshot: totals of the stages of jobs that are in /metrics. */

/* Totals of a part of a stage since the job began. */
typedef struct PipelineTotal {
        char job[JOB_ID_MAX];
        char stage[PIPELINE_LABEL_MAX + 1];
        PipelinePart part;
        PipelineSums sums;
} PipelineTotal;

/* Counters since start, except for the last. */
typedef struct PipelinesStats {
        uint64_t n_intervals, n_repeated, n_rejected; /* stored; sent again; of stages beyond the limit of a job */
        uint64_t n_not_exposed;                          /* parts of stages that are not in /metrics now */
} PipelinesStats;

typedef struct PipelinesSnapshot {
        PipelineTotal *totals; /* owned; those of a job are together */
        size_t n, n_allocated;
        uint64_t version;      /* of the totals */
        PipelinesStats stats;
} PipelinesSnapshot;

void snapshot_pipelines_deinit(PipelinesSnapshot *pipelines);

/* --- the whole --------------------------------------------------------------------------------------- */

typedef struct Snapshot {
        uint64_t serial; /* set by publisher_publish(): no other snapshot of the publisher has it */
        NodeSnapshot node;
        JobsSnapshot jobs;
        IndicatorsSnapshot indicators;
        PipelinesSnapshot pipelines;
        IngestStats ingest;
        StoreStats store;
        HttpPortStats http_port;
        SelfStats self;
} Snapshot;

void snapshot_deinit(Snapshot *snapshot);
