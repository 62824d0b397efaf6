/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by the tests of a disk that is slow or fails: a VFS of SQLite that asks the test before it syncs a file.
 *
 * The method table is copied at the first open and does not change afterwards, because threads sync files while
 * others open them.
 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>

/* Called before each sync, in the thread that syncs, and may wait. Returns 0, or the errno with which the sync
 * fails. */
typedef int (*BeforeSync)(void);

static struct {
        BeforeSync before;
        int kind;
        pthread_mutex_t mutex;
        sqlite3_vfs *real_vfs, vfs;
        const sqlite3_io_methods *real;
        sqlite3_io_methods methods;
} sync_fixture = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static inline int sync_fixture_on_sync(sqlite3_file *file, int flags) {
        int e = sync_fixture.before();

        if (e == 0)
                return sync_fixture.real->xSync(file, flags);
        errno = e;
        return SQLITE_IOERR_FSYNC;
}

static inline void sync_fixture_replace_methods(sqlite3_file *file) {
        pthread_mutex_lock(&sync_fixture.mutex);
        if (!sync_fixture.real) {
                sync_fixture.real = file->pMethods;
                sync_fixture.methods = *file->pMethods;
                sync_fixture.methods.xSync = sync_fixture_on_sync;
        }
        assert(file->pMethods == sync_fixture.real);
        file->pMethods = &sync_fixture.methods;
        pthread_mutex_unlock(&sync_fixture.mutex);
}

static inline int sync_fixture_on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                                       int *ret_flags) {
        int code = sync_fixture.real_vfs->xOpen(sync_fixture.real_vfs, name, file, flags, ret_flags);

        (void)vfs;
        if (code == SQLITE_OK && (flags & sync_fixture.kind) && (flags & SQLITE_OPEN_READWRITE))
                sync_fixture_replace_methods(file);
        return code;
}

/* Makes SQLite use the VFS for files of this kind (SQLITE_OPEN_MAIN_DB or SQLITE_OPEN_WAL). Call before the first
 * store is opened. */
static inline int sync_fixture_install(int kind, BeforeSync before) {
        sync_fixture.before = before;
        sync_fixture.kind = kind;
        sync_fixture.real_vfs = sqlite3_vfs_find(NULL);
        sync_fixture.vfs = *sync_fixture.real_vfs;
        sync_fixture.vfs.zName = "asks-before-sync";
        sync_fixture.vfs.xOpen = sync_fixture_on_open;
        return sqlite3_vfs_register(&sync_fixture.vfs, 1);
}
