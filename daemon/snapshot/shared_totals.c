/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/shared_totals.h"

#include <assert.h>
#include <stdlib.h>

SharedTotals *shared_totals_new(const Totals *totals) {
        SharedTotals *shared = malloc(sizeof(*shared));

        if (shared)
                *shared = (SharedTotals){ .n_references = 1, .totals = *totals };
        return shared;
}

void shared_totals_share(SharedTotals *from, SharedTotals **to) {
        if (from == *to)
                return;

        if (from)
                from->n_references++;
        shared_totals_unref(*to);
        *to = from;
}

SharedTotals *shared_totals_unref(SharedTotals *totals) {
        if (!totals)
                return NULL;

        assert(totals->n_references > 0);
        if (--totals->n_references == 0)
                free(totals);
        return NULL;
}
