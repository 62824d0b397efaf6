/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void snapshot_deinit(Snapshot *snapshot) {
        sample_deinit(&snapshot->sample);
        for (size_t i = 0; i < snapshot->n_jobs_allocated; i++)
                job_view_deinit(&snapshot->jobs[i]);
        free(snapshot->jobs);
        free(snapshot->indicators);
        free(snapshot->models);
        *snapshot = (Snapshot){};
}

uint32_t snapshot_n_cpus(const Snapshot *snapshot) {
        return snapshot && sample_has(&snapshot->sample, SOURCE_STAT) ? snapshot->sample.n_online : 0;
}

uint64_t snapshot_memory_bytes(const Snapshot *snapshot) {
        return snapshot && sample_has(&snapshot->sample, SOURCE_MEMINFO) ? snapshot->sample.memory.total_bytes : 0;
}

int snapshot_reserve_jobs(Snapshot *snapshot, size_t n) {
        size_t n_new = snapshot->n_jobs_allocated ? snapshot->n_jobs_allocated : 4;
        JobView *jobs;

        if (n <= snapshot->n_jobs_allocated)
                return 0;
        while (n_new < n)
                n_new *= 2;

        jobs = reallocarray(snapshot->jobs, n_new, sizeof(*jobs));
        if (!jobs)
                return -ENOMEM;

        memset(jobs + snapshot->n_jobs_allocated, 0, (n_new - snapshot->n_jobs_allocated) * sizeof(*jobs));
        snapshot->jobs = jobs;
        snapshot->n_jobs_allocated = n_new;
        return 0;
}

int snapshot_reserve_indicators(Snapshot *snapshot, size_t n) {
        IndicatorCount *indicators;

        if (n <= snapshot->n_indicators_allocated)
                return 0;

        indicators = reallocarray(snapshot->indicators, n, sizeof(*indicators));
        if (!indicators)
                return -ENOMEM;

        snapshot->indicators = indicators;
        snapshot->n_indicators_allocated = n;
        return 0;
}
