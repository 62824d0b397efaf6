/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/job_advice.h"

size_t job_advice(const JobView *job, const NodeSnapshot *node, Advice ret[static ADVICE_MAX]) {
        const AdviceInput input = {
                .metrics = &job->metrics,
                .usage = &job->usage,
                .is_running = job->state == JOB_RUNNING,
                .n_node_cpus = node_snapshot_n_cpus(node),
                .node_memory_bytes = node_snapshot_memory_bytes(node),
        };

        return advice_give(&input, ret);
}
