/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/stored_models.h"

#include <errno.h>
#include <stdlib.h>

#include "store/read/read_connection.h"
#include "util/array.h"

#define ATTEMPTS 3

enum { MODEL_DOCUMENT, MODEL_UID, MODEL_BY_ADMIN, N_MODEL_COLUMNS };

STATEMENT registered_models = {
        "SELECT document, uid, by_admin FROM model WHERE NOT is_declared ORDER BY row", N_MODEL_COLUMNS,
};

static int add_model(const Prepared *row, StoredModels *models) {
        if (ARRAY_EXTEND(models->items, models->n) < 0)
                return -ENOMEM;

        models->items[models->n] = (StoredModel){
                .uid = (uint32_t)column_i64(row, MODEL_UID),
                .by_admin = column_i64(row, MODEL_BY_ADMIN),
        };
        models->n++;
        return statement_column_copy(row, MODEL_DOCUMENT, &models->items[models->n - 1].document);
}

static int read_models(const char *path, WalBarrier *barrier, StoredModels *models) {
        scoped(read_connection_deinit) ReadConnection connection;
        const Prepared *row;
        int r;

        r = read_connection_init(&connection, path, barrier, UINT64_MAX);
        if (r == 0)
                r = read_connection_begin(&connection, &registered_models, NULL, 0);
        while (r == 0 && (r = read_connection_step(&connection, &row)) == 0)
                r = add_model(row, models);
        return r == READER_END ? 0 : r > 0 ? -EIO : r;
}

static int read_once(const char *path, WalBarrier *barrier, StoredModels **ret) {
        scoped(stored_models_freep) StoredModels *models = calloc(1, sizeof(*models));
        int r;

        if (!models)
                return -ENOMEM;

        r = path ? read_models(path, barrier, models) : 0;
        if (r < 0)
                return r;

        *ret = TAKE(models);
        return 0;
}

/* Damage that is found here makes the writer replace the file; the next attempt waits for the new file. */
int stored_models_read(const char *path, WalBarrier *barrier, StoredModels **ret) {
        int r = -EIO;

        for (int i = 0; r == -EIO && i < ATTEMPTS; i++)
                r = read_once(path, barrier, ret);
        return r;
}

StoredModels *stored_models_free(StoredModels *models) {
        if (!models)
                return NULL;

        for (size_t i = 0; i < models->n; i++)
                free(models->items[i].document);
        free(models->items);
        free(models);
        return NULL;
}
