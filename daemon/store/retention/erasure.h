/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Erasure: removes what belongs to a user, on the order of an administrator
 *
 * Each table declares what it has of users (StoreTable.erasure). The writer keeps the order, a row set, and removes
 * rows in steps between batches, so that other rows need not wait. Afterwards it rewrites the file and cuts the log:
 * SQLite leaves copies of removed rows in unused parts of pages, also in those that it filled from another page. An
 * order that was interrupted can be given again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/database/database.h"
#include "store/table/store_subject.h"

typedef enum ErasureStage {
        ERASURE_ROWS,
        ERASURE_REWRITE, /* of the file */
        ERASURE_LOG,     /* waits until no query reads the log */
} ErasureStage;

typedef struct Erasure {
        int64_t uid, before_ms; /* before_ms: INT64_MAX: rows of any time */
        bool removes_copies;    /* also of files that were put aside */

        /* The writer sets these. */
        ErasureStage stage;
        size_t table;  /* number of the table whose rows are being removed */
        int64_t row;   /* first number of its next window */
        uint64_t n_rows, log_deadline_ns;

        /* The outcome. */
        char removed[96];  /* "15 of job, 2 of result"; "": nothing */
        char error[120]; /* why not all was done; "": all was */
        size_t n_copies;   /* files beside the database that may have rows of the user */
} Erasure;

/* NULL: out of memory. */
RowSet *erasure_pack(const Erasure *order, StoreCookie cookie);
/* Returns the order in a row set, which the writer changes. Borrowed from the set. */
Erasure *erasure_of(const RowSet *set);
/* Moves the orders out of a list of stored sets, to the end of another list. Returns the others. */
RowSet *erasure_take_orders(RowSet *sets, RowSet **orders);

/* Begins with the first table again, as in a new file. */
void erasure_begin_again(Erasure *erasure);
/* Removes some rows, inside a transaction. 0 or an outcome of database.h. *ret_has_more: more steps are needed. */
int erasure_step(Erasure *erasure, Database *database, bool *ret_has_more);
/* Writes the file anew, without unused parts. directory: of the database. Call outside a transaction. 0 or an outcome
 * of database.h. */
int erasure_rewrite(Database *database, const char *directory);
