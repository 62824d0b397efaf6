/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pagination.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Two numbers of sixteen hexadecimal digits; clients must not interpret them. */
#define TOKEN_LENGTH 32U

static int token_parse(const char *text, PageKey *ret) {
        uint64_t row;

        if (strlen(text) != TOKEN_LENGTH || strspn(text, "0123456789abcdef") != TOKEN_LENGTH)
                return -1;
        if (sscanf(text, "%16" SCNx64 "%16" SCNx64, &ret->time_ms, &row) != 2)
                return -1;
        if (ret->time_ms > INT64_MAX || row > INT64_MAX)
                return -1;

        ret->row = (int64_t)row;
        return 0;
}

int pagination_parse_times(const Target *target, Response *response, uint64_t *ret_since_ms, uint64_t *ret_until_ms) {
        int r;

        r = exchange_parameter_u64(target, response, "since_ms", 0, INT64_MAX, 0, ret_since_ms);
        if (r > 0)
                return r;

        return exchange_parameter_u64(target, response, "until_ms", 0, INT64_MAX, 0, ret_until_ms);
}

int pagination_parse(const Target *target, Response *response, Pagination *ret) {
        const char *token = exchange_parameter(target, "page");
        Pagination page = {};
        int r;

        r = pagination_parse_times(target, response, &page.since_ms, &page.until_ms);
        if (r > 0)
                return r;

        r = exchange_parameter_u64(target, response, "limit", 1, PAGINATION_ROWS_MAX, PAGINATION_ROWS_DEFAULT,
                                   &page.limit);
        if (r > 0)
                return r;

        if (token && token_parse(token, &page.before) < 0)
                return exchange_error(response, 400,
                                      "query parameter 'page' must be the value of 'next' in the previous page, not "
                                      "'%s'", token);

        *ret = page;
        return 0;
}

bool pagination_admit(Pagination *page, const Buffer *body, PageKey key) {
        assert(page->n_rows <= page->limit && !page->has_more);
        if (page->n_rows == page->limit || (page->n_rows > 0 && body->n >= PAGINATION_BYTES_MAX)) {
                page->has_more = true;
                return false;
        }

        page->n_rows++;
        page->last = key;
        return true;
}

void pagination_begin(Json *json, Buffer *body, const char *key) {
        *json = (Json){ .out = body };
        json_object_begin(json);
        json_put_array_begin(json, key);
}

void pagination_end(const Pagination *page, Json *json) {
        char token[TOKEN_LENGTH + 1];

        assert(!page->has_more || page->n_rows > 0);
        json_array_end(json);
        if (page->has_more)
                (void)snprintf(token, sizeof(token), "%016" PRIx64 "%016" PRIx64, page->last.time_ms,
                               (uint64_t)page->last.row);
        json_put_string(json, "next", page->has_more ? token : NULL);
        json_object_end(json);
}

/* --- the newest rows ---------------------------------------------------------------------------------- */

void pagination_init_latest(LatestRows *latest, size_t n_max) {
        assert(n_max > 0 && n_max <= LATEST_ROWS_MAX);
        latest->n = 0;
        latest->n_max = n_max;
}

static bool is_older(PageKey a, PageKey b) {
        return a.time_ms != b.time_ms ? a.time_ms < b.time_ms : a.row < b.row;
}

bool pagination_add_latest(LatestRows *latest, PageKey key) {
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
