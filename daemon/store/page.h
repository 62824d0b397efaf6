/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Page: a part of a list that is sorted by time and row, newest first
 *
 * Keyset paging: the rows of a page come strictly before the key, which is that of the last row of the page before.
 */

#include <stdint.h>

typedef struct PageKey {
        uint64_t time_ms;
        int64_t row;
} PageKey; /* {}: the first page */

struct Prepared;
/*
 * Binds three places: "time >= ? AND (time, row) < (?, ?)", for rows of [since, until) before the key; until_ms 0: no end.
 * INT64_MAX is the highest row.
 */
void page_bind(struct Prepared *prepared, uint64_t since_ms, uint64_t until_ms, const PageKey *before);
