/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Snapshot: live state, frozen
 *
 * The loop fills one after each tick and publishes it; HTTP's threads read it and
 * nothing else of the loop's. Arrays are reused from one filling to the next.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/meter.h"
#include "measure/metric.h"
#include "measure/sample.h"
#include "snapshot/job_view.h"

#define STATUS_LABELS_MAX 10 /* one for each Status of the wire */

typedef struct SelfStats {
        uint64_t started_realtime_ns;
        uint64_t n_ticks, n_missed_ticks;
        uint64_t sample_cpu_ns;        /* CPU time spent sampling, sum */
        uint64_t last_sample_cpu_ns;
        uint64_t lateness_sum_ns, lateness_last_ns, lateness_max_ns;
        uint64_t n_source_failures[N_SOURCES];
        uint32_t sources_absent; /* bit per Source: not read in the last sample */
        char source_error[N_SOURCES][96];
        uint64_t n_requests[STATUS_LABELS_MAX]; /* by wire status */
        uint64_t n_connections, n_connections_total, n_connections_refused, n_protocol_errors;
        uint64_t n_in_flight;
        uint64_t n_jobs_running, n_jobs_begun, n_jobs_finished, n_jobs_interrupted;
        uint64_t n_indicators_stored; /* since start */
        uint64_t n_odd_keys;          /* of those: what their models do not know, or know otherwise */
        /* cgroups: those the patterns found, those in a job's place that are none, directories that could not be watched */
        uint64_t n_groups_found, n_groups_unrecognized, n_groups_not_watched;
        uint64_t n_jobs_with_cgroup; /* of those that run */
        /* store */
        uint64_t queue_rows, queue_bytes, queue_rows_max;
        uint64_t n_commits, n_commit_failures, commit_ns_sum, commit_ns_last, n_rows_committed;
        uint64_t store_bytes, store_bytes_max, n_rows_removed;
        bool store_writable;
        char store_error[160]; /* why it is not; "" */
        bool store_volatile;
        bool config_reload_ok;
        uint64_t config_reload_realtime_ns;
        uint64_t n_config_reloads;
        uint64_t process_cpu_ns;
        uint64_t resident_bytes, virtual_bytes; /* of this process */
        uint64_t n_open_fds, n_fds_max;
} SelfStats;

typedef enum IndicatorOutcome {
        INDICATOR_STORED,
        INDICATOR_FAILED,  /* stored as well: the run failed */
        INDICATOR_REFUSED, /* by its model */
        N_INDICATOR_OUTCOMES,
} IndicatorOutcome;

/* Results of one indicator and component since the start. */
typedef struct IndicatorCount {
        const char *name, *component; /* live as long as any snapshot */
        uint64_t n[N_INDICATOR_OUTCOMES];
} IndicatorCount;

typedef struct Snapshot {
        char hostname[65];
        char boot_id[37];
        char machine[65], kernel[65]; /* uname */
        uint64_t interval_ns;
        uint64_t boottime_ns, realtime_ns; /* of the last sample; 0: none yet */

        Sample sample;           /* owned copy of the last sample */
        Totals totals;           /* since perfd first saw this boot */
        MeterEvents events;
        Observation observation; /* the latest; end_ns 0: none yet */
        MetricSet node;          /* window since start */
        uint64_t node_begin_realtime_ns;

        JobView *jobs; /* owned: running ones first, then those that ended within the exposition time */
        size_t n_jobs, n_jobs_running, n_jobs_allocated;
        size_t metrics_jobs_max;   /* how many of them /metrics shows: the first */
        size_t n_jobs_not_exposed; /* how many it does not show for that limit */

        IndicatorCount *indicators; /* owned; those beyond the limit together, under no name */
        size_t n_indicators, n_indicators_allocated;
        char *models; /* owned; JSON, as /api/v1/models answers; NULL: out of memory */
        uint64_t models_version;

        SelfStats self;
} Snapshot;

void snapshot_deinit(Snapshot *snapshot);
/* What the node has; 0 when not known. snapshot NULL: nothing is. */
uint32_t snapshot_n_cpus(const Snapshot *snapshot);
uint64_t snapshot_memory_bytes(const Snapshot *snapshot);
/* Room for n jobs; kept ones stay, new ones are zero. 0 or -ENOMEM. */
int snapshot_reserve_jobs(Snapshot *snapshot, size_t n);
int snapshot_reserve_indicators(Snapshot *snapshot, size_t n);
