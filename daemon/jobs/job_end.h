/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job end: computes a job's final numbers and puts them into the store
 */

#include "desk/desk.h"
#include "jobs/table/gpu_use.h"
#include "node/node.h"

/*
 * Computes the final numbers as of the node's latest sample, and asks for the last reading of the job's GPUs. A job
 * that has final numbers already keeps them and their time, and gets the state and `end`. 0 or -ENOMEM.
 */
int job_end_make(Jobs *jobs, Job *job, const Node *node, JobState state, const JobEnd *end);

/*
 * Makes the final numbers of a job that ended while perfd was down. last: the meter's totals at the last sample
 * before, and realtime_ms its
 * time: the numbers of the node and the duration end there, as lower bounds, and a late report of the end completes
 * them (job.h).
 * The job's usage must have been read to its end, unless it is cut. 0 or -ENOMEM.
 */
int job_end_make_before(Job *job, const Node *node, const Totals *last, uint64_t realtime_ms);

/*
 * Queues the end of a job with final numbers and sets the stage ENDING. 0, STORE_QUEUE_FULL (nothing changed), or <
 * 0. If a reading of the GPUs is due, sets the stage only: job_end_settle() queues the end.
 */
int job_end_put(Job *job, Store *store, StoreCookie cookie);

/* Adds the last reading of its GPUs to a job's final numbers if it is there, or is not waited for any more. True if the
 * end is to be put now, with the cookie of its ticket: the stage is ACTIVE again. */
bool job_end_settle(const GpuUse *use, Job *job);

/* Computes the metrics of the current phase up to now; the job has a phase. */
void job_end_phase_view(const Job *job, const Node *node, PhaseView *ret);
