/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_database.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/spdl/sqlite_library.h"
#include "json/json.h"

#define GC_START "gc_start"
#define GC_STOP  "gc_stop"

/* A row's columns become members of a line, of which unknown ones are ignored: older databases have no percentiles or occupancy. */
static const struct {
        const char *name, *sql;
} tables[] = {
        { "task_stats", "SELECT rowid, * FROM task_stats ORDER BY timestamp, rowid" },
        { "queue_stats", "SELECT rowid, * FROM queue_stats ORDER BY timestamp, rowid" },
        { "event_stats", "SELECT rowid, event_name, timestamp FROM event_stats ORDER BY timestamp, rowid" },
};

enum { EVENT_ROW, EVENT_NAME, EVENT_TIME };
#define EVENT_TABLE 2U

struct SpdlDatabase {
        SqliteLibrary library;
        sqlite3 *db;
        sqlite3_stmt *statement; /* of the table `at`; NULL: not prepared yet */
        size_t at;
        double gc_begin_s;       /* NAN: the collector is not running */
        char place[64];
};

SpdlDatabase *spdl_database_free(SpdlDatabase *database) {
        if (!database)
                return NULL;
        if (database->statement)
                (void)database->library.finalize(database->statement);
        if (database->db)
                (void)database->library.close(database->db);
        sqlite_library_unload(&database->library);
        free(database);
        return NULL;
}

/* Prepares the statement of the table. A file that has statistics of tasks only is complete. */
static int prepare(SpdlDatabase *database, char ret_error[static SPDL_DATABASE_ERROR_MAX]) {
        const char *name = tables[database->at].name, *why;

        if (database->library.prepare(database->db, tables[database->at].sql, -1, &database->statement, NULL) == SQLITE_OK)
                return 0;
        why = database->library.message(database->db);
        if (database->at > 0 && strstr(why, "no such table"))
                return 0;
        (void)snprintf(ret_error, SPDL_DATABASE_ERROR_MAX, "%s: %s; expected the tables task_stats and queue_stats of SPDL's statistics "
                       "logger", name, why);
        return SPDL_DATABASE_INVALID;
}

int spdl_database_open(SpdlDatabase **ret, const char *path, char ret_error[static SPDL_DATABASE_ERROR_MAX]) {
        scoped(spdl_database_freep) SpdlDatabase *database = calloc(1, sizeof(*database));
        int r;

        if (!database)
                return -ENOMEM;
        database->gc_begin_s = NAN;
        if (!sqlite_library_load(&database->library)) {
                (void)snprintf(ret_error, SPDL_DATABASE_ERROR_MAX, SQLITE_LIBRARY_ADVICE);
                return SPDL_DATABASE_INVALID;
        }
        if (database->library.open(path, &database->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
                (void)snprintf(ret_error, SPDL_DATABASE_ERROR_MAX, "%s", database->library.message(database->db));
                return SPDL_DATABASE_INVALID;
        }
        r = prepare(database, ret_error);
        if (r == 0)
                *ret = TAKE(database);
        return r;
}

/* --- rows ----------------------------------------------------------------------------------------- */

static void put_column(SpdlDatabase *database, int column, Json *json) {
        const char *name = database->library.column_name(database->statement, column);

        if (strcmp(name, "name") == 0)
                name = "stage";
        switch (database->library.column_type(database->statement, column)) {
        case SQLITE_NULL:
                break;
        case SQLITE_INTEGER:
        case SQLITE_FLOAT:
                json_put_double(json, name, database->library.column_double(database->statement, column));
                break;
        default: /* a number that was stored as text is one as well */
                json_put_string(json, name, (const char *)database->library.column_text(database->statement, column) ?: "");
        }
}

static void put_row(SpdlDatabase *database, Buffer *line) {
        Json json = { .out = line };

        json_object_begin(&json);
        for (int i = 1; i < database->library.column_count(database->statement); i++)
                put_column(database, i, &json);
        json_object_end(&json);
}

/* Returns true if the row ends a collection, and is written as an event. */
static bool put_event(SpdlDatabase *database, Buffer *line) {
        const char *name = (const char *)database->library.column_text(database->statement, EVENT_NAME) ?: "";
        double begin_s = database->gc_begin_s, now_s = database->library.column_double(database->statement, EVENT_TIME);
        Json json = { .out = line };

        if (strcmp(name, GC_START) == 0)
                database->gc_begin_s = now_s;
        if (strcmp(name, GC_STOP) != 0 || isnan(begin_s))
                return false;
        database->gc_begin_s = NAN;

        json_object_begin(&json);
        json_put_string(&json, "event", "gc");
        json_put_double(&json, "time", begin_s);
        json_put_double(&json, "seconds", now_s - begin_s);
        json_object_end(&json);
        return true;
}

/* Continues with the next table. */
static int next_table(SpdlDatabase *database, char ret_error[static SPDL_DATABASE_ERROR_MAX]) {
        if (database->statement)
                (void)database->library.finalize(database->statement);
        database->statement = NULL;
        database->at++;
        return database->at < N_ELEMENTS(tables) ? prepare(database, ret_error) : SPDL_DATABASE_END;
}

int spdl_database_next(SpdlDatabase *database, Buffer *ret_line, char ret_error[static SPDL_DATABASE_ERROR_MAX]) {
        bool is_written = false;
        int r = 0;

        buffer_clear(ret_line);
        while (r == 0 && !is_written) {
                int code = database->statement ? database->library.step(database->statement) : SQLITE_DONE;

                if (code == SQLITE_DONE) {
                        r = next_table(database, ret_error);
                        continue;
                }
                if (code != SQLITE_ROW) {
                        (void)snprintf(ret_error, SPDL_DATABASE_ERROR_MAX, "%s after %s: %s", tables[database->at].name,
                                       database->place[0] ? database->place : "no row", database->library.message(database->db));
                        return SPDL_DATABASE_INVALID;
                }
                (void)snprintf(database->place, sizeof(database->place), "%s, row %lld", tables[database->at].name,
                               (long long)database->library.column_int64(database->statement, EVENT_ROW));
                is_written = database->at != EVENT_TABLE || put_event(database, ret_line);
                if (is_written && database->at != EVENT_TABLE)
                        put_row(database, ret_line);
        }
        return r == 0 ? buffer_error(ret_line) : r;
}

const char *spdl_database_place(const SpdlDatabase *database) {
        return database->place;
}
