/* SPDX-License-Identifier: Apache-2.0 */
#include "node/observe.h"

#include "util/clock.h"

/* How old the last sample may be for a job's begin or end. */
#define BRACKET_AGE_NS NS_PER_MS

static void hand_on(Service *service) {
        const Observation *observation = &service->node.observation;
        uint64_t realtime_ns = service->node.sample.realtime_ns;

        (void)recording_add(&service->node_point, observation);
        for (Job *job = service->jobs.first; job; job = job->next) {
                if (job->ending)
                        continue;
                window_observe(&job->window, observation, realtime_ns);
                (void)recording_add(&job->recording, observation);
                if (job->mark)
                        window_observe(&job->mark->window, observation, realtime_ns);
        }
}

static int observe(Service *service, uint64_t max_age_ns) {
        int r;

        r = node_sample(&service->node, max_age_ns);
        if (r == NODE_OBSERVED)
                hand_on(service);
        return r < 0 ? r : 0;
}

int observe_tick(Service *service) {
        return observe(service, 0);
}

int observe_bracket(Service *service) {
        return observe(service, BRACKET_AGE_NS);
}
