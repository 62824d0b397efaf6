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
                pack_fields(buffer, &(Field){}, 1);

        if (usage) {
                begin = pack_text_begin(buffer);
                job_text_write_usage(usage, buffer);
                pack_text_end(buffer, begin);
        } else
                pack_fields(buffer, &(Field){}, 1);
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

        return database_text_id(database, &layout_find, &layout_insert, field_buffer(&keys), ret);
}

static int read_one(Database *database, LayoutKind kind, Field text, Field ret[static 2]) {
        int64_t layout = 0;
        int r;

        r = text.text ? find_layout(database, kind, &layout) : 0;
        ret[0] = field_if(text.text, field_i64(layout));
        ret[1] = text;
        return r;
}

int job_numbers_read(Unpack *from, Database *database, Field ret[static N_NUMBER_FIELDS]) {
        Field metrics = pack_read(from), usage = pack_read(from);
        int r;

        r = read_one(database, LAYOUT_METRICS, metrics, &ret[0]);
        return r != 0 ? r : read_one(database, LAYOUT_USAGE, usage, &ret[2]);
}
