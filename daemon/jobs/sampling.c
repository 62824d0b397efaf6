/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/sampling.h"

#include "jobs/table/gpu_use.h"
#include "util/clock.h"

/* Requests that arrive together share a sample. */
#define SAMPLE_AGE_MAX_NS NS_PER_MS

/* Out of memory: the sample is dropped. */
static void keep_sample(Jobs *jobs, const Node *node) {
        ExportSample sample;

        if (!jobs->first) {
                sample_log_clear(&jobs->samples);
                return;
        }

        export_sample_make(&node->observation, meter_totals(node->meter), &sample);
        (void)sample_log_add(&jobs->samples, &sample);
}

static void record(Job *job, const Observation *observation, bool has_gpus) {
        Observation of_job = *observation;

        if (job->recording.n_allocated == 0) /* no point has been closed */
                job->recording.kind = has_gpus ? TIMELINE_OF_GPU_JOB : TIMELINE_OF_JOB;
        for (GpuSum sum = 0; sum < N_GPU_SUMS; sum++)
                of_job.gpus[sum] = job_gpus_add_up(&job->gpus, sum);
        (void)recording_add(&job->recording, &of_job);
}

static void observe(Jobs *jobs, const Node *node) {
        bool has_gpus = !(node->sample.equipment.none & (1U << SOURCE_GPU));
        const Observation *observation = &node->observation;
        uint64_t realtime_ns = node->sample.realtime_ns;

        for (Job *job = jobs->first; job; job = job->links.next) {
                sample_log_span_follow(&job->samples, &jobs->samples);
                if (job->final)
                        continue;
                window_observe(&job->peaks, &job->begin->totals, observation, realtime_ns);
                record(job, observation, has_gpus);
                if (job->phase)
                        window_observe(&job->phase->window.peaks, &job->phase->window.begin, observation, realtime_ns);
        }
}

static int sample(Jobs *jobs, Node *node, uint64_t max_age_ns) {
        int r;

        gpu_use_read(jobs->gpu_use, node);
        r = node_sample(node, max_age_ns);
        if (r >= 0)
                gpu_use_advance(jobs->gpu_use, jobs, node);
        if (r == NODE_OBSERVED) {
                keep_sample(jobs, node);
                observe(jobs, node);
        }
        return r < 0 ? r : 0;
}

/* Out of several users, none has the node. A detected job of an unknown user may enclose the jobs that began after it,
 * which their begin has checked, but not those before it. */
void sampling_ask_cpus(const Jobs *jobs, Node *node) {
        uint64_t granted_ns = UINT64_MAX, alone_ns = UINT64_MAX;
        uint32_t uid = JOB_UID_UNKNOWN;
        bool is_shared = false;

        for (const Job *job = jobs->first; job; job = job->links.next) {
                bool is_granted = job->readings.is_granted || node->config.is_shared_cpu_interval;
                uint64_t *least_ns = is_granted ? &granted_ns : &alone_ns;

                if (job->final)
                        continue;
                if (job->info.uid == JOB_UID_UNKNOWN)
                        alone_ns = UINT64_MAX;
                else
                        is_shared |= uid != JOB_UID_UNKNOWN && uid != job->info.uid;
                uid = job->info.uid != JOB_UID_UNKNOWN ? job->info.uid : uid;
                if (job->readings.interval_ns > 0 && job->readings.interval_ns < *least_ns)
                        *least_ns = job->readings.interval_ns;
        }
        if (!is_shared && alone_ns < granted_ns)
                granted_ns = alone_ns;
        node_ask_cpu_interval(node, granted_ns < UINT64_MAX ? granted_ns : 0);
}

int sampling_tick(Jobs *jobs, Node *node) {
        sampling_ask_cpus(jobs, node);
        return sample(jobs, node, 0);
}

int sampling_now(Jobs *jobs, Node *node) {
        return sample(jobs, node, SAMPLE_AGE_MAX_NS);
}
