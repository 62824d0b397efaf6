/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pages of a list
 *
 * A list comes newest first, at most `limit` rows at a time, and says with `next` what to give as `page` for
 * the following ones: the key of its last row, so that rows that arrive or go meanwhile shift nothing.
 */

#include "http/exchange.h"
#include "util/json.h"

#define PAGINATION_ROWS_MAX 1000U
#define PAGINATION_ROWS_DEFAULT 100U
/* A page ends early once it is this long: what one question can make us hold. */
#define PAGINATION_BYTES_MAX (1024U * 1024U)

typedef struct Pagination {
        uint64_t since_ms, until_ms; /* 0: open */
        uint64_t limit;
        PageKey before; /* {} on the first page */

        /* while it is being written */
        uint64_t n_rows;
        PageKey last;
        bool has_more;
} Pagination;

/* From since_ms, until_ms, limit and page. 0 or EXCHANGE_ANSWERED. */
int pagination_parse(Exchange *exchange, Pagination *ret);
int pagination_parse_times(Exchange *exchange, uint64_t *ret_since_ms, uint64_t *ret_until_ms);

/* Called for each row there is: false when the page is full, which then says so in `next`. */
bool pagination_admit(Pagination *page, const Buffer *body, PageKey key);
/* {"KEY":[…],"next":…} around the rows; next is a token, or null. */
void pagination_begin(Json *json, Buffer *body, const char *key);
void pagination_end(const Pagination *page, Json *json);
