/* SPDX-License-Identifier: Apache-2.0 */
#include "store/maintenance.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "store/opening.h"
#include "store/damage/salvage.h"
#include "store/table/store_subject.h"
#include "util/error_text.h"
#include "util/scoped.h"

#define BUSY_MS 10000
#define STEPS_PER_CHECKPOINT 64

static void sqlite3_closep(sqlite3 **db) {
        sqlite3_close(*db);
}

static int fail(Buffer *text, const char *path, const char *why) {
        buffer_printf(text, "%s: %s\n", path, why);
        return MAINTENANCE_FAILED;
}

static int fail_of(Buffer *text, const char *path, sqlite3 *db) {
        int e = sqlite3_system_errno(db);
        const char *message = sqlite3_errmsg(db);

        switch (sqlite3_errcode(db) & 0xff) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
                if (opening_is_of_newer_library(path, message))
                        break;
                buffer_printf(text, "%s: %s\n", path, message);
                return MAINTENANCE_DAMAGED;
        case SQLITE_CANTOPEN:
        case SQLITE_IOERR:
                if (e > 0)
                        message = error_text(e);
                break;
        }
        return fail(text, path, message);
}

/* SQLite, and reading page by page, would wait for a writer of a FIFO. */
static int refuse_irregular(const char *path, Buffer *text) {
        struct stat st;

        if (stat(path, &st) < 0)
                return fail(text, path, error_text(errno));
        return S_ISREG(st.st_mode) ? 0 : fail(text, path, "not a regular file");
}

/*
 * Opens the connection; the caller closes it, also on failure. Closing does not touch the write-ahead log of a
 * running perfd.
 */
