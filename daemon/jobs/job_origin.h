/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job origin: who began a job, and the charge for the job
 *
 * A running job is charged to the user who began it. A job counts twice if perfd can watch neither a process nor a cgroup of it, because
 * only an end request ends such a job. Administrators and detected jobs are refused only when the table is full of their own jobs.
 */

#include "jobs/table/jobs.h"

/* Detected jobs are begun by perfd itself, for the system. */
#define JOB_ORIGIN_SYSTEM ((JobOrigin){ .uid = 0, .is_admin = true })

/* Charges a job that is about to be added. 0, JOB_ORIGIN_REFUSED with the reason, or -ENOMEM. */
enum {
        JOB_ORIGIN_REFUSED = 1,
};
int job_origin_charge(Shares *shares, const Jobs *jobs, bool is_watched, JobOrigin *origin, char ret_reason[SHARES_REASON_MAX]);
/* Charges a job that runs already, which is never refused. 0 or -ENOMEM. */
int job_origin_resume(Shares *shares, bool is_watched, JobOrigin *origin);
