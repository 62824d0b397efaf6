/* SPDX-License-Identifier: Apache-2.0 */
#include "store/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "store/damage/salvage.h"
#include "store/damage/wal_log.h"
#include "store/table/schema.h"
#include "store/subject_states.h"
#include "util/scoped.h"

int opening_init(Opening *opening, const char *directory, bool is_volatile) {
        *opening = (Opening){ .is_volatile = is_volatile, .lock_fd = -1 };

        opening->directory = strdup(directory);
        if (!opening->directory)
                return -ENOMEM;
        if (asprintf(&opening->path, "%s/perfd.db", directory) < 0) {
                opening->path = NULL;
                return -ENOMEM;
        }
        if (asprintf(&opening->lock_path, "%s/perfd.lock", directory) < 0) {
                opening->lock_path = NULL;
                return -ENOMEM;
        }
        return 0;
}

void opening_deinit(Opening *opening) {
        closep(&opening->lock_fd);
        free(opening->directory);
        free(opening->path);
        free(opening->lock_path);
        *opening = (Opening){ .lock_fd = -1 };
}

/* The kernel drops the lock when the process ends; the file stays. */
static int take_lock(Opening *opening, char **ret_note) {
        scoped(closep) int fd = -1;

        if (opening->lock_fd >= 0)
                return 0;

        fd = open(opening->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
                opening->lock_fd = TAKE_FD(fd);
                return 0;
        }
        if (errno != EWOULDBLOCK)
                return -errno;

        if (asprintf(ret_note, "%s is in use by another perfd", opening->lock_path) < 0)
                return -ENOMEM;
        return OPENING_LOCKED;
}

/* Removes the parts of row sets that were not complete when the last writer ended. Its statements are not needed
 * again. */
static int undo(Database *database) {
        int r;

        r = database_begin(database);
        if (r == 0)
                r = subject_states_mend(database, false);
        if (r == 0)
                r = database_commit(database);
        if (r == 0)
                statement_cache_clear(&database->statements);
        return r;
}

/* 0 with the database set up, if its version is SCHEMA_VERSION; an outcome of database.h; or a negative errno. */
static int open_database(const Opening *opening, Database *ret, int64_t *ret_version) {
        int r;

        r = database_open(ret, opening->path);
        if (r == 0)
                r = schema_setup(ret, opening->is_volatile, ret_version);
        if (r != 0 || *ret_version != SCHEMA_VERSION)
                return r;
        r = database_check_statements(ret);
        return r != 0 ? r : undo(ret);
}

int opening_open_file(const char *path, Database *ret) {
        int64_t version = 0;
        int r;

        r = open_database(&(Opening){ .path = (char *)path }, ret, &version);
        return r == 0 && version != SCHEMA_VERSION ? DATABASE_REFUSED : r;
}

static int say_too_new(const char *path, int64_t version, char **ret_note) {
        if (asprintf(ret_note,
                     "%s has format %lld, written by a newer perfd; this perfd supports up to %d: install the newer "
                     "perfd again, or move the file away to start with an empty database",
                     path, (long long)version, SCHEMA_VERSION) < 0)
                return -ENOMEM;
        return OPENING_UNSUPPORTED;
}

/* --- the library --------------------------------------------------------------------------------- */

#define HEADER_LIBRARY 96 /* offset of the version of the library that last wrote the file, big-endian */

