/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job end: a job's final numbers, and their way into the store
 */

#include "desk/desk.h"
#include "jobs/jobs.h"
#include "node/node.h"

/*
 * Makes the final numbers as of the node's latest sample; what happens later is not in them. A job that has final numbers keeps them
 * and their moment, and gets the state and `end`. 0 or -ENOMEM.
 */
int job_end_make(Job *job, const Node *node, JobState state, const JobEnd *end);

/* Queues the end of a job with final numbers and sets the stage ENDING. 0, STORE_QUEUE_FULL (nothing changed), or < 0. */
int job_end_put(Job *job, Store *store, StoreCookie cookie);

/* Metrics of the present phase up to now; the job has one. */
void job_end_phase_view(const Job *job, const Node *node, PhaseView *ret);
