/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_database_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/pipeline/interval_rows.h"
#include "client/spdl/sqlite_library.h"
#include "util/scoped.h"

#define COLUMNS_MAX 10

/* A table of SPDL. Its columns are a time, a name, and members of an interval of perfd. */
typedef struct WrittenTable {
        const char *create, *insert;
        const char *part;                 /* of the intervals */
        const char *suffix;               /* of the name */
        const char *members[COLUMNS_MAX]; /* NULL-terminated */
} WrittenTable;

static const WrittenTable tables[] = {
        {
                "CREATE TABLE task_stats (id INTEGER PRIMARY KEY, timestamp REAL, name TEXT, num_tasks INTEGER, num_failures INTEGER,"
                " ave_time REAL, p90_time REAL, p99_time REAL); CREATE INDEX task_stats_timestamp ON task_stats (timestamp)",
                "INSERT INTO task_stats (timestamp, name, num_tasks, num_failures, ave_time, p90_time, p99_time)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                "tasks", "", { "num_tasks", "num_failures", "ave_time", "p90_time", "p99_time" },
        },
        {
                "CREATE TABLE queue_stats (id INTEGER PRIMARY KEY, timestamp REAL, name TEXT, elapsed REAL, num_items INTEGER,"
                " ave_put_time REAL, ave_get_time REAL, p90_put_time REAL, p99_put_time REAL, p90_get_time REAL, p99_get_time REAL,"
                " occupancy_rate REAL); CREATE INDEX queue_stats_timestamp ON queue_stats (timestamp)",
                "INSERT INTO queue_stats (timestamp, name, elapsed, num_items, ave_put_time, ave_get_time, p90_put_time, p99_put_time,"
                " p90_get_time, p99_get_time, occupancy_rate) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                "queue", "_queue",
                { "elapsed_s", "num_items", "ave_put_time", "ave_get_time", "p90_put_time", "p99_put_time", "p90_get_time", "p99_get_time",
                  "occupancy_rate" },
        },
};

static const char events_create[] = "CREATE TABLE event_stats (id INTEGER PRIMARY KEY, timestamp REAL, event_name TEXT);"
                                    " CREATE INDEX event_stats_timestamp ON event_stats (timestamp)";
static const char events_insert[] = "INSERT INTO event_stats (timestamp, event_name) VALUES (?, ?)";

typedef struct SpdlWriter {
        SqliteLibrary library;
        sqlite3 *db;
        sqlite3_stmt *statement;
        size_t n;
        char *error; /* of SPDL_DATABASE_ERROR_MAX bytes */
} SpdlWriter;

static void close_writer(SpdlWriter *writer) {
        if (writer->statement)
                (void)writer->library.finalize(writer->statement);
        if (writer->db)
                (void)writer->library.close(writer->db);
        sqlite_library_unload(&writer->library);
}

static int fail(SpdlWriter *writer) {
        (void)snprintf(writer->error, SPDL_DATABASE_ERROR_MAX, "%s", writer->library.message(writer->db));
        return SPDL_DATABASE_INVALID;
}

static int run(SpdlWriter *writer, const char *sql) {
        return writer->library.exec(writer->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(writer);
}

static int begin_rows(SpdlWriter *writer, const char *create, const char *insert) {
        if (writer->statement)
                (void)writer->library.finalize(writer->statement);
        writer->statement = NULL;
        if (run(writer, create) != 0)
                return SPDL_DATABASE_INVALID;
        return writer->library.prepare(writer->db, insert, -1, &writer->statement, NULL) == SQLITE_OK ? 0 : fail(writer);
}

static int end_row(SpdlWriter *writer) {
        if (writer->library.step(writer->statement) != SQLITE_DONE)
                return fail(writer);
        writer->n++;
        return writer->library.reset(writer->statement) == SQLITE_OK ? 0 : fail(writer);
}

static void bind_name(SpdlWriter *writer, const char *name, const char *suffix) {
        char text[512];

        (void)snprintf(text, sizeof(text), "%s%s", name, suffix);
        (void)writer->library.bind_text(writer->statement, 2, text, -1, SQLITE_TRANSIENT);
}

static int put_interval(SpdlWriter *writer, const WrittenTable *table, const Value *interval) {
        double v;

        (void)writer->library.bind_double(writer->statement, 1, value_get_double(interval, "end_ms", &v) ? v / 1e3 : 0);
        bind_name(writer, value_get_string(interval, "stage") ?: "", table->suffix);
        for (int i = 0; table->members[i]; i++)
                if (value_get_double(interval, table->members[i], &v))
                        (void)writer->library.bind_double(writer->statement, 3 + i, v);
                else
                        (void)writer->library.bind_null(writer->statement, 3 + i);
        return end_row(writer);
}

static int put_event(SpdlWriter *writer, const Value *event) {
        const char *name = value_get_string(event, "name") ?: "";
        double begin_ms = 0, seconds = 0;
        int r;

        (void)value_get_double(event, "time_ms", &begin_ms);
        (void)value_get_double(event, "seconds", &seconds);
        (void)writer->library.bind_double(writer->statement, 1, begin_ms / 1e3);
        bind_name(writer, name, "_start");
        r = end_row(writer);
        if (r != 0)
                return r;
        (void)writer->library.bind_double(writer->statement, 1, begin_ms / 1e3 + seconds);
        bind_name(writer, name, "_stop");
        return end_row(writer);
}

static int put_all(SpdlWriter *writer, const SpdlRows *rows) {
        scoped(interval_rows_deinit) IntervalRows intervals = {};
        const Value *events = value_get(rows->events, "events");
        int r;

        r = interval_rows_init(&intervals, rows->intervals);
        if (r < 0) {
                (void)snprintf(writer->error, SPDL_DATABASE_ERROR_MAX, "out of memory");
                return SPDL_DATABASE_INVALID;
        }
        r = run(writer, "BEGIN");
        for (size_t i = 0; i < N_ELEMENTS(tables) && r == 0; i++) {
                r = begin_rows(writer, tables[i].create, tables[i].insert);
                for (size_t k = 0; k < intervals.n && r == 0; k++)
                        if (strcmp(value_get_string(intervals.items[k], "part") ?: "", tables[i].part) == 0)
                                r = put_interval(writer, &tables[i], intervals.items[k]);
        }
        if (r == 0)
                r = begin_rows(writer, events_create, events_insert);
        for (size_t k = 0; events && k < events->n_items && r == 0; k++)
                r = put_event(writer, &events->items[k]);
        return r == 0 ? run(writer, "COMMIT") : r;
}

int spdl_database_write(const char *path, const SpdlRows *rows, size_t *ret_n, char ret_error[static SPDL_DATABASE_ERROR_MAX]) {
        SpdlWriter writer = { .error = ret_error };
        int fd, r;

        if (!sqlite_library_load(&writer.library)) {
                (void)snprintf(ret_error, SPDL_DATABASE_ERROR_MAX, SQLITE_LIBRARY_ADVICE);
                sqlite_library_unload(&writer.library);
                return SPDL_DATABASE_INVALID;
        }
        fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        if (fd < 0) {
                (void)snprintf(ret_error, SPDL_DATABASE_ERROR_MAX, "%s", errno == EEXIST ? "exists: remove the file, or choose another" :
                                                                                           strerrordesc_np(errno));
                sqlite_library_unload(&writer.library);
                return SPDL_DATABASE_INVALID;
        }
        (void)close(fd);
        r = writer.library.open(path, &writer.db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK ? put_all(&writer, rows) : fail(&writer);
        close_writer(&writer);
        if (r != 0)
                (void)unlink(path);
        *ret_n = writer.n;
        return r;
}
