/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job end: computes a job's final numbers and puts them into the store
 */

#include "desk/desk.h"
#include "jobs/table/jobs.h"
#include "node/node.h"

/*
 * Computes the final numbers as of the node's latest sample. A job that has final numbers already keeps them and
 * their time, and gets the state and `end`. samples: the log that the job's span is of. 0 or -ENOMEM.
 */
int job_end_make(Job *job, const Node *node, const SampleLog *samples, JobState state, const JobEnd *end);

/*
 * Makes the final numbers of a job that ended while perfd was down. last: the meter's totals at the last sample
 * before, and realtime_ms its
 * time: the numbers of the node and the duration end there, as lower bounds, and a late report of the end completes
 * them (job.h).
 * The job's usage must have been read to its end, unless it is cut. 0 or -ENOMEM.
 */
int job_end_make_before(Job *job, const Node *node, const Totals *last, uint64_t realtime_ms);

/* Queues the end of a job with final numbers and sets the stage ENDING. 0, STORE_QUEUE_FULL (nothing changed), or <
 * 0. */
int job_end_put(Job *job, Store *store, StoreCookie cookie);

/* Computes the metrics of the current phase up to now; the job has a phase. */
void job_end_phase_view(const Job *job, const Node *node, PhaseView *ret);
