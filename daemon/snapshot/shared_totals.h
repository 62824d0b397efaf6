/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared totals: the node's totals at the begin of a job
 *
 * The job and its records in snapshots share one immutable copy, which is freed with its last reference. All references
 * must be taken and released by one thread; others may read.
 */

#include <stddef.h>

#include "measure/totals.h"

typedef struct SharedTotals {
        size_t n_references;
        Totals totals;
} SharedTotals;

/* Makes a copy of the totals with one reference. NULL: out of memory. */
SharedTotals *shared_totals_new(const Totals *totals);
/* Makes *to a reference to `from`, which may be NULL; releases the previous reference. */
void shared_totals_share(SharedTotals *from, SharedTotals **to);
/* Releases a reference, or nothing if it is NULL. Returns NULL. */
SharedTotals *shared_totals_unref(SharedTotals *totals);
