/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Store subject: the data that the store keeps about one subject (jobs, indicators, the node)
 *
 * A subject is a folder with its tables, their statements, the row sets that change them and the readers that query
 * them. One row of type StoreSubject describes the subject for shared code; subjects/store_subjects.c lists the
 * subjects, and no other shared file names one.
 */

#include <stdbool.h>

#include "store/database/statement.h"
#include "store/table/rowset.h"
#include "store/table/store_types.h"

/* --- what of a table belongs to a user and is removed on the order of an administrator (retention/erasure.h) --- */

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

/* --- rows of a table when they are copied from a damaged file ------------------------------------------ */

/* A column that gets another value than in the damaged file. */
typedef struct SalvagedValue {
        const char *column, *sql;
} SalvagedValue;

/* The SQL is about the row `old` of the damaged file. Rows that are there already are not stored again. */
typedef struct TableSalvage {
        bool is_first;               /* copied before other rows are stored, because other rows refer to it */
        /* of another table, or NULL: condition of rows that are copied then, too, without `values` */
        const char *needed;
        const char *condition;       /* or NULL: which rows may be stored */
        const SalvagedValue *values; /* or NULL: an array that ends with {} */
        /* or NULL: values that indexes lack, of a row of which only these are left; else "", 0 or null */
        const SalvagedValue *restored;
        /* condition by which such a row is known; the first column of the table is `row` */
        const char *is_restored;
        /* They run for each row, whose columns are ?1, ?2 and so on: before it is stored, and after a row that was
         * new; after: an array that ends with {}. finish: after the rows that are copied first. Or NULL. */
        const Statement *before, *after, *finish;
} TableSalvage;

/* --- tables and subjects ------------------------------------------------------------------------------ */

typedef struct Database Database;

#define TABLE_CHECKS_MAX 6

/* A table of the database. */
typedef struct StoreTable {
        const char *name;
        const char *schema; /* creates the table, its indexes and triggers */
        /* Queries of one number that read first or last entries when the database is opened; a damaged table fails
         * them. */
        const char *checks[TABLE_CHECKS_MAX];
        const struct TableRetention *retention; /* NULL: rows are removed with the rows of another table, or never */
        const TableSalvage *salvage; /* NULL: rebuilt from the rows of other tables */
        const TableErasure *erasure; /* never NULL: what belongs to users */
} StoreTable;

#define STORE_TABLES(...) (const StoreTable *const[]){ __VA_ARGS__, NULL }

/* A member that is not needed is NULL. Functions of int return 0, -ENOMEM or an outcome of database.h: the
 * transaction is rolled back. */
typedef struct StoreSubject {
        const StoreTable *const *tables; /* STORE_TABLES() */

        /* State that the writer keeps for the subject. */
        int (*new_state)(void **ret, struct Shares *shares);
        void (*free_state)(void *state);
        void (*forget)(void *state); /* after a rollback, or when rows were removed */
        /* Before a commit. *ret_has_work becomes true after rows that require work. */
        int (*flush)(void *state, Database *database, bool *ret_has_work);

        /* Called when a set was applied, in the same transaction; adds the sets that it derives from this one to
         * set->derived. */
        int (*follow)(void *state, Database *database, RowSet *set);

        /* Inside a transaction: removes the stored parts of sets that are not complete. is_late: the database is
         * opened late, and running jobs of the former perfd were not resumed. */
        int (*mend)(Database *database, bool is_late);

        /* Work on stored rows, in steps between batches, also after rows were removed. */
        int (*find_work)(Database *database, bool *ret_has_work);
        int (*work)(void *state, Database *database, bool *ret_has_more); /* one step, inside a transaction */
} StoreSubject;

/* All subjects, which end with NULL. Defined in store/subjects/, so that store/ does not include the folders of its
 * subjects. */
extern const StoreSubject *const store_subject_list[];
