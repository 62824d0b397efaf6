/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_numbers.h"

#include "store/jobs/job_text.h"

void job_numbers_pack(Buffer *buffer, const MetricSet *metrics, const UsageSet *usage) {
        size_t begin;

        if (metrics) {
                begin = pack_text_begin(buffer);
                metrics_write(metrics, buffer);
                pack_text_end(buffer, begin);
        } else
                pack_text(buffer, NULL);

        if (usage) {
                begin = pack_text_begin(buffer);
                usage_set_write(usage, buffer);
                pack_text_end(buffer, begin);
        } else
                pack_text(buffer, NULL);
}

/* The number of this program's layout. */
static int find_layout(Database *database, LayoutKind kind, int64_t *ret) {
        scoped(buffer_deinit) Buffer keys = {};
        int r;

        layout_write(kind, &keys);
        r = buffer_error(&keys);
        if (r < 0)
                return r;

        return database_number(database, STATEMENT_LAYOUT_FIND, STATEMENT_LAYOUT_INSERT, (Text){ keys.text, (int)keys.n }, ret);
}

static int bind_one(sqlite3_stmt *statement, int i, Database *database, LayoutKind kind, Text text) {
        int64_t layout;
        int r;

        bind_text(statement, i + 1, text);
        if (!text.text) {
                sqlite3_bind_null(statement, i);
                return 0;
        }

        r = find_layout(database, kind, &layout);
        if (r == 0)
                sqlite3_bind_int64(statement, i, layout);
        return r;
}

int job_numbers_bind(Unpack *from, Database *database, Statement which, int i) {
        sqlite3_stmt *statement = database_statement(database, which);
        int r;

        r = bind_one(statement, i, database, LAYOUT_METRICS, unpack_text(from));
        return r != 0 ? r : bind_one(statement, i + 2, database, LAYOUT_USAGE, unpack_text(from));
}
