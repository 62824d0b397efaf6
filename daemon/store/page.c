/* SPDX-License-Identifier: Apache-2.0 */
#include "store/page.h"

#include "store/statement.h"

/* `until` is a key as well: the one before all rows of that time. */
void page_bind(Prepared *prepared, uint64_t since_ms, uint64_t until_ms, const PageKey *before) {
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

        statement_bind_u64(prepared, since_ms);
        statement_bind_u64(prepared, time_ms);
        statement_bind_i64(prepared, row);
}
