/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Builds a Snapshot with a given number of devices and jobs, for tests and benchmarks. */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/snapshot.h"
#include "util/array.h"
#include "util/clock.h"

typedef struct SnapshotSize {
        size_t n_cpus, n_disks, n_nets, n_filesystems, n_jobs;
} SnapshotSize;

static inline void fixture_fill_sample(Sample *sample, const SnapshotSize *size) {
        assert(ARRAY_RESERVE(sample->cpus, sample->allocated.n_cpus, size->n_cpus) == 0 &&
               ARRAY_RESERVE(sample->disks, sample->allocated.n_disks, size->n_disks) == 0 &&
               ARRAY_RESERVE(sample->nets, sample->allocated.n_nets, size->n_nets) == 0 &&
               ARRAY_RESERVE(sample->filesystems, sample->allocated.n_filesystems, size->n_filesystems) == 0);

        sample->have = (1U << N_SOURCES) - 1;
        sample->n_cpus = size->n_cpus;
        sample->n_online = (uint32_t)size->n_cpus;
        sample->cpu.ticks[CPU_USER] = 12345;
        sample->memory = (SampleMemory){ .total_bytes = 64ULL << 30, .available_bytes = 48ULL << 30 };
        sample->load.average1 = 0.25;
        sample->counter[KERNEL_PSI_CPU_SOME] = 1500000;
        for (size_t i = 0; i < size->n_cpus; i++)
                sample->cpus[i] = (SampleCpu){ .online = true, .times.ticks[CPU_USER] = 100 + i };

        sample->n_disks = size->n_disks;
        for (size_t i = 0; i < size->n_disks; i++) {
                sample->disks[i] = (SampleDisk){ .class = DISK_PHYSICAL, .read_bytes = 512 * i, .io_ms = 1500 };
                (void)snprintf(sample->disks[i].name, sizeof(sample->disks[i].name), "disk%zu", i);
        }
        sample->n_nets = size->n_nets;
        for (size_t i = 0; i < size->n_nets; i++) {
                sample->nets[i] = (SampleNet){ .class = NET_PHYSICAL, .sent_bytes = 1000 * i };
                (void)snprintf(sample->nets[i].name, sizeof(sample->nets[i].name), "eth%zu", i);
        }
        sample->n_filesystems = size->n_filesystems;
        for (size_t i = 0; i < size->n_filesystems; i++) {
                sample->filesystems[i] = (SampleFilesystem){
                        .type = "ext4", .size_bytes = 1000, .free_bytes = 500, .available_bytes = 400
                };
                (void)snprintf(sample->filesystems[i].mount_point, sizeof(sample->filesystems[i].mount_point),
                               i ? "/data%zu" : "/", i);
        }
}

static inline void fixture_fill_metrics(MetricSet *metrics, UsageSet *usage) {
        for (Metric metric = 0; metric < N_METRICS; metric++) {
                metrics->quality[metric] = QUALITY_EXACT;
                metrics->value[metric] = 1.0 / 3.0 + (double)metric;
        }
        for (UsageMetric metric = 0; metric < N_USAGES; metric++) {
                usage->quality[metric] = QUALITY_EXACT;
                usage->value[metric] = 2.0 / 3.0 + (double)metric;
        }
        for (Metric metric = 0; metric < N_PERFPY_METRICS; metric++) {
                metrics->has_compat[metric] = true;
                metrics->compat[metric] = 50.5;
        }
}

static inline void fixture_describe_job(JobDescription *ret, size_t i) {
        JobInfo info = { .user = "ada", .rank = (int64_t)i, .node = -1, .uid = 1000 };

        (void)snprintf(info.id, sizeof(info.id), "job-%zu", i);
        (void)snprintf(info.name, sizeof(info.name), "training \"%zu\"", i);
        assert(job_description_make(&info, ret) == 0);
}

/* Adds a running job with fixed metrics: snapshot->jobs.results[i]. */
static inline void fixture_add_job(JobsSnapshot *jobs, size_t i) {
        scoped(job_description_deinit) JobDescription info = {};
        JobResult result = {};
        JobRecord *record;

        fixture_describe_job(&info, i);
        record = snapshot_jobs_add(jobs, &info, NULL);
        fixture_fill_metrics(&result.metrics, &result.usage);
        record->state = JOB_RUNNING;
        record->begin_realtime_ms = 1763676000000;
        record->result = snapshot_jobs_copy_result(jobs, &result);
}

/* Sets the current phase of record i; the snapshot has space for one phase. */
static inline void fixture_set_phase(JobsSnapshot *jobs, size_t i, const Phase *phase) {
        jobs->records[i].phase = snapshot_jobs_copy_phase(jobs, phase);
}

static inline void fixture_fill_node(NodeSnapshot *node, const SnapshotSize *size) {
        (void)snprintf(node->identity.hostname, sizeof(node->identity.hostname), "node<7>");
        (void)snprintf(node->identity.kernel, sizeof(node->identity.kernel), "6.1.0");
        (void)snprintf(node->identity.machine, sizeof(node->identity.machine), "x86_64");
        (void)snprintf(node->boot_id, sizeof(node->boot_id), "3129b83a-6db0-4f75-ba01-984463177874");
        node->interval_ns = node->cpu_interval_ns = NS_PER_S;
        node->boottime_ns = 100 * NS_PER_S;
        node->realtime_ns = 1763676000 * NS_PER_S;
        node->observation = (Observation){ .end_ns = 100 * NS_PER_S, .has_cpu = true, .cpu_mean = 0.5, .cpu_max = 1 };
        node->totals.value[TOTAL_OBSERVED_NS] = 90 * NS_PER_S;
        fixture_fill_sample(&node->sample, size);
}

static inline void fixture_fill(Snapshot *snapshot, const SnapshotSize *size) {
        const JobsSize jobs_size = { .n_records = size->n_jobs, .n_results = size->n_jobs, .n_phases = 1 };

        fixture_fill_node(&snapshot->node, size);
        assert(snapshot_jobs_begin(&snapshot->jobs, &jobs_size) == 0);
        for (size_t i = 0; i < size->n_jobs; i++)
                fixture_add_job(&snapshot->jobs, i);
        snapshot->jobs.n_running = size->n_jobs;
        snapshot->jobs.n_exposed_max = size->n_jobs;
}

/* Returns record i as a view whose metrics a test may change. */
static inline JobView fixture_view(const Snapshot *snapshot, size_t i) {
        JobView view;

        snapshot_jobs_record_view(&snapshot->jobs.records[i], &snapshot->node, &view);
        return view;
}
