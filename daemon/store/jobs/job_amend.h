/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job amend: the row set of an end that is reported for a job which was closed without a report. */

#include "job/job.h"
#include "request/request.h"
#include "store/table/rowset.h"
#include "store/table/store_types.h"

/*
 * Adds exit status and rusage, makes the job finished, and removes a note that no end was reported. If perfd has not observed the end,
 * its time and the numbers that depend on it are those of the report (late_end.h); other metrics stay. now_ms: present time, since the
 * epoch. n_cpus: CPUs of the node. A sender who is neither an administrator nor the job's owner: STORE_DENIED. A finished job:
 * STORE_DUPLICATE. Copies everything; NULL: out of memory.
 */
RowSet *job_amend_pack(const char *job, const Peer *sender, const JobEnd *end, uint64_t now_ms, uint32_t n_cpus, StoreCookie cookie);

/* Returns the id of the job. Borrowed from the set. */
Field job_amend_id(const RowSet *set);

extern const RowKind job_amend_kind;
