/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Store subject: the data that the store keeps about one subject (jobs, indicators, the node)
 *
 * A subject is a folder with its tables, their statements, the row sets that change them and the readers that query them. One
 * row of type StoreSubject describes the subject for shared code; subjects/store_subjects.c lists the subjects, and no other shared file
 * names one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/table/rowset.h"
#include "store/database/statement.h"
#include "store/table/store_types.h"

typedef struct Database Database;
typedef struct Leftover Leftover;

#define TABLE_CHECKS_MAX 6

/* A table of the database. */
typedef struct StoreTable {
        const char *name;
        const char *schema; /* creates the table, its indexes and triggers */
        /* Queries of one number that read first or last entries when the database is opened; a damaged table fails them. */
        const char *checks[TABLE_CHECKS_MAX];

        /* Retention; NULL and 0 for a table whose rows are removed with the rows of another table, or never. */
        unsigned removal_order;   /* tables of a lower order lose their rows first when space is needed; each table has its own */
        size_t keep;              /* offset in StoreConfig of how long rows are kept, in ns; 0 if expire is NULL */
        const Statement *remove;  /* removes the oldest rows, ?1 at most; never NULL with a removal_order */
        const Statement *remove_of_user; /* or NULL: as above, for rows of user ?2 only */
        const Statement *expire;  /* or NULL: as above, for rows from before ?2 only, in ms */
        const char *newest;       /* query of the time of the newest row by perfd's clock, in ms; NULL: clients provide the time */
        int (*run)(Database *database, Prepared *removal, int64_t *ret_n); /* runs one of them, and counts the removed rows */
        const Leftover *leftover; /* or NULL, instead of run: the rows note removed rows, whose rows in other tables are removed in steps */
        int (*tidy)(Database *database); /* or NULL: runs after the last of several removals */

        const struct TableSalvage *salvage; /* NULL: rebuilt from the rows of other tables */
} StoreTable;

typedef struct StoreSubject {
        const char *name;
        const StoreTable *const *tables;          /* ends with NULL */

        /* State that the writer keeps for the subject; NULL: none. new_state: 0 or -ENOMEM. */
        int (*new_state)(void **ret, struct Shares *shares);
        void (*free_state)(void *state);
        void (*forget)(void *state);                    /* after a rollback, or when rows were removed */
        int (*flush)(void *state, Database *database);  /* before a commit */

        /* Or NULL. Called when a set was applied, in the same transaction; adds the sets that it derives from this one to set->derived. */
        int (*follow)(void *state, Database *database, RowSet *set);

        /* Or NULL. Removes the stored parts of sets that are not complete; called inside a transaction. */
        int (*undo)(Database *database);

        /* Or NULL. Called when the database is opened late: running jobs of the former perfd were not resumed. */
        int (*interrupt)(Database *database);

        /* Work on stored rows, in steps between batches, also after rows were removed; or NULL. */
        bool (*take_work)(void *state);                                          /* true once after rows that require work */
        int (*find_work)(Database *database, bool *ret_has_work);
        int (*work)(void *state, Database *database, bool *ret_has_more);        /* one step, inside a transaction */
} StoreSubject;

/* All subjects, which end with NULL. Defined in store/subjects/, so that store/ does not include the folders of its subjects. */
extern const StoreSubject *const store_subject_list[];
