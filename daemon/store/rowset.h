/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * RowSet: rows that are stored together or not at all
 *
 * One allocation: this header, then the packed fields. It travels from the caller's
 * thread through the queue to the writer, and back as the completion.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/pack.h"
#include "store/store_types.h"
#include "util/buffer.h"
#include "util/scoped.h"

typedef enum RowKind {
        ROW_RESULTS,
        ROW_JOB_BEGIN,
        ROW_JOB_END,
        ROW_JOB_AMEND,
        ROW_JOB_LEARNED,
        ROW_PHASE,
        ROW_CHECKPOINTS,
        ROW_NODE_SAMPLE,
        ROW_MODEL,
        ROW_MODEL_GONE,
        ROW_DECLARED_MODELS,
} RowKind;

typedef struct RowSet RowSet;
struct RowSet {
        RowSet *next; /* owned by whoever holds the list */
        StoreCookie cookie;
        StoreOutcome outcome; /* set by the writer */
        RowKind kind;
        bool is_refused; /* by the writer: it would fail again */
        size_t n_rows;
        size_t n_new;   /* of the rows, not there before; set by the writer */
        bool has_left_job; /* as StoreDone's; set by the writer */
        size_t n_bytes; /* of the whole allocation */
};

/* Starts a row-set in an empty buffer; the fields are packed behind it. */
void rowset_begin(Buffer *buffer);
/* Moves it out of the buffer. 0 or -ENOMEM, also when packing ran out of memory. */
int rowset_finish(Buffer *buffer, RowKind kind, size_t n_rows, StoreCookie cookie, RowSet **ret);
/* Frees the whole list. */
RowSet *rowset_free(RowSet *sets);
DEFINE_SCOPED(RowSet, rowset_free);

static inline bool rowset_is_awaited(const RowSet *set) {
        return set->cookie.kind;
}

static inline Unpack rowset_unpack(const RowSet *set) {
        return (Unpack){ (const char *)(set + 1), (const char *)set + set->n_bytes };
}
