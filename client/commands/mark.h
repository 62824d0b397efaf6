/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Mark: starts the next phase of a job, for `mark` and `time`
 */

#include "client/deliver/deliver.h"

/* Longest delay of a script, whatever state perfd is in. */
#define MARK_TIMEOUT_NS (200 * UINT64_C(1000000))

/* Whether it can name a phase; prints the reason if not. */
bool mark_name_check(const char *name);
/* The job of the phase: `given`, else $PERFD_JOB, else the job that this process is in. False after a message. */
bool mark_job_find(const char *given, JobRef *ret);

/* Once, and for MARK_TIMEOUT_NS at most. As deliver_mark(); ret_text: why not, when > 0. */
int mark_send(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret, Delivery *ret_delivery,
              char ret_text[static DELIVERY_TEXT_MAX]);
/* Whether perfd may have recorded the mark although it did not answer. */
bool mark_may_be_taken(const Courier *courier, const Delivery *delivery);
