/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Indexing: stores points of results that were stored before their model
 *
 * A step takes some results of one name, from the newest downwards, when no other rows wait: the work is that of
 * this name, however many results there are of others. The table `indexing` has how far the name is done; queries
 * look results up in their documents until the last one has its point. A change of what is to be indexed begins the
 * name again.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/indicator_model.h"
#include "store/catalog/catalog.h"
#include "store/database/database.h"
#include "store/database/pack.h"
#include "store/table/store_subject.h"

/*
 * Shapes: each indicator gets the shape of the model that applies to its results
 *
 * A name may have very many indicators. A change of models reaches some of them at once, the others in steps between
 * batches; the table `shape_update` has how far each name is done. Queries meanwhile read the points of the former
 * shape, or look results up in their documents: both have the same values. A new result gives its indicator the new
 * shape itself.
 */
extern const StoreTable indexing_shapes_table;

/*
 * SQL that selects the shape of the results of one user, an expression, whose name and component are n.text and
 * c.text. A model of the name precedes one of any name, one of the component one of any component, a declared model
 * the others, and a model of all users that of the user.
 */
#define MODEL_SHAPE(uid)                                                                                               \
        "SELECT m.shape FROM model AS m WHERE m.name IN (n.text, '" MODEL_ANY_NAME "')"                                \
        " AND (m.component IS NULL OR m.component = c.text) AND m.owner IN (-1, " uid ")"                              \
        " ORDER BY m.name = '" MODEL_ANY_NAME "', m.component IS NULL, m.is_declared DESC, m.owner LIMIT 1"

/*
 * Gives the indicators of a name (NULL: of all names) their shapes, now or later. *n_now: number of indicators that
 * may be updated at once, which is decremented. 0 or an outcome of database.h, as below.
 */
int indexing_update_shapes(Database *database, const Field *name, size_t *n_now);
/* Checks whether results remain to be indexed. 0 or an outcome of database.h, as below. */
int indexing_find(Database *database, bool *ret_has_work);
/* Indexes a stored result, again if its content or stack has changed. n_new_max: as for catalog_find_series(). */
int indexing_index_row(Database *database, Catalog *catalog, int64_t row, int64_t *n_new_max);
/* Indexes some rows, inside a transaction, which must be rolled back after an outcome. */
int indexing_step(Database *database, Catalog *catalog, bool *ret_has_more);
