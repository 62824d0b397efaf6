/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job reference: the job that a command acts for */

#include "client/wire/codec.h"

/*
 * Chooses the job: `given` (--job), else $PERFD_JOB, else "", the job whose control group this process is in. Returns false after a message
 * about $PERFD_JOB. The id is borrowed.
 */
bool job_ref_find(const char *given, JobRef *ret);
