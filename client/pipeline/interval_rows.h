/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Interval rows: the intervals in an answer that has the rows of several pages
 *
 * While a job runs, perfd may merge intervals between two pages. The answer then has some of them in one page, and their sum at the
 * begin of the next: rows that are a part of a later sum are left out, so that nothing is counted twice.
 */

#include <stddef.h>

#include "util/scoped.h"
#include "value/value.h"

typedef struct IntervalRows {
        const Value **items; /* owned; the rows are borrowed from the answer */
        size_t n;
} IntervalRows;

/* Lists the rows of the answer's "intervals" in their order; none if it has no such list. 0 or -ENOMEM. Caller deinits. */
int interval_rows_init(IntervalRows *ret, const Value *answer);
void interval_rows_deinit(IntervalRows *rows);
