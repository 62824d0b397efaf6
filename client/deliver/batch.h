/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Batch: what one invocation has to tell perfd
 *
 * Results first, then the end of the job they came from. It is delivered whole: now, or later
 * from the spool under the same ids.
 */

#include <stddef.h>
#include <stdint.h>

#include "request/request.h"

/* All borrowed. */
typedef struct Batch {
        const Submission *items;
        size_t n_items;
        const char *ended_job; /* NULL: no end */
        JobEnd end;
} Batch;
