/* SPDX-License-Identifier: Apache-2.0 */
/* What a start needs, read over a connection of its own: the writer's is the writer's. */

#include <errno.h>
#include <string.h>

#include <sqlite3.h>

#include "store/database.h"
#include "store/jobs/job_columns.h"
#include "store/store.h"

typedef struct Connection {
        sqlite3 *db;
        sqlite3_stmt *statement;
} Connection;

static void connection_closep(Connection *connection) {
        sqlite3_finalize(connection->statement);
        sqlite3_close(connection->db);
}

static int failed(Connection *connection, int code) {
        int r = connection->db ? database_outcome(connection->db, code) : -ENOMEM;

        return r < 0 ? r : -EIO;
}

static int connect_to(Connection *connection, const char *path, const char *sql) {
        int code;

        code = sqlite3_open_v2(path, &connection->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
        if (code == SQLITE_OK)
                code = sqlite3_prepare_v2(connection->db, sql, -1, &connection->statement, NULL);
        return code == SQLITE_OK ? 0 : failed(connection, code);
}

/* A copy for the caller; NULL stays NULL. */
static int copy_text(sqlite3_stmt *statement, int i, char **ret) {
        const char *text = (const char *)sqlite3_column_text(statement, i);
        char *copy;

        if (!text)
                return 0;

        copy = strdup(text);
        if (!copy)
                return -ENOMEM;

        *ret = copy;
        return 0;
}

static int recover_meter(const char *path, StoreRecovery *recovery) {
        scoped(connection_closep) Connection connection = {};
        int code, r;

        r = connect_to(&connection, path, "SELECT account, boot_id, time_ms FROM meter");
        if (r < 0)
                return r;

        code = sqlite3_step(connection.statement);
        if (code == SQLITE_DONE)
                return 0;
        if (code != SQLITE_ROW)
                return failed(&connection, code);

        recovery->meter_realtime_ms = (uint64_t)sqlite3_column_int64(connection.statement, 2);
        r = copy_text(connection.statement, 0, &recovery->meter);
        return r < 0 ? r : copy_text(connection.statement, 1, &recovery->boot_id);
}

static int add_job(sqlite3_stmt *statement, StoreRecovery *recovery) {
        StoreRecoveredJob *job, *jobs;
        JobView view;
        JobInfo info;
        int r;

        jobs = reallocarray(recovery->jobs, recovery->n_jobs + 1, sizeof(*jobs));
        if (!jobs)
                return -ENOMEM;
        recovery->jobs = jobs;

        r = job_columns_read(statement, &view);
        if (r < 0)
                return r;
        r = job_description_info(&view.info, &info);
        job_view_deinit(&view);
        if (r < 0)
                return r;

        job = &jobs[recovery->n_jobs++];
        *job = (StoreRecoveredJob){
                .info = info,
                .begin_realtime_ms = view.begin_realtime_ms,
                .checkpoint_realtime_ms = (uint64_t)sqlite3_column_int64(statement, N_JOB_COLUMNS),
        };
        r = copy_text(statement, N_JOB_COLUMNS + 1, &job->boot_id);
        return r < 0 ? r : copy_text(statement, N_JOB_COLUMNS + 2, &job->progress);
}

static int recover_jobs(const char *path, StoreRecovery *recovery) {
        scoped(connection_closep) Connection connection = {};
        int code, r;

        r = connect_to(&connection, path,
                       "SELECT " JOB_COLUMNS ", checkpoint_ms, boot_id, window FROM job INDEXED BY job_by_state"
                       " LEFT JOIN running ON running.job = job.row WHERE state = 'running' ORDER BY begin_ms, row");
        if (r < 0)
                return r;

        while ((code = sqlite3_step(connection.statement)) == SQLITE_ROW) {
                r = add_job(connection.statement, recovery);
                if (r < 0)
                        return r;
        }
        return code == SQLITE_DONE ? 0 : failed(&connection, code);
}

int store_recover(Store *store, StoreRecovery **ret) {
        scoped(store_recovery_freep) StoreRecovery *recovery = NULL;
        int r;

        recovery = calloc(1, sizeof(*recovery));
        if (!recovery)
                return -ENOMEM;

        if (!store_is_late(store)) {
                r = recover_meter(store_path(store), recovery);
                if (r == 0)
                        r = recover_jobs(store_path(store), recovery);
                if (r < 0)
                        return r;
        }

        *ret = TAKE(recovery);
        return 0;
}

StoreRecovery *store_recovery_free(StoreRecovery *recovery) {
        if (!recovery)
                return NULL;

        for (size_t i = 0; i < recovery->n_jobs; i++) {
                job_info_deinit(&recovery->jobs[i].info);
                free(recovery->jobs[i].progress);
                free(recovery->jobs[i].boot_id);
        }
        free(recovery->jobs);
        free(recovery->meter);
        free(recovery->boot_id);
        free(recovery);
        return NULL;
}

/* --- registered models --------------------------------------------------------------------------- */

StoredModels *stored_models_free(StoredModels *models) {
        if (!models)
                return NULL;

        for (size_t i = 0; i < models->n; i++)
                free(models->items[i].document);
        free(models->items);
        free(models);
        return NULL;
}

static int add_model(sqlite3_stmt *statement, StoredModels *models) {
        StoredModel *items = reallocarray(models->items, models->n + 1, sizeof(*items));

        if (!items)
                return -ENOMEM;

        models->items = items;
        models->items[models->n] = (StoredModel){
                .uid = (uint32_t)sqlite3_column_int64(statement, 1),
                .by_admin = sqlite3_column_int64(statement, 2),
        };
        models->n++;
        return copy_text(statement, 0, &models->items[models->n - 1].document);
}

static int read_models(const char *path, StoredModels *models) {
        scoped(connection_closep) Connection connection = {};
        int code, r;

        r = connect_to(&connection, path, "SELECT document, uid, by_admin FROM model WHERE NOT is_declared ORDER BY row");
        if (r < 0)
                return r;

        while ((code = sqlite3_step(connection.statement)) == SQLITE_ROW) {
                r = add_model(connection.statement, models);
                if (r < 0)
                        return r;
        }
        return code == SQLITE_DONE ? 0 : failed(&connection, code);
}

int store_models(Store *store, StoredModels **ret) {
        scoped(stored_models_freep) StoredModels *models = calloc(1, sizeof(*models));
        StoreStats stats;
        int r;

        if (!models)
                return -ENOMEM;

        store_stats(store, &stats);
        r = store_is_late(store) && !stats.is_writable ? 0 : read_models(store_path(store), models);
        if (r < 0)
                return r;

        *ret = TAKE(models);
        return 0;
}
