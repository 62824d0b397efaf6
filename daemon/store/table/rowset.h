/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Row set: rows that are stored together or not at all
 *
 * One allocation: this header, then the packed fields. A set travels from the caller's thread through the queue to
 * the writer, and back as the completion.
 */

#include <stdbool.h>
#include <stddef.h>

#include "store/database/pack.h"
#include "store/table/store_types.h"
#include "util/buffer.h"
#include "util/scoped.h"

struct Database;

/*
 * A part of a large set. While other users store rows, their sets are stored between the parts of a large one, each
 * part in a transaction of its own. The kind notes in the database that the set is not complete, so that the parts
 * can be removed after a failure or a crash; or the parts may stay, because rows that are sent again are not stored
 * again.
 */
typedef struct RowPart {
        size_t n_done, offset;    /* rows that earlier transactions stored, and where the next row begins; 0: none */
        size_t n_end, offset_end; /* set by the kind: reached in this transaction */
        /* ends after ROWSET_SMALL_ROWS_MAX rows, or the row that reaches ROWSET_SMALL_BYTES_MAX */
        bool is_limited;
} RowPart;

/* Function of the writer for a row set. Each subject's file has a row of this type for each kind of row set that the
 * file packs. */
typedef struct RowKind {
        const struct StoreSubject *subject;
        /* Runs inside a transaction, possibly more than once for the same set, and sets set->outcome. state: state
         * of the subject in the writer. 0, or an outcome of database.h: the transaction must be rolled back. */
        int (*apply)(RowSet *set, struct Database *database, void *state);
        const struct Statement *statement; /* instead of apply: its values are the fields of the set */
        bool needs_change;                 /* the outcome is STORE_MISSING if the statement changes no row */
        /* apply() stores the rows of set->part, and sets its end; the outcome applies to the rows up to this end */
        bool has_parts;
        /* no row of another user depends on this set: small sets of others may be stored before a large one */
        bool may_wait;
} RowKind;

struct RowSet {
        RowSet *next; /* owned by the holder of the list */
        StoreCookie cookie;
        StoreOutcome outcome; /* set by the writer */
        const RowKind *kind;  /* never NULL */
        RowPart part;    /* unused by kinds without parts */
        bool is_refused; /* set by the writer: storing the set again would fail again */
        size_t n_rows;
        size_t n_bytes; /* size of the whole allocation */
        RowSet *derived;   /* owned list; sets that another subject derived from this one, in the same transaction */
};

/* Begins a set in an empty buffer with its first fields; more fields are packed behind them. */
void rowset_begin(Buffer *buffer, const Field *fields, size_t n_fields);
/* Moves the set out of the buffer. Caller frees; NULL: out of memory, also while packing. */
RowSet *rowset_finish(Buffer *buffer, const RowKind *kind, size_t n_rows, StoreCookie cookie);
/* Makes a set of these fields, one row. NULL: out of memory. */
RowSet *rowset_pack(const RowKind *kind, StoreCookie cookie, const Field *fields, size_t n_fields);
/* Frees the whole list. */
RowSet *rowset_free(RowSet *sets);
DEFINE_SCOPED(RowSet, rowset_free);
/* Returns the end of the rows that the transaction may reach. */
size_t rowset_part_end(const RowSet *set);

/* Sets beyond these sizes are large. */
#define ROWSET_SMALL_ROWS_MAX 64U
#define ROWSET_SMALL_BYTES_MAX (128U * 1024U)
bool rowset_is_small(size_t n_rows, size_t n_bytes);

static inline bool rowset_is_awaited(const RowSet *set) {
        return set->cookie.kind;
}

static inline Unpack rowset_unpack(const RowSet *set) {
        return (Unpack){ (const char *)(set + 1), (const char *)set + set->n_bytes };
}
