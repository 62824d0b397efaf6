/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recovery: a new perfd takes up what the last one left
 *
 * Jobs whose processes still run go on with their windows; the kernel kept counting meanwhile, so
 * their totals stay exact. The others are closed as interrupted with the numbers of the last checkpoint.
 */

#include "state.h"

int recovery_run(Service *service);
