/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Models: from declarations to a row-set, and from there to the table and to what results are indexed by. */

#include "store/database.h"
#include "store/indicators/catalog.h"
#include "store/rowset.h"
#include "store/store_types.h"

/* 0 or -ENOMEM. */
int model_pack(const StoreModel *model, uint64_t time_ms, StoreCookie cookie, RowSet **ret);
int model_gone_pack(const char *name, const char *component, StoreCookie cookie, RowSet **ret);
int declared_models_pack(const IndicatorModel *const *models, size_t n_models, uint64_t time_ms, RowSet **ret);
/* Inside a transaction. 0 or an outcome of database.h, then the transaction is to be rolled back. */
int model_rows_apply(RowSet *set, Database *database, Catalog *catalog);
