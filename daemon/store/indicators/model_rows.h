/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Model rows: row sets of models, by which results are indexed
 *
 * If the indexed parameters or typed results of a model change, the stored results of its name and component are
 * indexed again, a bounded number of rows at a time between other row sets. If the model names no component, these
 * are the results of all components without another model.
 *
 * Each packer copies everything and returns a row set for store_put(); NULL: out of memory.
 */

#include "document/indicator_model.h"
#include "store/table/rowset.h"
#include "store/table/store_types.h"

/* Models that were registered together. */
typedef struct StoreModels {
        const IndicatorModel *const *models;
        size_t n_models;
        uint32_t uid; /* of the sender */
        bool by_admin; /* the models apply to the results of all users, not only to those of the sender */
} StoreModels;

/*
 * Stores registered models with their documents, as JSON, all or none; each replaces the one with the same name,
 * component and owner.
 */
RowSet *model_rows_pack(const StoreModels *models, uint64_t realtime_ms, StoreCookie cookie);
/* Removes a registered model. component: NULL for the model without a component. owner: the user to whose results
 * alone the model applies, or MODEL_ROWS_OF_ALL. Results stay indexed until another model applies. */
#define MODEL_ROWS_OF_ALL INT64_C(-1)
RowSet *model_rows_pack_removal(const char *name, const char *component, int64_t owner, StoreCookie cookie);
/* Replaces all models that are declared in files, which perfd reads at each start. */
RowSet *model_rows_pack_declared(const IndicatorModel *const *models, size_t n_models, uint64_t realtime_ms);
