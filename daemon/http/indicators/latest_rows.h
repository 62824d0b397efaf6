/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* LatestRows: selects the newest rows for a page of a list from rows in any order */

#include <stdbool.h>
#include <stddef.h>

#include "http/pagination.h"

#define LATEST_ROWS_MAX (PAGINATION_ROWS_MAX + 1U)

typedef struct LatestRows {
        PageKey keys[LATEST_ROWS_MAX]; /* newest first */
        size_t n, n_max;
} LatestRows;

/* n_max: at most LATEST_ROWS_MAX. */
void latest_rows_init(LatestRows *latest, size_t n_max);
/* False if n_max newer rows are known; then no older row needs to be added. */
bool latest_rows_add(LatestRows *latest, PageKey key);
