/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pagination of lists
 *
 * A list has at most `limit` rows, newest first. Its member `next` is the value of `page` for the following rows:
 * the key of the last row, so that rows that are added or removed meanwhile do not shift pages.
 */

#include "http/exchange.h"
#include "json/json.h"

#define PAGINATION_ROWS_MAX 1000U
#define PAGINATION_ROWS_DEFAULT 100U
/* A page ends early at this size, which limits the memory of one request. */
#define PAGINATION_BYTES_MAX (1024U * 1024U)

typedef struct Pagination {
        uint64_t since_ms, until_ms; /* 0: open */
        uint64_t limit;
        PageKey before; /* {} on the first page */

        /* state while the list is written */
        uint64_t n_rows;
        PageKey last;
        bool has_more;
} Pagination;

/* Parse since_ms, until_ms, limit and page. 0 or EXCHANGE_ANSWERED. */
int pagination_parse(const Target *target, Response *response, Pagination *ret);
int pagination_parse_times(const Target *target, Response *response, uint64_t *ret_since_ms, uint64_t *ret_until_ms);

/* Call before each row is written: false if the page is full; `next` is set then. */
bool pagination_admit(Pagination *page, const Buffer *body, PageKey key);
/* Write {"KEY":[…],"next":…} around the rows; next is a token or null. */
void pagination_begin(Json *json, Buffer *body, const char *key);
void pagination_end(const Pagination *page, Json *json);

#define LATEST_ROWS_MAX (PAGINATION_ROWS_MAX + 1U)

/* The newest rows for a page of a list, selected from rows in any order. */
typedef struct LatestRows {
        PageKey keys[LATEST_ROWS_MAX]; /* newest first */
        size_t n, n_max;
} LatestRows;

/* n_max: at most LATEST_ROWS_MAX. */
void pagination_init_latest(LatestRows *latest, size_t n_max);
/* False if n_max newer rows are known; then no older row needs to be added. */
bool pagination_add_latest(LatestRows *latest, PageKey key);
