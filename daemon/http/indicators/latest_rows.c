/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/latest_rows.h"

#include <stdlib.h>

void latest_rows_init(LatestRows *newest, size_t n_max) {
        newest->n = 0;
        newest->n_max = n_max;
}

static bool is_older(PageKey a, PageKey b) {
        return a.time_ms != b.time_ms ? a.time_ms < b.time_ms : a.row < b.row;
}

static void swap(PageKey *a, PageKey *b) {
        PageKey kept = *a;

        *a = *b;
        *b = kept;
}

static void sift_up(LatestRows *newest) {
        for (size_t i = newest->n - 1; i > 0 && is_older(newest->keys[i], newest->keys[(i - 1) / 2]); i = (i - 1) / 2)
                swap(&newest->keys[i], &newest->keys[(i - 1) / 2]);
}

static void sift_down(LatestRows *newest) {
        size_t i = 0;

        for (;;) {
                size_t oldest = i;

                for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < newest->n; child++)
                        if (is_older(newest->keys[child], newest->keys[oldest]))
                                oldest = child;
                if (oldest == i)
                        return;
                swap(&newest->keys[i], &newest->keys[oldest]);
                i = oldest;
        }
}

bool latest_rows_add(LatestRows *newest, PageKey key) {
        if (newest->n < newest->n_max) {
                newest->keys[newest->n++] = key;
                sift_up(newest);
                return true;
        }
        if (is_older(key, newest->keys[0]))
                return false;

        newest->keys[0] = key;
        sift_down(newest);
        return true;
}

static int on_compare(const void *a, const void *b) {
        const PageKey *x = a, *y = b;

        return is_older(*y, *x) ? -1 : is_older(*x, *y);
}

void latest_rows_sort(LatestRows *newest) {
        qsort(newest->keys, newest->n, sizeof(*newest->keys), on_compare);
}
