/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SPDL log writer: the stored intervals of a job as the lines that SPDL logs, which spdl_log.h reads */

#include <stddef.h>

#include "util/buffer.h"
#include "value/value.h"

/* Maximum number of requested intervals. */
#define SPDL_LOG_INTERVALS_MAX 200000U
#define SPDL_LOG_PATH "/pipeline/intervals"

/*
 * Writes a line for each interval in the answer of this path below /api/v1/jobs/{id}, in the order of time. A percentile that was not
 * measured is 0, as in SPDL's lines without items, and an occupancy that is not known is nan. *ret_n: lines. 0 or -ENOMEM.
 */
int spdl_log_write(const Value *answer, Buffer *out, size_t *ret_n);
