/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database/checkpointer.h"

#include <assert.h>
#include <errno.h>

#include "store/database/database.h"
#include "util/lock.h"
#include "util/thread.h"

/* --- a checkpoint -------------------------------------------------------------------------------- */

static int error_of(sqlite3 *db, int code) {
        int e;

        switch (code & 0xff) {
        case SQLITE_OK:
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return 0;
        case SQLITE_FULL:
                return -ENOSPC;
        case SQLITE_READONLY:
                return -EROFS;
        case SQLITE_NOMEM:
                return -ENOMEM;
        default:
                e = sqlite3_system_errno(db);
                return e > 0 ? -e : -EIO;
        }
}

CheckpointResult checkpointer_run(sqlite3 *db, int mode) {
        CheckpointResult result = { .n_log_pages = -1, .n_done_pages = -1 };
        int code = sqlite3_wal_checkpoint_v2(db, NULL, mode, &result.n_log_pages, &result.n_done_pages);

        assert(code != SQLITE_OK || result.n_done_pages <= result.n_log_pages);
        result.error = error_of(db, code);
        result.is_busy = (code & 0xff) == SQLITE_BUSY;
        return result;
}

/* A connection does not know that there is a log before it has read the file. */
static int open_and_read(const Checkpointer *checkpointer, Database *ret) {
        int64_t unused;
        int r;

        r = database_open(ret, checkpointer->path);
        if (r == 0)
                r = database_exec(ret,
                                  checkpointer->is_volatile ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL");
        return r != 0 ? r : database_query(ret, "PRAGMA user_version", &unused);
}

static CheckpointResult run(const Checkpointer *checkpointer) {
        scoped(database_close) Database database = {};
        int r;

        r = open_and_read(checkpointer, &database);
        if (r != 0)
                return (CheckpointResult){ .error = r < 0 ? r : -EIO, .n_log_pages = -1, .n_done_pages = -1 };
        return checkpointer_run(database.db, SQLITE_CHECKPOINT_PASSIVE);
}

/* --- the thread ---------------------------------------------------------------------------------- */

static void *on_start(void *userdata) {
        Checkpointer *checkpointer = userdata;
        CheckpointResult result;

        pthread_setname_np(pthread_self(), CHECKPOINTER_THREAD);
        pthread_mutex_lock(&checkpointer->mutex);
        while (!checkpointer->is_stopping) {
                if (checkpointer->state != CHECKPOINTER_BUSY) {
                        (void)pthread_cond_wait(&checkpointer->changed, &checkpointer->mutex);
                        continue;
                }

                pthread_mutex_unlock(&checkpointer->mutex);
                result = run(checkpointer);
                pthread_mutex_lock(&checkpointer->mutex);
                checkpointer->result = result;
                checkpointer->state = CHECKPOINTER_DONE;
                (void)pthread_cond_broadcast(&checkpointer->changed);
        }
        pthread_mutex_unlock(&checkpointer->mutex);
        return NULL;
}

void checkpointer_init(Checkpointer *checkpointer, const char *path, bool is_volatile) {
        *checkpointer = (Checkpointer){ .path = path, .is_volatile = is_volatile, .is_initialised = true };
        (void)pthread_mutex_init(&checkpointer->mutex, NULL);
        lock_init_condition(&checkpointer->changed);
}

int checkpointer_start(Checkpointer *checkpointer) {
        int r = thread_start(&checkpointer->thread, on_start, checkpointer);

        checkpointer->is_running = r == 0;
        return r;
}

void checkpointer_deinit(Checkpointer *checkpointer) {
        if (!checkpointer->is_initialised)
                return;

        if (checkpointer->is_running) {
                pthread_mutex_lock(&checkpointer->mutex);
                checkpointer->is_stopping = true;
                (void)pthread_cond_broadcast(&checkpointer->changed);
                pthread_mutex_unlock(&checkpointer->mutex);
                (void)pthread_join(checkpointer->thread, NULL);
        }
        (void)pthread_cond_destroy(&checkpointer->changed);
        (void)pthread_mutex_destroy(&checkpointer->mutex);
        *checkpointer = (Checkpointer){};
}

/* --- for the writer ------------------------------------------------------------------------------ */

bool checkpointer_begin(Checkpointer *checkpointer) {
        LOCKED(&checkpointer->mutex);

        if (!checkpointer->is_running || checkpointer->state != CHECKPOINTER_IDLE)
                return false;
        checkpointer->state = CHECKPOINTER_BUSY;
        (void)pthread_cond_broadcast(&checkpointer->changed);
        return true;
}

bool checkpointer_take(Checkpointer *checkpointer, bool waits, CheckpointResult *ret) {
        LOCKED(&checkpointer->mutex);

        while (waits && checkpointer->state == CHECKPOINTER_BUSY)
                (void)pthread_cond_wait(&checkpointer->changed, &checkpointer->mutex);
        if (checkpointer->state != CHECKPOINTER_DONE)
                return false;
        *ret = checkpointer->result;
        checkpointer->state = CHECKPOINTER_IDLE;
        return true;
}
