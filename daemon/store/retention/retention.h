/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Retention: removes rows that are too old or take too much space
 *
 * Rows older than their table's limit expire. When the file has reached its maximum size, the oldest rows of a user
 * who exceeds the user's share (holders.h) are removed first, then the oldest rows of all, in the order of the
 * tables. A step removes few rows, so that new rows do not wait long.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shares/shares.h"
#include "store/database/database.h"
#include "store/retention/expiry.h"
#include "store/table/store_subject.h"
#include "store/table/store_types.h"

/* Which rows of a table are removed. */
typedef struct TableRetention {
        /* tables of a lower order lose their rows first when space is needed; each table has its own */
        unsigned order;
        size_t keep;              /* offset in StoreConfig of how long rows are kept, in ns; 0 if expire is NULL */
        /* or 0: rows for each byte of the size limit; the oldest ones beyond are removed as if they were too old */
        double share;
        const Statement *remove;  /* removes the oldest rows, ?1 at most */
        const Statement *remove_of_user; /* or NULL: as above, for rows of user ?2 only */
        const Statement *expire;  /* or NULL: as above, for rows from before ?2 only, in ms */
        /* query of the time of the newest row by perfd's clock, in ms; NULL: clients provide the time */
        const char *newest;
        /* runs one of them, and counts the removed rows */
        int (*run)(Database *database, Prepared *removal, int64_t *ret_n);
        /* or NULL, instead of run: the rows note removed rows, whose other rows are removed in steps */
        const struct Leftover *leftover;
        int (*tidy)(Database *database); /* or NULL: runs after the last of several removals */
} TableRetention;

/* Sizes that follow from the configuration. */
typedef struct Retention {
        StoreConfig config;
        Shares *shares;           /* borrowed; NULL: users have equal shares */
        int64_t n_pages_max;      /* maximum size of the file */
        int n_wal_pages_max;      /* a longer log is due for a checkpoint */
        int n_wal_pages_end;      /* maximum number of pages of the log */
        uint64_t n_wal_bytes_max; /* a longer log is cut when no rows come */
        size_t n_batch_bytes_max; /* maximum size of the rows of one transaction */
        int64_t n_step_rows;      /* rows that the next removal removes at most */
        uint64_t n_removed;       /* removed rows, since start */
        Expiry expiry;
        uint64_t untidy;          /* a bit for each table that lost rows and is to be tidied */
} Retention;

/* Takes new limits and sets those of the connection. 0 or an outcome of database.h, as for all functions here. */
int retention_configure(Retention *retention, Database *database, const StoreConfig *config);

/* Call inside the transaction that is about to add n_bytes: removes rows to make room. */
int retention_make_room(Retention *retention, Database *database, size_t n_bytes);
/* True if n_bytes more would exceed the size limit, as opposed to a full disk. */
bool retention_is_at_limit(Database *database, const Retention *retention, size_t n_bytes);

/* Call outside a transaction: one step of expiring rows and releasing space. *ret_has_more: more steps are needed. */
int retention_step(Retention *retention, Database *database, uint64_t now_realtime_ns, bool *ret_has_more);

/*
 * Leftover: rows that belonged to a removed row, and are removed in steps
 *
 * A row may have very many rows in other tables. Its removal notes its number in a table; the rows are removed in
 * steps between batches, or before any other row when space is needed. No other row gets the number of a removed
 * row.
 */
typedef struct Leftover {
        const Statement *step;            /* a noted number, and how many of its rows a step removes */
        const Statement *const *removals; /* remove up to ?2 rows of the number ?1, in this order; ends with NULL */
        const Statement *done;            /* removes the note of the number ?1 */
} Leftover;

/*
 * Defines the StoreTable name_table, whose column `job` notes the numbers of removed jobs. list: removals of
 * Leftover. A step removes n_step rows; a removal for space removes n_removal rows, an expression of ?1 of
 * retention.
 */
#define LEFTOVER_SELECT(name, n_rows, where) SQL("SELECT job, " n_rows " FROM " #name where " ORDER BY job LIMIT 1", 2)
#define DEFINE_LEFTOVER(name_, order, list, n_step, n_removal)                                                         \
        STATEMENT name_##_step = LEFTOVER_SELECT(name_, n_step, "");                                                   \
        STATEMENT name_##_done = SQL("DELETE FROM " #name_ " WHERE job = ?1", 0);                                      \
        STATEMENT name_##_remove = LEFTOVER_SELECT(name_, n_removal, "");                                              \
        /* The rows have no user any more: ?2, the user, is ignored. */                                                \
        STATEMENT name_##_remove_of_user = LEFTOVER_SELECT(name_, n_removal, " WHERE ?2 IS NOT NULL");                 \
        static const Leftover name_ = { &name_##_step, list, &name_##_done };                                          \
        static const TableRetention name_##_retention = {                                                              \
                order,                                                                                                 \
                .remove = &name_##_remove,                                                                             \
                .remove_of_user = &name_##_remove_of_user,                                                             \
                .leftover = &name_,                                                                                    \
        };                                                                                                             \
        static const StoreTable name_##_table = {                                                                      \
                .name = #name_,                                                                                        \
                .schema = "CREATE TABLE " #name_ " (job INTEGER PRIMARY KEY);",                                 \
                .checks = { "SELECT count(*) FROM (SELECT * FROM " #name_ " LIMIT 1)" },                               \
                .retention = &name_##_retention,                                                                       \
                .erasure = &table_erasure_follows,                                                                     \
        }

/* Removes the rows that a statement of the table selected, and counts them. */
int retention_remove_leftover(const Leftover *leftover, Database *database, Prepared *selected, int64_t *ret_n);

/* Checks whether rows remain to be removed for any of the tables, which end with NULL. */
int retention_find_leftover(const StoreTable *const *tables, Database *database, bool *ret_has_work);
/* Removes some rows for each of the tables, inside a transaction. */
int retention_step_leftover(const StoreTable *const *tables, Database *database, bool *ret_has_more);
