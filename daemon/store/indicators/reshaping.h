/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reshaping: gives each indicator the shape of the model that applies to its results
 *
 * A name may have very many indicators. A change of models reaches some of them at once, the others in steps between batches; the table
 * `reshaping` has how far each name is done. Queries meanwhile read the points of the former shape, or look results up in their documents:
 * both have the same values. A new result gives its indicator the new shape itself.
 */

#include <stdbool.h>
#include <stddef.h>

#include "store/database.h"
#include "store/pack.h"
#include "store/store_subject.h"

/*
 * Gives the indicators of a name (NULL: of all names) their shapes, now or later. *n_now: the number that may be read now, which is
 * decremented. 0 or an outcome of database.h, as below.
 */
int reshaping_begin(Database *database, const Field *name, size_t *n_now);
/* Checks whether indicators remain to be read. */
int reshaping_find(Database *database, bool *ret_has_work);
/* Reads the next of them, of the name that waits longest. */
int reshaping_step(Database *database);

extern const StoreTable reshaping_table;
