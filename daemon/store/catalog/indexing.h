/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Indexing: stores points of results that were stored before their model
 *
 * A step takes some results of one name, from the newest downwards, when no other rows wait: the work is that of this name, however
 * many results there are of others. The table `indexing` has how far the name is done; queries look results up in their documents until
 * the last one has its point. A change of what is to be indexed begins the name again.
 */

#include <stdbool.h>

#include "store/catalog/catalog.h"
#include "store/database/database.h"

/* Checks whether results remain to be indexed. 0 or an outcome of database.h, as below. */
int indexing_find(Database *database, bool *ret_has_work);
/* Indexes a stored result that has no series. n_new_max: as for series_find(). */
int indexing_index_row(Database *database, Catalog *catalog, int64_t row, int64_t *n_new_max);
/* Indexes some rows, inside a transaction, which must be rolled back after an outcome. */
int indexing_step(Database *database, Catalog *catalog, bool *ret_has_more);
