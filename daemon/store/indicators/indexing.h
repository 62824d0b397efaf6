/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Indexing: stores points of results that were stored before their model
 *
 * A step takes some rows, from the newest downwards, when no other rows wait. The database has how far each indicator is indexed.
 */

#include <stdbool.h>

#include "store/database.h"
#include "store/indicators/catalog.h"

/* Whether any results are to be indexed. 0 or an outcome of database.h, as both. */
int indexing_find(Database *database, bool *ret_has_work);
/* Inside a transaction, which is to be rolled back after an outcome. */
int indexing_step(Database *database, Catalog *catalog, bool *ret_has_more);
