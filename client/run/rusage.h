/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rusage: what wait4(2) says, as the wire and the model have it
 */

#include <sys/resource.h>

#include "job/job.h"

void rusage_take(const struct rusage *from, JobRusage *ret);
/* Adds the usage of a further run: the larger of the sizes, and the sums of the rest. */
void rusage_add(JobRusage *to, const JobRusage *more);
