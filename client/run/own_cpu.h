/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Own CPU: CPU time that perfctl itself uses in the control group of a job
 */

#include "job/job.h"

/* Returns the CPU time that this process has used since `since`, an earlier result for {}; its children are not included. */
ClientCpu own_cpu_since(const ClientCpu *since);
