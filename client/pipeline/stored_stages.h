/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stored stages: the stages of a job's data pipelines from the answer of /api/v1/jobs/{id}/pipeline */

#include "client/pipeline/spdl_export.h"
#include "document/value.h"

/*
 * Reads the stages in the order of pipeline and position. Of a part with three or more intervals, the first does not count: the queues fill
 * in it. Returns 0 or -ENOMEM. Call spdl_export_deinit() in all cases.
 */
int stored_stages_read(const Value *answer, SpdlExport *ret);

/*
 * Adds what the job and its node did, from the answer of /api/v1/jobs/{id}. Jobs without a cgroup of their own have no numbers of the job.
 */
void stored_stages_join_job(SpdlExport *stages, const Value *job);
