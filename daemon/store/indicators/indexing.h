/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Indexing: results that were stored before their model was known get their points
 *
 * From the newest down, some rows at a time when nothing else is to be written. How far it got is in the database.
 */

#include <stdbool.h>

#include "store/database.h"
#include "store/indicators/catalog.h"

/* Inside a transaction. 0 or an outcome of database.h, then the transaction is to be rolled back. */
int indexing_step(Database *database, Catalog *catalog, bool *ret_has_more);