static int open_read_only(const char *path, sqlite3 **ret, Buffer *text) {
        int r = refuse_irregular(path, text);

        if (r != 0)
                return r;
        if (sqlite3_open_v2(path, ret, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
                return *ret ? fail_of(text, path, *ret) : -ENOMEM;

        sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_busy_timeout(*ret, BUSY_MS);
        return 0;
}

/* --- check --------------------------------------------------------------------------------------- */

static int count_rows(sqlite3 *db, const char *path, Buffer *text) {
        for (const StoreSubject *const *subject = store_subject_list; *subject; subject++)
                for (const StoreTable *const *table = (*subject)->tables; *table; table++) {
                        scoped(statement_finalizep) sqlite3_stmt *count = NULL;
                        char sql[96];

                        (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", (*table)->name);
                        if (sqlite3_prepare_v2(db, sql, -1, &count, NULL) != SQLITE_OK ||
                            sqlite3_step(count) != SQLITE_ROW)
                                return fail_of(text, path, db);
                        buffer_printf(text, "%-12s %lld rows\n", (*table)->name,
                                      (long long)sqlite3_column_int64(count, 0));
                }
        return 0;
}

int maintenance_check(const char *path, Buffer *text) {
        scoped(sqlite3_closep) sqlite3 *db = NULL;
        scoped(statement_finalizep) sqlite3_stmt *check = NULL;
        int n_errors = 0, code, r;

        r = open_read_only(path, &db, text);
        if (r != 0)
                return r;
        if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(20)", -1, &check, NULL) != SQLITE_OK)
                return fail_of(text, path, db);

        while ((code = sqlite3_step(check)) == SQLITE_ROW) {
                const char *line = (const char *)sqlite3_column_text(check, 0);

                if (line && strcmp(line, "ok") != 0) {
                        buffer_printf(text, "%s\n", line);
                        n_errors++;
                }
        }
        if (code != SQLITE_DONE)
                return fail_of(text, path, db);
        if (n_errors > 0)
                return MAINTENANCE_DAMAGED;

        r = count_rows(db, path, text);
        if (r == 0)
                buffer_printf(text, "%s: no damage found\n", path);
        return r;
}

/* --- backup -------------------------------------------------------------------------------------- */

static int refuse_existing(const char *target, Buffer *text) {
        return access(target, F_OK) == 0 || errno != ENOENT ? fail(text, target, "exists already; choose another file")
                                                            : 0;
}

/* The target appears under its name when it is complete and on disk. */
static int finish(const char *partial, const char *target, Buffer *text) {
        scoped(closep) int fd = open(partial, O_RDONLY | O_CLOEXEC);

        if (fd < 0 || fsync(fd) < 0 || rename(partial, target) < 0)
                return fail(text, target, error_text(errno));
        return 0;
}

static int copy(sqlite3 *db, const char *path, const char *target, const char *partial, Buffer *text) {
        scoped(statement_finalizep) sqlite3_stmt *vacuum = NULL;

        if (sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &vacuum, NULL) != SQLITE_OK)
                return fail_of(text, path, db);
        sqlite3_bind_text(vacuum, 1, partial, -1, SQLITE_STATIC);
        if (sqlite3_step(vacuum) == SQLITE_DONE)
                return 0;
        return fail_of(text, (sqlite3_errcode(db) & 0xff) == SQLITE_CANTOPEN ? target : path, db);
}

int maintenance_backup(const char *path, const char *target, Buffer *text) {
        scoped(sqlite3_closep) sqlite3 *db = NULL;
        scoped(freep) char *partial = NULL;
        int r;

        r = refuse_existing(target, text);
        if (r == 0)
                r = open_read_only(path, &db, text);
        if (r != 0)
                return r;
        if (asprintf(&partial, "%s.partial", target) < 0) {
                partial = NULL;
                return -ENOMEM;
        }

        (void)unlink(partial);
        r = copy(db, path, target, partial, text);
        if (r == 0)
                r = finish(partial, target, text);
        if (r != 0) {
                (void)unlink(partial);
                return r;
        }
        buffer_printf(text, "%s: copied to %s\n", path, target);
        return 0;
}

/* --- salvage ------------------------------------------------------------------------------------- */

/* A file that perfd writes cannot be read page by page; perfd moves a damaged file aside itself. */
static int refuse_used(const char *damaged, Buffer *text) {
        scoped(closep) int fd = -1;
        const char *name = strrchr(damaged, '/');
        char lock[PATH_MAX];

        if (strcmp(name ? name + 1 : damaged, "perfd.db") != 0)
                return 0;
        if (snprintf(lock, sizeof(lock), "%.*sperfd.lock", name ? (int)(name + 1 - damaged) : 0, damaged) >=
            (int)sizeof(lock))
                return -ENAMETOOLONG;
        fd = open(lock, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0)
                return fail(text, damaged,
                            "perfd is using this file, and salvages it automatically when a page is damaged");
        return 0;
}

static int move_rows(Salvage *salvage, Database *database) {
        bool has_more = true;
        int r;

        r = salvage_begin(salvage, database);
        for (unsigned n = 1; r == 0 && has_more; n++) {
                r = salvage_step(salvage, database, &has_more);
                if (r == 0 && n % STEPS_PER_CHECKPOINT == 0)
                        r = database_exec(database, "PRAGMA wal_checkpoint(TRUNCATE)");
        }
        return r;
}

/* Removes the new database, which would look like the result of a salvage. */
static int refuse_empty(const char *damaged, const char *target, Database *database, Buffer *text) {
        database_close(database);
        (void)unlink(target);
        return fail(text, damaged, "not a database of perfd, or no row of it can be read");
}

static int describe(const Salvage *salvage, const char *damaged, const char *target, Buffer *text) {
        char loss[SALVAGE_LOSS_MAX];

        salvage_describe_loss(salvage, loss, sizeof(loss));
        buffer_printf(text, "%s: %lu rows copied to %s%s%s\n", damaged, (unsigned long)salvage->n_rows, target,
                      loss[0] ? "; " : "", loss);
        return loss[0] ? MAINTENANCE_DAMAGED : 0;
}

int maintenance_salvage(const char *damaged, const char *target, Buffer *text) {
        scoped(database_close) Database database = {};
        scoped(salvage_close) Salvage salvage = {};
        int r;

        r = refuse_existing(target, text);
        if (r == 0)
                r = refuse_irregular(damaged, text);
        if (r == 0)
                r = refuse_used(damaged, text);
        if (r != 0)
                return r;

        r = salvage_open(&salvage, damaged);
        if (r < 0)
                return fail(text, damaged, error_text(-r));
        r = opening_open_file(target, &database);
        if (r == 0)
                r = move_rows(&salvage, &database);
        if (r != 0)
                return fail_of(text, target, database.db);
        return salvage.n_rows == 0 ? refuse_empty(damaged, target, &database, text)
                                   : describe(&salvage, damaged, target, text);
}