static uint32_t library_of(const char *path) {
        scoped(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        uint8_t bytes[4] = {};

        return fd >= 0 && pread(fd, bytes, sizeof(bytes), HEADER_LIBRARY) == sizeof(bytes)
                       ? (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3]
                       : 0;
}

bool opening_is_of_newer_library(const char *path, const char *error) {
        return strstr(error, "malformed database schema") && library_of(path) > (uint32_t)sqlite3_libversion_number();
}

static int say_written_by(const char *path, const char *error, char **ret_note) {
        uint32_t version = library_of(path);

        if (asprintf(ret_note,
                     "%s was written with SQLite %u.%u.%u, and the SQLite %s of this system cannot read it (%s): "
                     "install a newer SQLite, or move the file away to start with an empty database",
                     path, version / 1000000, version / 1000 % 1000, version % 1000, sqlite3_libversion(), error) < 0)
                return -ENOMEM;
        return OPENING_UNSUPPORTED;
}

/* Maps an outcome of database.h to a negative errno. */
static int as_error(int r) {
        switch (r) {
        case DATABASE_FULL:
                return -ENOSPC;
        case DATABASE_CORRUPT:
                return -EUCLEAN;
        case DATABASE_REFUSED:
                return -EINVAL;
        case DATABASE_MISFIT:
                return -ENOTSUP;
        default:
                return r;
        }
}

/* Statements that fail on new tables fail because of the library. */
static int check_library(char **ret_note) {
        scoped(database_close) Database empty = {};
        int64_t unused;
        int r;

        r = database_open(&empty, ":memory:");
        if (r == 0)
                r = schema_setup(&empty, true, &unused);
        if (r == 0)
                r = database_check_statements(&empty);
        if (r != DATABASE_MISFIT)
                return as_error(r);
        if (asprintf(ret_note, "SQLite %s is too old: perfd needs 3.34 or later (%s)", sqlite3_libversion(),
                     database_error(&empty)) < 0)
                return -ENOMEM;
        return OPENING_UNSUPPORTED;
}

/* Decides why a file cannot be used. 0: because of the file, which is damaged, or has tables of another program. */
static int judge_failure(const Opening *opening, int r, const char *error, char **ret_note) {
        if (r == DATABASE_MISFIT)
                return check_library(ret_note);
        return opening_is_of_newer_library(opening->path, error) ? say_written_by(opening->path, error, ret_note) : 0;
}

/* --- another file -------------------------------------------------------------------------------- */

static bool is_too_soon(const Opening *opening) {
        return opening->replaced_ns > 0 &&
               clock_boottime_ns() - opening->replaced_ns < OPENING_REPLACEMENT_INTERVAL_NS;
}

static int say_too_often(const Opening *opening, const char *reason, char **ret_note) {
        if (asprintf(ret_note,
                     "%s is damaged (%s), and another damaged file was moved aside less than a minute ago",
                     opening->path, reason) < 0)
                return -ENOMEM;
        return OPENING_LATER;
}

/* Moves a file aside that this perfd cannot read, and opens a new one. reason: the damage, or NULL if an older perfd
 * wrote the file. */
static int begin_anew(Opening *opening, const char *reason, int64_t version, Database *database, char **ret_note) {
        uint64_t now_ns = clock_realtime_ns();
        int r;

        r = reason ? salvage_put_aside(opening->path, now_ns, reason, ret_note)
                   : salvage_put_older_aside(opening->path, now_ns, version, ret_note);
        opening->has_found_damage = r == 0 && reason;
        if (opening->has_found_damage)
                opening->replaced_ns = clock_boottime_ns();
        return r < 0 ? r : open_database(opening, database, &version);
}

/* SQLite would drop the transactions behind a damaged frame of the log, and write over them. */
static int find_lost_transactions(Opening *opening, char **ret_reason) {
        WalDamage damage;

        opening->n_log_frames = 0;
        if (!wal_log_is_damaged(opening->path, &damage))
                return 0;
        opening->n_log_frames = damage.n_bad + damage.n_lost;
        return asprintf(ret_reason,
                        "the checksums of %lu frames of perfd.db-wal are wrong, with %lu frames behind them",
                        (unsigned long)damage.n_bad, (unsigned long)damage.n_lost) < 0
                       ? -ENOMEM
                       : 0;
}

static int open_or_begin_anew(Opening *opening, Database *ret, char **ret_note) {
        scoped(database_close) Database database = {};
        scoped(freep) char *reason = NULL;
        int64_t version = SCHEMA_VERSION;
        int r;

        opening->has_found_damage = false;
        r = find_lost_transactions(opening, &reason);
        if (r == 0 && !reason)
                r = open_database(opening, &database, &version);
        if (r == 0 && version > SCHEMA_VERSION)
                return say_too_new(opening->path, version, ret_note);
        if (r == DATABASE_CORRUPT || r == DATABASE_MISFIT) {
                reason = strdup(database_error(&database));
                r = reason ? judge_failure(opening, r, reason, ret_note) : -ENOMEM;
                if (r != 0)
                        return r;
        }
        if (reason && r >= 0 && is_too_soon(opening))
                return say_too_often(opening, reason, ret_note);
        if ((reason && r >= 0) || (r == 0 && version < SCHEMA_VERSION)) {
                database_close(&database);
                r = begin_anew(opening, reason, version, &database, ret_note);
        }
        if (r != 0)
                return as_error(r);

        *ret = database;
        database = (Database){};
        return 0;
}

/* True for failures of a disk, which may be temporary; false for failures that an administrator has to fix. */
static bool may_pass(int error) {
        switch (error) {
        case -ENOSPC:
        case -EDQUOT:
        case -EIO:
        case -EROFS:
        case -EBUSY:
        case -EUCLEAN:
                return true;
        default:
                return false;
        }
}

/* A note about earlier actions comes second, because StoreStats truncates long texts. */
static int say_later(const Opening *opening, int error, char **note) {
        scoped(freep) char *before = TAKE(*note);

        if (asprintf(note, "cannot open %s: %s%s%s", opening->path, strerror(-error), before ? "; " : "",
                     before ? before : "") < 0) {
                *note = NULL;
                return -ENOMEM;
        }
        return OPENING_LATER;
}

int opening_open(Opening *opening, Database *ret, char **ret_note) {
        int r;

        *ret_note = NULL;
        r = take_lock(opening, ret_note);
        if (r == 0)
                r = open_or_begin_anew(opening, ret, ret_note);
        if (may_pass(r))
                return say_later(opening, r, ret_note);
        if (r < 0)
                free(TAKE(*ret_note));
        return r;
}
