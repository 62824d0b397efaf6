/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node's history: row-sets, and from there to the table. */

#include "store/database.h"
#include "store/rowset.h"

/* 0 or -ENOMEM. */
int sample_rows_pack(uint64_t begin_ms, uint64_t interval_ms, const char *timeline, RowSet **ret);
/* Inside a transaction. Sets set->outcome. 0 or an outcome of database.h, then the transaction is to be rolled back. */
int sample_rows_apply(RowSet *set, Database *database);
