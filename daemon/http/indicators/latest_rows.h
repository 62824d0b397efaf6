/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Newest: of rows that come in no order, those that a page of a list shows */

#include <stdbool.h>
#include <stddef.h>

#include "http/pagination.h"

#define LATEST_ROWS_MAX (PAGINATION_ROWS_MAX + 1U)

typedef struct LatestRows {
        PageKey keys[LATEST_ROWS_MAX]; /* a heap, the oldest on top; later sorted */
        size_t n, n_max;
} LatestRows;

/* n_max: LATEST_ROWS_MAX at most. */
void latest_rows_init(LatestRows *latest, size_t n_max);
/* False when it is older than n_max others: so are all that are older than it. */
bool latest_rows_add(LatestRows *latest, PageKey key);
/* The newest first. Nothing can be added afterwards. */
void latest_rows_sort(LatestRows *latest);
