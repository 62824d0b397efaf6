/* SPDX-License-Identifier: Apache-2.0 */
#include "store/table/rowset.h"

#include <assert.h>
#include <stdlib.h>

void rowset_begin(Buffer *buffer, const Field *fields, size_t n_fields) {
        buffer_put(buffer, &(RowSet){}, sizeof(RowSet));
        pack_fields(buffer, fields, n_fields);
}

RowSet *rowset_finish(Buffer *buffer, const RowKind *kind, size_t n_rows, StoreCookie cookie) {
        size_t n_bytes = buffer->n;
        RowSet *set;
        void *fitting;

        assert(kind && !kind->apply != !kind->statement);
        assert(buffer->failed || n_bytes >= sizeof(RowSet));

        /* The buffer's text comes from malloc() and is aligned for any type. */
        set = (RowSet *)(void *)buffer_take(buffer);
        if (!set)
                return NULL;

        /* Up to half of the buffer is room to grow, which the queue would not count. */
        fitting = realloc(set, n_bytes);
        if (fitting)
                set = fitting;

        *set = (RowSet){
                .cookie = cookie,
                .kind = kind,
                .n_rows = n_rows,
                .n_bytes = n_bytes,
        };
        return set;
}

RowSet *rowset_pack(const RowKind *kind, StoreCookie cookie, const Field *fields, size_t n_fields) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, fields, n_fields);
        return rowset_finish(&buffer, kind, 1, cookie);
}

size_t rowset_part_end(const RowSet *set) {
        const RowPart *part = &set->part;

        return part->is_limited && set->n_rows - part->n_done > ROWSET_SMALL_ROWS_MAX
                       ? part->n_done + ROWSET_SMALL_ROWS_MAX
                       : set->n_rows;
}

RowSet *rowset_free(RowSet *sets) {
        while (sets) {
                RowSet *next = sets->next;

                rowset_free(sets->derived);
                free(sets);
                sets = next;
        }
        return NULL;
}

bool rowset_is_small(size_t n_rows, size_t n_bytes) {
        return n_rows <= ROWSET_SMALL_ROWS_MAX && n_bytes <= ROWSET_SMALL_BYTES_MAX;
}
