/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stored stages: the stages of a job's data pipelines from the answer of /api/v1/jobs/{id}/pipeline */

#include "client/pipeline/stage_set.h"
#include "value/value.h"

/*
 * Reads the stages in the order of pipeline and position. Of a part with three or more intervals, the first does not count: the queues fill
 * in it. Returns 0 or -ENOMEM. Call stage_set_deinit() in all cases.
 */
int stored_stages_read(const Value *answer, StageSet *ret);

/*
 * Adds the usage of the job and of its node from the answer of /api/v1/jobs/{id}. Jobs without a cgroup of their own have no numbers of the
 * job.
 */
void stored_stages_join_job(StageSet *stages, const Value *job);
