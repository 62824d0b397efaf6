/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recovery: continues the jobs that were running when perfd last stopped
 *
 * Jobs whose processes still run continue with their windows; the kernel kept counting meanwhile, so that their
 * totals stay exact. The others are closed as interrupted with the numbers of their last checkpoint.
 */

#include "jobs/lifecycle.h"

/* Runs before the first sample. 0 or < 0. */
int recovery_run(Lifecycle *lifecycle);
