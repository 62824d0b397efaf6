/* SPDX-License-Identifier: Apache-2.0 */
#include "store/rowset.h"

#include <errno.h>
#include <stdlib.h>

void rowset_begin(Buffer *buffer) {
        buffer_put(buffer, &(RowSet){}, sizeof(RowSet));
}

int rowset_finish(Buffer *buffer, RowKind kind, size_t n_rows, StoreCookie cookie, RowSet **ret) {
        size_t n_bytes = buffer->n;
        RowSet *set;
        void *fitting;

        /* The buffer's text comes from malloc(), so it is aligned for any type. */
        set = (RowSet *)(void *)buffer_take(buffer);
        if (!set)
                return -ENOMEM;

        /* Up to half of it is room to grow, which would wait in the queue uncounted. */
        fitting = realloc(set, n_bytes);
        if (fitting)
                set = fitting;

        *set = (RowSet){
                .cookie = cookie,
                .kind = kind,
                .n_rows = n_rows,
                .n_bytes = n_bytes,
        };
        *ret = set;
        return 0;
}

RowSet *rowset_free(RowSet *sets) {
        while (sets) {
                RowSet *next = sets->next;

                free(sets);
                sets = next;
        }
        return NULL;
}
