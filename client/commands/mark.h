/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Mark: one phase of a job ends and the next begins, as `mark` and `time` say it
 */

#include "client/deliver/deliver.h"

/* What perfd may delay a script by, whatever state it is in. */
#define MARK_TIMEOUT_NS (200 * UINT64_C(1000000))

/* Whether it can name a phase; says why not. */
bool mark_name_check(const char *name);
/* Whose phase it is: --job, else $PERFD_JOB, else the job that this process is in. False after saying what is wrong with it. */
bool mark_job_find(const char *given, JobRef *ret);

/* Once, and for MARK_TIMEOUT_NS at most. As deliver_mark(); ret_text: why not, when > 0. */
int mark_send(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret, Delivery *ret_delivery,
              char ret_text[static DELIVERY_TEXT_MAX]);
/* Whether perfd may have taken it although it did not say so. */
bool mark_may_be_taken(const Courier *courier, const Delivery *delivery);
