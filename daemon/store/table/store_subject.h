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

#include "store/table/rowset.h"
#include "store/database/statement.h"
#include "store/table/store_types.h"

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
        const struct TableSalvage *salvage;     /* NULL: rebuilt from the rows of other tables */
        const struct TableErasure *erasure;     /* never NULL: what belongs to users (table_erasure.h) */
} StoreTable;

/* A member that is not needed is NULL. Functions of int return 0, -ENOMEM or an outcome of database.h: the
 * transaction is rolled back. */
typedef struct StoreSubject {
        const StoreTable *const *tables; /* ends with NULL */

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
