/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/latest_rows.h"

#include <assert.h>
#include <stdlib.h>

void latest_rows_init(LatestRows *latest, size_t n_max) {
        assert(n_max > 0 && n_max <= LATEST_ROWS_MAX);
        latest->n = 0;
        latest->n_max = n_max;
}

static bool is_older(PageKey a, PageKey b) {
        return a.time_ms != b.time_ms ? a.time_ms < b.time_ms : a.row < b.row;
}

static void swap(PageKey *a, PageKey *b) {
        PageKey kept = *a;

        *a = *b;
        *b = kept;
}

static void sift_up(LatestRows *latest) {
        for (size_t i = latest->n - 1; i > 0 && is_older(latest->keys[i], latest->keys[(i - 1) / 2]); i = (i - 1) / 2)
                swap(&latest->keys[i], &latest->keys[(i - 1) / 2]);
}

static void sift_down(LatestRows *latest) {
        size_t i = 0;

        assert(latest->n == latest->n_max);
        for (;;) {
                size_t oldest = i;

                for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < latest->n; child++)
                        if (is_older(latest->keys[child], latest->keys[oldest]))
                                oldest = child;
                if (oldest == i)
                        return;
                swap(&latest->keys[i], &latest->keys[oldest]);
                i = oldest;
        }
}

bool latest_rows_add(LatestRows *latest, PageKey key) {
        if (latest->n < latest->n_max) {
                latest->keys[latest->n++] = key;
                sift_up(latest);
                return true;
        }
        if (is_older(key, latest->keys[0]))
                return false;

        latest->keys[0] = key;
        sift_down(latest);
        return true;
}

static int on_compare(const void *a, const void *b) {
        const PageKey *x = a, *y = b;

        return is_older(*y, *x) ? -1 : is_older(*x, *y);
}

void latest_rows_sort(LatestRows *latest) {
        qsort(latest->keys, latest->n, sizeof(*latest->keys), on_compare);
}
