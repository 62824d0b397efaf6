/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rusage: what wait4(2) says, as the wire and the model have it
 */

#include <sys/resource.h>

#include "job/job.h"

void rusage_take(const struct rusage *from, JobRusage *ret);
/* Of one run after the other: the larger of their sizes, and the sums of the rest. */
void rusage_add(JobRusage *to, const JobRusage *more);
