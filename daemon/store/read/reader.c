/* SPDX-License-Identifier: Apache-2.0 */
#include "store/read/reader.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/read/read_connection.h"

struct Reader {
        ReadConnection connection;
        const ReaderState *kind; /* NULL: there is no state yet */
        void *state;             /* owned */
};

int reader_new(Reader **ret, const char *path, WalBarrier *barrier, uint64_t timeout_ns) {
        scoped(reader_freep) Reader *reader = calloc(1, sizeof(*reader));
        int r;

        if (!reader)
                return -ENOMEM;

        r = read_connection_init(&reader->connection, path, barrier, timeout_ns);
        if (r < 0)
                return r;

        *ret = TAKE(reader);
        return 0;
}

Reader *reader_free(Reader *reader) {
        if (!reader)
                return NULL;

        read_connection_deinit(&reader->connection);
        if (reader->state)
                reader->kind->deinit(reader->state);
        free(reader->state);
        free(reader);
        return NULL;
}

void reader_hide_others(Reader *reader, bool is_hiding, int64_t uid) {
        reader->connection.visible = (VisibleRows){ .is_hiding = is_hiding, .uid = uid };
}

void reader_reset(Reader *reader) {
        read_connection_end(&reader->connection);
}

void reader_note_damaged_text(Reader *reader) {
        if (reader->connection.barrier)
                wal_barrier_note_text(reader->connection.barrier);
}

int reader_next(Reader *reader, void *ret, size_t n_ret) {
        return read_connection_next(&reader->connection, ret, n_ret);
}

ReadConnection *reader_connection(Reader *reader) {
        return &reader->connection;
}

void *reader_state(Reader *reader, const ReaderState *kind) {
        assert(!reader->kind || reader->kind == kind);
        reader->kind = kind;
        if (!reader->state)
                reader->state = calloc(1, kind->size);
        return reader->state;
}

/* --- pages --------------------------------------------------------------------------------------- */

/* `until` is a key, too: the key before all rows of that time. */
void reader_put_page_fields(uint64_t since_ms, uint64_t until_ms, const PageKey *before, Field *ret) {
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

int reader_begin_page(Reader *reader, const Statement *lists, const PageFilter *filter) {
        Field fields[6];
        size_t n = 3, which = 0;

        reader_put_page_fields(filter->since_ms, filter->until_ms, &filter->before, fields);
        for (size_t i = 0; i < N_ELEMENTS(filter->texts); i++)
                if (filter->texts[i]) {
                        which |= 1U << i;
                        fields[n++] = field_string(filter->texts[i]);
                }
        return read_connection_begin(&reader->connection, &lists[which], fields, n);
}
