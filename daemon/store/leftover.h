/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Leftover: removes the rows that belonged to a removed row, in steps
 *
 * A row may have very many rows in other tables. Its removal notes its number in a table; the rows are removed in steps between batches,
 * or before any other row when space is needed. No other row gets the number of a removed row.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/database.h"

typedef struct Leftover {
        const Statement *first; /* a noted number, or 0: none */
        const Statement *work;  /* a noted number and how many rows a step removes, as the columns of leftover_run() */
        /* Remove up to ?2 rows of the number ?1, in this order; the last removes the note. */
        const Statement *const *removals;
        size_t n_removals;
} Leftover;

/* Checks whether rows remain to be removed. 0 or an outcome of database.h, as the next. */
int leftover_find(const Leftover *leftover, Database *database, bool *ret_has_work);
/* Removes some rows, inside a transaction. */
int leftover_step(const Leftover *leftover, Database *database, bool *ret_has_more);

/* Removes rows of the number at which the statement is, if there is one, and as many as its next column says at most. Counts them. */
enum { LEFTOVER_NUMBER, LEFTOVER_ROWS, N_LEFTOVER_COLUMNS };
int leftover_run(const Leftover *leftover, Database *database, Prepared *noted, int64_t *ret_n);
