/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stored models: reads the registered models at start. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/scoped.h"

typedef struct StoredModel {
        char *document; /* owned; JSON, as json_raw() takes it */
        uint32_t uid;
        bool by_admin;
} StoredModel;

struct WalBarrier;

typedef struct StoredModels {
        StoredModel *items; /* owned */
        size_t n;
} StoredModels;

/* Reads the models in the order of their registration. path: store_path(), or NULL for a store without a database. barrier:
 * store_wal_barrier(), or NULL for a file that nobody writes. Caller frees. 0 or a negative errno. */
int stored_models_read(const char *path, struct WalBarrier *barrier, StoredModels **ret);
StoredModels *stored_models_free(StoredModels *models);
DEFINE_SCOPED(StoredModels, stored_models_free);
