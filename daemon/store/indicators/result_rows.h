/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Results: from submissions to a row-set, and from there to the table. */

#include "request/request.h"
#include "store/database.h"
#include "store/indicators/catalog.h"
#include "store/rowset.h"

/* Copies everything, documents as JSON text. 0 or -ENOMEM. */
int result_rows_pack(const Submission *items, size_t n_items, const Peer *sender, uint64_t arrived_ms, StoreCookie cookie,
                     RowSet **ret);
/* Inside a transaction. Sets set->outcome. 0 or an outcome of database.h, then the transaction is to be rolled back. */
int result_rows_apply(RowSet *set, Database *database, Catalog *catalog);

/* Once applied: a bit for each row, as in StoreDone. NULL: it has no results. Borrowed. */
const uint8_t *result_rows_old(const RowSet *set);
