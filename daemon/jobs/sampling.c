/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/sampling.h"

#include "util/clock.h"

/* Requests that arrive together share a sample. */
#define SAMPLE_AGE_MAX_NS NS_PER_MS

static void observe(Jobs *jobs, const Observation *observation, uint64_t realtime_ns) {
        for (Job *job = jobs->first; job; job = job->links.next) {
                if (job->final)
                        continue;
                window_observe(&job->window, observation, realtime_ns);
                (void)recording_add(&job->recording, observation);
                if (job->phase)
                        window_observe(&job->phase->window, observation, realtime_ns);
        }
}

static int sample(Jobs *jobs, Node *node, uint64_t max_age_ns) {
        int r;

        r = node_sample(node, max_age_ns);
        if (r == NODE_OBSERVED)
                observe(jobs, &node->observation, node->sample.realtime_ns);
        return r < 0 ? r : 0;
}

int sampling_tick(Jobs *jobs, Node *node) {
        return sample(jobs, node, 0);
}

int sampling_now(Jobs *jobs, Node *node) {
        return sample(jobs, node, SAMPLE_AGE_MAX_NS);
}
