/* SPDX-License-Identifier: Apache-2.0 */
#include "store/read/page.h"

#include "store/read/read_connection.h"

/* `until` is a key, too: the key before all rows of that time. */
void page_put_fields(uint64_t since_ms, uint64_t until_ms, const PageKey *before, Field *ret) {
        uint64_t time_ms = INT64_MAX;
        int64_t row = INT64_MAX;

        if (before->time_ms != 0 || before->row != 0) {
                time_ms = before->time_ms;
                row = before->row;
        }
        if (until_ms != 0 && until_ms <= time_ms) {
                time_ms = until_ms;
                row = INT64_MIN;
        }

        ret[0] = field_u64(since_ms);
        ret[1] = field_u64(time_ms);
        ret[2] = field_i64(row);
}

int page_begin(ReadConnection *connection, const Statement *lists, const PageFilter *filter) {
        Field fields[6];
        size_t n = 3, which = 0;

        page_put_fields(filter->since_ms, filter->until_ms, &filter->before, fields);
        for (size_t i = 0; i < N_ELEMENTS(filter->texts); i++)
                if (filter->texts[i]) {
                        which |= 1U << i;
                        fields[n++] = field_string(filter->texts[i]);
                }
        return read_connection_begin(connection, &lists[which], fields, n);
}
