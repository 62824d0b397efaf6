/* SPDX-License-Identifier: Apache-2.0 */
#include "http/selection/result_groups.h"

static int refuse_size(Response *response, int outcome) {
        if (outcome == GROUPING_MANY_GROUPS)
                return exchange_error(response, 413,
                                      "the selected results form more than %u groups; group by fewer fields, "
                                      "or select fewer with where= or component=",
                                      GROUPS_MAX);
        if (outcome == GROUPING_MANY_VALUES)
                return exchange_error(response, 413,
                                      "the selected results have more than %u numbers, the limit of one request; select fewer with "
                                      "where=, component=, since_ms= or until_ms=, or name fewer results",
                                      VALUES_MAX);
        return exchange_store_error(response, outcome);
}

int result_groups_read(const Sources *sources, Response *response, const Selection *selection, const GroupFields *fields,
                       Grouping **ret, uint64_t *ret_n_scanned) {
        scoped(grouping_freep) Grouping *grouping = NULL;
        scoped(points_freep) Points *points = NULL;
        PointFilter filter = selection->filter;
        uint64_t n = 0;
        PointRow row;
        int r, of_group = 0;

        filter.fields = fields->names;
        filter.n_fields = fields->n;
        r = grouping_new(&grouping, selection->filter.n_numbers);
        if (r == 0)
                r = points_new(&points, sources->reader, &filter);
        while (r == 0 && (r = points_next(points, &row)) == 0) {
                of_group = grouping_add(grouping, &row, fields);
                if (of_group != 0)
                        return of_group > 0 ? refuse_size(response, of_group) : exchange_store_error(response, of_group);
                n++;
        }
        if (r != 0 && r != READER_END)
                return exchange_store_error(response, r);

        *ret = TAKE(grouping);
        *ret_n_scanned = n;
        return 0;
}

int result_groups_any(const Sources *sources, Response *response, const PointFilter *filter, bool *ret) {
        scoped(points_freep) Points *points = NULL;
        PointRow row;
        int r;

        r = points_new(&points, sources->reader, filter);
        if (r == 0)
                r = points_next(points, &row);
        if (r != 0 && r != READER_END)
                return exchange_store_error(response, r);

        *ret = r == 0;
        return 0;
}
