/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_numbers.h"

#include "store/jobs/job_text.h"

void job_numbers_pack(Buffer *buffer, const MetricSet *metrics, const UsageSet *usage) {
        size_t begin;

        if (metrics) {
                begin = pack_text_begin(buffer);
                job_text_write_metrics(metrics, buffer);
                pack_text_end(buffer, begin);
        } else
                pack_text(buffer, NULL);

        if (usage) {
                begin = pack_text_begin(buffer);
                job_text_write_usage(usage, buffer);
                pack_text_end(buffer, begin);
        } else
                pack_text(buffer, NULL);
}

STATEMENT layout_find = {
        "SELECT id FROM layout WHERE keys = ?1",
        1,
};

STATEMENT layout_insert = {
        "INSERT INTO layout (keys) VALUES (?1) RETURNING id",
        1,
};

/* The id of this program's layout. */
static int find_layout(Database *database, LayoutKind kind, int64_t *ret) {
        scoped(buffer_deinit) Buffer keys = {};
        int r;

        job_text_write_layout(kind, &keys);
        r = buffer_error(&keys);
        if (r < 0)
                return r;

        return database_text_id(database, &layout_find, &layout_insert, (Text){ keys.text, (int)keys.n }, ret);
}

static int bind_one(Prepared *prepared, Database *database, LayoutKind kind, Text text) {
        int64_t layout = 0;
        int r;

        r = text.text ? find_layout(database, kind, &layout) : 0;
        if (r != 0)
                return r;

        if (text.text)
                statement_bind_i64(prepared, layout);
        else
                statement_bind_null(prepared);
        statement_bind_text(prepared, text);
        return 0;
}

int job_numbers_bind(Unpack *from, Database *database, Prepared *prepared) {
        int r;

        r = bind_one(prepared, database, LAYOUT_METRICS, pack_read_text(from));
        return r != 0 ? r : bind_one(prepared, database, LAYOUT_USAGE, pack_read_text(from));
}
