/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database/database.h"

#include <assert.h>
#include <errno.h>

#include "util/scoped.h"

/* Time to wait for the lock of an administrator's sqlite3 shell; no other program writes. */
#define BUSY_MS 2000

STATEMENT begin = SQL("BEGIN IMMEDIATE", 0);
STATEMENT commit = SQL("COMMIT", 0);
STATEMENT rollback = SQL("ROLLBACK", 0);

/* The functions below clear errno before each call, because SQLite keeps no errno of a COMMIT that fails, but an
 * older one. */
static int from_errno(sqlite3 *db) {
        int e = errno > 0 ? errno : sqlite3_system_errno(db);

        return e == ENOSPC || e == EDQUOT ? DATABASE_FULL : e > 0 ? -e : -EIO;
}

int database_outcome(sqlite3 *db, int code) {
        switch (code & 0xff) {
        case SQLITE_OK:
        case SQLITE_DONE:
                return 0;
        case SQLITE_ROW:
                return DATABASE_ROW;
        case SQLITE_TOOBIG:
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
                return DATABASE_REFUSED;
        case SQLITE_FULL:
                return DATABASE_FULL;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
                return DATABASE_CORRUPT;
        case SQLITE_ERROR:
                return DATABASE_MISFIT;
        case SQLITE_NOMEM:
                return -ENOMEM;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return -EBUSY;
        case SQLITE_READONLY:
                return -EROFS;
        case SQLITE_PERM:
        case SQLITE_AUTH:
                return -EACCES;
        case SQLITE_INTERRUPT:
                return -EINTR;
        case SQLITE_IOERR:
        case SQLITE_CANTOPEN:
                return from_errno(db);
        default:
                return -EIO;
        }
}

static int on_wal(void *userdata, sqlite3 *db, const char *name, int n_pages) {
        Database *database = userdata;

        (void)name;
        assert(db == database->db && n_pages >= 0);
        database->n_wal_pages = n_pages;
        return SQLITE_OK;
}

int database_open(Database *database, const char *path) {
        int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
        int code;

        *database = (Database){};
        code = sqlite3_open_v2(path, &database->db, flags, NULL);
        if (code == SQLITE_OK)
                code = statement_define_visible(database->db, NULL);
        if (code != SQLITE_OK)
                return database->db ? database_outcome(database->db, code) : -ENOMEM;

        sqlite3_extended_result_codes(database->db, 1);
        database_wait(database, true);
        return 0;
}

/* Prepares the statement that must work when memory is short, too. */
void database_watch(Database *database) {
        (void)database_prepare(database, &rollback, NULL, 0);
        sqlite3_wal_hook(database->db, on_wal, database);
}

void database_wait(Database *database, bool waits) {
        sqlite3_busy_timeout(database->db, waits ? BUSY_MS : 0);
}

void database_close(Database *database) {
        statement_cache_clear(&database->statements);
        sqlite3_close(database->db);
        *database = (Database){};
}

int database_exec(Database *database, const char *sql) {
        errno = 0;
        return database_outcome(database->db, sqlite3_exec(database->db, sql, NULL, NULL, NULL));
}

int database_query(Database *database, const char *sql, int64_t *ret) {
        scoped(statement_finalizep) sqlite3_stmt *statement = NULL;
        int code;

        errno = 0;
        code = sqlite3_prepare_v2(database->db, sql, -1, &statement, NULL);
        if (code == SQLITE_OK)
                code = sqlite3_step(statement);
        if (code == SQLITE_ROW)
                *ret = sqlite3_column_int64(statement, 0);
        else if (code == SQLITE_DONE)
                *ret = 0;
        else
                return database_outcome(database->db, code);

        return 0;
}

/* Prepared statements are not kept here: all of them take 250 KiB. */
int database_check_statements(Database *database) {
        int r = 0;

        assert(__stop_statements - __start_statements <= (ptrdiff_t)STATEMENT_CACHE_SLOTS);
        for (const Statement *next = __start_statements; r == 0 && next < __stop_statements; next++) {
                scoped(statement_finalizep) sqlite3_stmt *handle = NULL;

                if (next->sql)
                        r = database_outcome(database->db, statement_prepare(database->db, next, 0, &handle));
        }
        return r;
}

const char *database_error(Database *database) {
        return sqlite3_errmsg(database->db);
}

Prepared *database_prepare(Database *database, const Statement *statement, const Field *fields, size_t n_fields) {
        Prepared *prepared = statement_cache_get(&database->statements, database->db, statement);

        statement_bind(prepared, fields, n_fields, false);
        return prepared;
}

int database_step(Database *database, Prepared *prepared) {
        int code, r;

        if (!prepared->handle)
                return database_outcome(database->db, prepared->code);

        assert(statement_is_bound(prepared));
        errno = 0;
        code = sqlite3_step(prepared->handle);
        r = database_outcome(database->db, code);
        if (code != SQLITE_ROW)
                sqlite3_reset(prepared->handle);
        return r;
}

int database_finish(Database *database, Prepared *prepared) {
        int r;

        do
                r = database_step(database, prepared);
        while (r == DATABASE_ROW);
        return r;
}

int database_run(Database *database, const Statement *statement, const Field *fields, size_t n_fields) {
        return database_finish(database, database_prepare(database, statement, fields, n_fields));
}

int database_get_row(Database *database, const Statement *statement, const Field *fields, size_t n_fields, int64_t *ret,
                     size_t n_ret) {
        Prepared *prepared = database_prepare(database, statement, fields, n_fields);
        int r;

        r = database_step(database, prepared);
        if (r != DATABASE_ROW)
                return r;

        assert((int)n_ret == statement->n_columns);
        for (size_t i = 0; i < n_ret; i++)
                ret[i] = column_i64(prepared, (int)i);
        return database_finish(database, prepared);
}

int database_get(Database *database, const Statement *statement, const Field *fields, size_t n_fields, int64_t *ret) {
        return database_get_row(database, statement, fields, n_fields, ret, 1);
}

int database_insert(Database *database, const Statement *statement, const Field *fields, size_t n_fields,
                    int64_t *ret) {
        int r = database_run(database, statement, fields, n_fields);

        if (r == 0)
                *ret = sqlite3_last_insert_rowid(database->db);
        return r;
}

int database_text_id(Database *database, const Statement *find, const Statement *insert, Field text, int64_t *ret) {
        int64_t id = 0;
        int r;

        r = database_get(database, find, &text, 1, &id);
        if (r == 0 && id == 0)
                r = database_insert(database, insert, &text, 1, &id);
        if (r != 0)
                return r;

        assert(id > 0);
        *ret = id;
        return 0;
}

int database_collect(Database *database, Prepared *query, Buffer *ret) {
        int r;

        while ((r = database_step(database, query)) == DATABASE_ROW)
                for (int i = 0; i < query->statement->n_columns; i++) {
                        int64_t v = column_i64(query, i);

                        buffer_put(ret, &v, sizeof(v));
                }
        return r == 0 ? buffer_error(ret) : r;
}

int database_run_removal(Database *database, Prepared *removal, int64_t *ret_n) {
        int r;

        r = database_finish(database, removal);
        if (r == 0)
                *ret_n = database_changes(database);
        return r;
}

int64_t database_changes(const Database *database) {
        return sqlite3_changes(database->db);
}

int database_begin(Database *database) {
        return database_run(database, &begin, NULL, 0);
}

int database_commit(Database *database) {
        return database_run(database, &commit, NULL, 0);
}

void database_rollback(Database *database) {
        if (!sqlite3_get_autocommit(database->db))
                (void)database_run(database, &rollback, NULL, 0);
}
