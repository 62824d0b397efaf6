/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/latest_rows.h"

#include <assert.h>
#include <string.h>

void latest_rows_init(LatestRows *latest, size_t n_max) {
        assert(n_max > 0 && n_max <= LATEST_ROWS_MAX);
        latest->n = 0;
        latest->n_max = n_max;
}

static bool is_older(PageKey a, PageKey b) {
        return a.time_ms != b.time_ms ? a.time_ms < b.time_ms : a.row < b.row;
}

bool latest_rows_add(LatestRows *latest, PageKey key) {
        size_t low = 0, high = latest->n;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (is_older(key, latest->keys[middle]))
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == latest->n_max)
                return false;

        latest->n += latest->n < latest->n_max;
        memmove(&latest->keys[low + 1], &latest->keys[low], (latest->n - 1 - low) * sizeof(key));
        latest->keys[low] = key;
        return true;
}
