/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Leftover: removes the rows that belonged to a removed row, in steps
 *
 * A row may have very many rows in other tables. Its removal notes its number in a table; the rows are removed in steps between batches,
 * or before any other row when space is needed. No other row gets the number of a removed row.
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/database/database.h"
#include "store/table/store_subject.h"

typedef struct Leftover {
        const Statement *step;            /* a noted number, and how many of its rows a step removes */
        const Statement *const *removals; /* remove up to ?2 rows of the number ?1, in this order; ends with NULL */
        const Statement *done;            /* removes the note of the number ?1 */
} Leftover;

/*
 * Defines the StoreTable name_table, whose column `job` notes the numbers of removed jobs. list: removals of Leftover. A step removes
 * n_step rows; a removal for space removes n_removal rows, an expression of ?1 of retention.
 */
#define LEFTOVER_SELECT(name, n_rows, where) { "SELECT job, " n_rows " FROM " #name where " ORDER BY job LIMIT 1", 2 }
#define DEFINE_LEFTOVER(name_, order, list, n_step, n_removal)                                                             \
        STATEMENT name_##_step = LEFTOVER_SELECT(name_, n_step, "");                                                       \
        STATEMENT name_##_done = { "DELETE FROM " #name_ " WHERE job = ?1", 0 };                                           \
        STATEMENT name_##_remove = LEFTOVER_SELECT(name_, n_removal, "");                                                  \
        /* The rows have no user any more: ?2, the user, is ignored. */                                                    \
        STATEMENT name_##_remove_of_user = LEFTOVER_SELECT(name_, n_removal, " WHERE ?2 IS NOT NULL");                     \
        static const Leftover name_ = { &name_##_step, list, &name_##_done };                                              \
        static const StoreTable name_##_table = {                                                                          \
                .name = #name_,                                                                                            \
                .schema = "CREATE TABLE " #name_ " (job INTEGER PRIMARY KEY) STRICT;",                                     \
                .checks = { "SELECT count(*) FROM (SELECT * FROM " #name_ " LIMIT 1)" },                                   \
                .removal_order = order,                                                                                    \
                .remove = &name_##_remove,                                                                                 \
                .remove_of_user = &name_##_remove_of_user,                                                                 \
                .leftover = &name_,                                                                                        \
        }

/* Removes the rows that a statement of the table selected, and counts them. 0 or an outcome of database.h, as for all functions here. */
int leftover_remove(const Leftover *leftover, Database *database, Prepared *selected, int64_t *ret_n);

/* Checks whether rows remain to be removed for any of the tables, which end with NULL. */
int leftover_find(const StoreTable *const *tables, Database *database, bool *ret_has_work);
/* Removes some rows for each of the tables, inside a transaction. */
int leftover_step(const StoreTable *const *tables, Database *database, bool *ret_has_more);
