/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job parts: functions that several row sets of jobs share */

#include "job/job.h"
#include "store/jobs/job_text.h"
#include "store/database/pack.h"

struct Database;

/* Appends three fields: exit status, signal and rusage. */
void job_parts_pack_end(Buffer *buffer, const JobEnd *end);

/* --- inside a transaction of the writer: 0 or an outcome of database.h ------------------------- */

/* Finds or inserts the id of this program's layout. */
int job_parts_find_layout(struct Database *database, LayoutKind kind, int64_t *ret);

/* Owner of a job. */
typedef struct JobOwner {
        bool is_stored; /* else the job was never begun here */
        bool is_running, is_finished;
        uint32_t uid;
        int64_t row;
} JobOwner;
int job_parts_find_owner(struct Database *database, Field job, JobOwner *ret);
