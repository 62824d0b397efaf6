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
} PageKey; /* {} for the first page */

struct Field;
struct Statement;
struct ReadConnection;

/*
 * Writes three fields for "time >= ? AND (time, row) < (?, ?)": rows of [since, until) before the key; until_ms 0: no end.
 * INT64_MAX is the highest row.
 */
void page_put_fields(uint64_t since_ms, uint64_t until_ms, const PageKey *before, struct Field *ret);

/* Rows of a page with a text (NULL: any) in each of three columns. */
typedef struct PageFilter {
        uint64_t since_ms, until_ms; /* [since, until); 0: open */
        PageKey before;
        const char *texts[3];
} PageFilter;

/*
 * Begins the query of a page. A text that is not given does not appear in the statement, so that each of the eight statements
 * can name its index: with INDEXED BY, a statement that cannot use the index is an error. The number of a statement has a bit
 * for each text. The texts come after the fields of page_put_fields(). 0 or an outcome of store_types.h.
 */
int page_begin(struct ReadConnection *connection, const struct Statement *lists, const PageFilter *filter);
