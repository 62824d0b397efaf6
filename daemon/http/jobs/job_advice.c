/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/job_advice.h"

size_t job_advice(const JobView *job, const Snapshot *snapshot, Advice ret[static ADVICE_MAX]) {
        const AdviceInput input = {
                .metrics = &job->metrics,
                .usage = &job->usage,
                .is_running = job->state == JOB_RUNNING,
                .n_node_cpus = snapshot_n_cpus(snapshot),
                .node_memory_bytes = snapshot_memory_bytes(snapshot),
        };

        return advice_give(&input, ret);
}
