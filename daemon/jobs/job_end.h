/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ending: a job's last numbers, and their way into the store
 */

#include "state.h"

/*
 * The numbers as of now, after a bracket; nothing that happens later is in them. A job that has an ending already keeps
 * its numbers and moment, and gets the state and `end`. 0 or -ENOMEM.
 */
int job_end_make(Service *service, Job *job, JobState state, const JobEnd *end);

/* Queues the job's end; its phase is ENDING then. 0, STORE_QUEUE_FULL (nothing changed), or < 0. */
int job_end_put(Service *service, Job *job);

/* What was, from its present phase, up to now. */
void job_end_phase_view(const Service *service, const Job *job, PhaseView *ret);
