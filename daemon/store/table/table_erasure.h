/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Table erasure: what of a table belongs to a user and is removed on the order of an administrator
 * (retention/erasure.h)
 */

#include "store/database/statement.h"

#define ERASURE_WINDOW 1024 /* numbers of rows of which a step selects some */
#define ERASURE_WINDOW_END "?3 + 1023"
_Static_assert(ERASURE_WINDOW == 1024, "ERASURE_WINDOW_END is the end of a window");

/* The statements for a table that have the user as ?1 or ?2. */
typedef struct TableErasure {
        const Statement *next; /* or NULL: number of the user's first row from ?2 on, of user ?1; 0: none */
        /* removals for TableRetention.run: at most ?1 rows of user ?2, from ?3 to ERASURE_WINDOW_END, of before ?4 in
         * ms; not those that are still needed */
        const Statement *select;
        /* or NULL: an array that ends with {}, which runs after the rows of all tables were removed, unless only rows
         * from before a time are */
        const Statement *last;
} TableErasure;

/* The table has nothing that a user gave. */
extern const TableErasure table_erasure_none;
/* The rows go with rows of other tables that refer to them, in a trigger or in TableRetention.tidy. */
extern const TableErasure table_erasure_follows;

/* Moves what user ?1 was charged for shared rows of a table to root. */
#define ERASURE_DISOWN(table, size)                                                                                   \
        SQL("INSERT INTO holder (uid, n_bytes) SELECT 0, ifnull(sum(" size "), 0) FROM " table " WHERE uid = ?1"      \
            " ON CONFLICT (uid) DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes", 0),                              \
        SQL("UPDATE holder SET n_bytes = n_bytes - (SELECT ifnull(sum(" size "), 0) FROM " table " WHERE uid = ?1)"   \
            " WHERE uid = ?1", 0),                                                                                    \
        SQL("UPDATE " table " SET uid = 0 WHERE uid = ?1", 0)
