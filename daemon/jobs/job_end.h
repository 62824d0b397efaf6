/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job end: computes a job's final numbers and puts them into the store
 */

#include "desk/desk.h"
#include "jobs/jobs.h"
#include "node/node.h"

/*
 * Computes the final numbers as of the node's latest sample. A job that has final numbers already keeps them and their time, and gets
 * the state and `end`. samples: the log that the job's span is of. 0 or -ENOMEM.
 */
int job_end_make(Job *job, const Node *node, const SampleLog *samples, JobState state, const JobEnd *end);

/* Queues the end of a job with final numbers and sets the stage ENDING. 0, STORE_QUEUE_FULL (nothing changed), or < 0. */
int job_end_put(Job *job, Store *store, StoreCookie cookie);

/* Computes the metrics of the current phase up to now; the job has a phase. */
void job_end_phase_view(const Job *job, const Node *node, PhaseView *ret);
