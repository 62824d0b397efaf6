/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damage/salvage.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/table/schema.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/scoped.h"

#define DAMAGED ".damaged-"
#define OLDER ".older-"
#define SALVAGED ".salvaged-"
#define FILES_KEPT 3U /* damaged files, salvaged or not */

#define EMPTY_BYTES_MAX (1U << 20) /* of a database without rows */

#define STEP_ROWS 512
#define STEP_BYTES (256 * 1024)

/* Rows that a statement stores. */
typedef enum InsertKind {
        INSERT_ROW,
        INSERT_NEEDED,   /* as it is, see TableSalvage.needed */
        INSERT_RESTORED, /* of an index */
} InsertKind;

/* --- names of files ------------------------------------------------------------------------------ */

static int rename_with(const char *path, const char *target, const char *suffix) {
        char from[PATH_MAX], to[PATH_MAX];

        if (snprintf(from, sizeof(from), "%s%s", path, suffix) >= (int)sizeof(from) ||
            snprintf(to, sizeof(to), "%s%s", target, suffix) >= (int)sizeof(to))
                return -ENAMETOOLONG;
        return rename(from, to) < 0 && errno != ENOENT ? -errno : 0;
}

/* Renames the log first: a log that stays behind alone would be applied to the next file of that name. */
static int rename_database(const char *path, const char *target) {
        int r = rename_with(path, target, "-wal");

        return r < 0 ? r : rename_with(path, target, "");
}

static int put_aside(const char *path, const char *infix, uint64_t now_realtime_ns, char ret_target[static PATH_MAX]) {
        char when[CLOCK_TEXT_MAX], shm[PATH_MAX];
        int r;

        clock_format_utc(now_realtime_ns, when);
        if (snprintf(ret_target, PATH_MAX, "%s%s%s", path, infix, when) >= PATH_MAX ||
            snprintf(shm, sizeof(shm), "%s-shm", path) >= (int)sizeof(shm))
                return -ENAMETOOLONG;

        r = rename_database(path, ret_target);
        return r == 0 && unlink(shm) < 0 && errno != ENOENT ? -errno : r;
}

/* Writes the path as a pattern of glob() that matches this path only. Returns false without room. */
static bool escape_path(const char *path, char *ret, size_t n) {
        size_t used = 0;

        for (; *path; path++) {
                if (used + 3 > n)
                        return false;
                if (strchr("*?[\\", *path))
                        ret[used++] = '\\';
                ret[used++] = *path;
        }
        ret[used] = '\0';
        return true;
}

/* Finds the files that were put aside with this infix. Names are sorted, and the times in names sort by age. */
static void find_files(const char *path, const char *infix, glob_t *ret) {
        char escaped[PATH_MAX], pattern[PATH_MAX + sizeof(SALVAGED "*Z")];

        *ret = (glob_t){};
        if (!escape_path(path, escaped, sizeof(escaped)))
                return;
        (void)snprintf(pattern, sizeof(pattern), "%s%s*Z", escaped, infix);
        if (glob(pattern, 0, NULL, ret) != 0)
                ret->gl_pathc = 0;
}

static void remove_database(const char *path) {
        char wal[PATH_MAX];

        (void)unlink(path);
        if (snprintf(wal, sizeof(wal), "%s-wal", path) < (int)sizeof(wal))
                (void)unlink(wal);
}

static void remove_surplus(const char *path) {
        glob_t damaged, salvaged;
        size_t n_damaged, n_salvaged;

        find_files(path, DAMAGED, &damaged);
        find_files(path, SALVAGED, &salvaged);
        n_damaged = damaged.gl_pathc;
        n_salvaged = salvaged.gl_pathc;
        for (; n_damaged + n_salvaged > FILES_KEPT && n_salvaged > 0; n_salvaged--)
                remove_database(salvaged.gl_pathv[salvaged.gl_pathc - n_salvaged]);
        for (; n_damaged > FILES_KEPT; n_damaged--)
                remove_database(damaged.gl_pathv[n_damaged - 2]);
        globfree(&damaged);
        globfree(&salvaged);
}

size_t salvage_find_copies(const char *path, bool removes) {
        static const char *const infixes[] = { DAMAGED, OLDER, SALVAGED };
        size_t n = 0;

        for (size_t i = 0; i < N_ELEMENTS(infixes); i++) {
                glob_t copies;

                find_files(path, infixes[i], &copies);
                for (size_t k = 0; removes && k < copies.gl_pathc; k++)
                        remove_database(copies.gl_pathv[k]);
                globfree(&copies);
                find_files(path, infixes[i], &copies);
                n += copies.gl_pathc;
                globfree(&copies);
        }
        return n;
}

int salvage_put_aside(const char *path, uint64_t now_realtime_ns, const char *reason, char **ret_note) {
        char target[PATH_MAX];
        int r;

        r = put_aside(path, DAMAGED, now_realtime_ns, target);
        if (r < 0) {
                if (asprintf(ret_note, "%s is damaged (%s) and cannot be moved aside: %s", path, reason,
                             error_text(-r)) < 0)
                        *ret_note = NULL;
                return r;
        }

        remove_surplus(path);
        if (asprintf(ret_note,
                     "%s was damaged (%s): moved to %s; a new database was created, and the readable rows are moved "
                     "into it",
                     path, reason, target) < 0)
                return -ENOMEM;
        return 0;
}

int salvage_put_older_aside(const char *path, uint64_t now_realtime_ns, int64_t version, char **ret_note) {
        char target[PATH_MAX];
        int r;

        r = put_aside(path, OLDER, now_realtime_ns, target);
        if (r < 0) {
                if (asprintf(ret_note, "%s has format %lld of an older perfd and cannot be moved aside: %s", path,
                             (long long)version, error_text(-r)) < 0)
                        *ret_note = NULL;
                return r;
        }

        if (asprintf(ret_note,
                     "%s has format %lld of an older perfd, which this perfd cannot read: moved to %s; a new "
                     "database was created",
                     path, (long long)version, target) < 0)
                return -ENOMEM;
        return 0;
}

/* --- the damaged file ---------------------------------------------------------------------------- */

static void database_closep(Database *database) {
        database_close(database);
}

/* Creates an empty database in a file of this name, and reads its bytes. 0, an outcome, or a negative errno. */
static int make_empty(const char *path, char **ret_image, size_t *ret_n) {
        scoped(database_closep) Database empty = {};
        int64_t unused;
        int r;

        r = database_open(&empty, path);
        if (r == 0)
                r = schema_setup(&empty, true, &unused);
        database_close(&empty); /* writes the log into the file */
        return r != 0 ? r : file_read_at(AT_FDCWD, path, EMPTY_BYTES_MAX, ret_image, ret_n);
}

/* Uses the schema of an empty database where that of the file is damaged. Not every SQLite has sqlite3_serialize(). */
static int complete_schema(DamagedFile *file, const char *path) {
        scoped(freep) char *image = NULL;
        char empty[PATH_MAX];
        size_t n;
        int r;

        if (damaged_file_has_schema(file))
                return 0;
        if (snprintf(empty, sizeof(empty), "%s-empty", path) >= (int)sizeof(empty))
                return -ENAMETOOLONG;
        (void)unlink(empty);
        r = make_empty(empty, &image, &n);
        (void)unlink(empty);
        if (r != 0)
                return r < 0 ? r : -EIO;
        return damaged_file_set_schema(file, TAKE(image), n);
}

int salvage_open(Salvage *salvage, const char *damaged_path) {
        int r;

        *salvage = (Salvage){ .path = strdup(damaged_path) };
        if (!salvage->path)
                return -ENOMEM;

        r = damaged_file_open(&salvage->file, damaged_path, SCHEMA_APPLICATION_ID);
        if (r == 0)
                r = complete_schema(salvage->file, damaged_path);
        if (r == 0)
                sqlite3_db_config(damaged_file_database(salvage->file), SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
        if (r == DAMAGED_FILE_FOREIGN)
                return 0; /* not a database of perfd: there are no rows */
        if (r < 0)
                salvage_close(salvage);
        else
                salvage->n_pages_lost = damaged_file_missing(salvage->file);
        return r;
}

int salvage_find(Salvage *salvage, const char *path) {
        glob_t found;
        int r = 0;

        *salvage = (Salvage){};
        find_files(path, DAMAGED, &found);
        if (found.gl_pathc > 0)
                r = salvage_open(salvage, found.gl_pathv[found.gl_pathc - 1]);
        globfree(&found);
        return r;
}

static void stop_reading(Salvage *salvage) {
        damaged_table_close(&salvage->reading);
        sqlite3_finalize(TAKE(salvage->insert));
        sqlite3_finalize(TAKE(salvage->restore));
        sqlite3_finalize(TAKE(salvage->exists));
}

void salvage_close(Salvage *salvage) {
        if (!salvage->path)
                return;

        stop_reading(salvage);
        damaged_file_free(salvage->file);
        free(salvage->path);
        *salvage = (Salvage){};
}

void salvage_describe_loss(const Salvage *salvage, char *ret, size_t n) {
        ret[0] = '\0';
        if (salvage->n_rows_lost > 0 || salvage->n_pages_lost > 0)
                (void)snprintf(ret, n, "at least %lu rows and %lu pages were not found",
                               (unsigned long)salvage->n_rows_lost, (unsigned long)salvage->n_pages_lost);
}

int salvage_end(Salvage *salvage, char **ret_note) {
        const char *name = strstr(salvage->path, DAMAGED), *before = name;
        char target[PATH_MAX], loss[SALVAGE_LOSS_MAX];
        int r;

        /* Finds the last occurrence: the name of a directory may contain the word, too. */
        for (; name; name = strstr(name + 1, DAMAGED))
                before = name;
        assert(before);
        if (snprintf(target, sizeof(target), "%.*s" SALVAGED "%s", (int)(before - salvage->path), salvage->path,
                     before + strlen(DAMAGED)) >= (int)sizeof(target))
                return -ENAMETOOLONG;
        r = rename_database(salvage->path, target);
        if (r < 0)
                return r;

        salvage_describe_loss(salvage, loss, sizeof(loss));
        if (asprintf(ret_note,
                     "%lu rows were moved from the damaged database into the new one%s%s; the damaged file is kept "
                     "as %s",
                     (unsigned long)salvage->n_rows, loss[0] ? "; " : "", loss, target) < 0)
                return -ENOMEM;
        salvage_close(salvage);
        return 0;
}

/* --- rows ---------------------------------------------------------------------------------------- */

static const char *value_of(const SalvagedValue *values, const char *column) {
        for (; values && values->column; values++)
                if (strcmp(values->column, column) == 0)
                        return values->sql;
        return NULL;
}

/* The parts of a statement "INSERT OR IGNORE INTO job SELECT old.row, … FROM (SELECT ?1 AS row, …) AS old WHERE …". */
typedef struct InsertText {
        Buffer values, from, types, changes;
        unsigned n;
} InsertText;

static void insert_text_deinit(InsertText *text) {
        buffer_deinit(&text->values);
        buffer_deinit(&text->from);
        buffer_deinit(&text->types);
        buffer_deinit(&text->changes);
}

/* kind: of the pass, see write_insert(). type: of a column, ""; any. preset: SQL of the value that an index lacks. A
 * value of another type is damaged: the tables have no types that SQLite enforces, as not every version has STRICT. */
static void add_column(InsertText *text, const TableSalvage *rule, InsertKind kind, const char *name, const char *type,
                       const char *preset) {
        const char *value = kind == INSERT_NEEDED ? NULL : value_of(rule->values, name);
        const char *comma = text->n++ > 0 ? ", " : "", *restored = value_of(rule->restored, name);
        char own[64];

        (void)snprintf(own, sizeof(own), "old.%s", name);
        buffer_printf(&text->values, "%sifnull(%s, %s)", comma, value ? value : own,
                      kind != INSERT_RESTORED ? "NULL" : restored ? restored : preset);
        buffer_printf(&text->from, "%s?%u AS %s", comma, text->n, name);
        if (type[0])
                buffer_printf(&text->types, " AND upper(typeof(old.%s)) IN ('NULL', '%s'%s)", name, type,
                              strcmp(type, "REAL") == 0 ? ", 'INTEGER'" : "");
        buffer_printf(&text->changes, "%s%s = iif(?%u IS NULL, %s, excluded.%s)", comma, name, text->n, name, name);
}

/* Writes the statement that stores a row. A row that is restored from indexes is completed by each index. */
static int write_insert(Database *database, const StoreTable *table, InsertKind kind, Buffer *sql) {
        scoped(statement_finalizep) sqlite3_stmt *column = NULL;
        scoped(insert_text_deinit) InsertText text = {};
        const TableSalvage *rule = table->salvage;
        int code;

        code = sqlite3_prepare_v2(database->db,
                                  "SELECT name, type, iif(\"notnull\", iif(type = 'TEXT', quote(''), '0'), 'NULL')"
                                  " FROM pragma_table_info(?1)",
                                  -1, &column, NULL);
        if (code != SQLITE_OK)
                return database_outcome(database->db, code);
        sqlite3_bind_text(column, 1, table->name, -1, SQLITE_STATIC);
        while ((code = sqlite3_step(column)) == SQLITE_ROW)
                add_column(&text, rule, kind, (const char *)sqlite3_column_text(column, 0),
                           (const char *)sqlite3_column_text(column, 1), (const char *)sqlite3_column_text(column, 2));

        assert(text.n > 0 && text.n <= DAMAGED_COLUMNS_MAX);
        buffer_printf(sql, "INSERT OR IGNORE INTO %s SELECT %s", table->name, text.values.text ?: "");
        buffer_printf(sql, " FROM (SELECT %s) AS old WHERE %s%s", text.from.text ?: "", rule->condition ?: "1",
                      text.types.text ?: "");
        if (kind == INSERT_RESTORED)
                buffer_printf(sql, " ON CONFLICT (row) DO UPDATE SET %s WHERE %s", text.changes.text ?: "",
                              rule->is_restored);
        if (buffer_error(sql) < 0 || buffer_error(&text.values) < 0 || buffer_error(&text.from) < 0 ||
            buffer_error(&text.types) < 0 || buffer_error(&text.changes) < 0)
                return -ENOMEM;
        return database_outcome(database->db, code);
}

static int prepare(Database *database, const StoreTable *table, InsertKind kind, sqlite3_stmt **ret) {
        scoped(buffer_deinit) Buffer sql = {};
        int r = write_insert(database, table, kind, &sql);

        return r == 0 ? database_outcome(database->db, sqlite3_prepare_v2(database->db, sql.text, -1, ret, NULL)) : r;
}

/* Begins to read a table. is_needed: only rows that are needed at once. */
static int start_reading(Salvage *salvage, Database *database, const StoreTable *table, bool is_needed) {
        char exists[96];
        int r;

        stop_reading(salvage);
        r = damaged_table_open(&salvage->reading, salvage->file, database, table->name,
                               is_needed ? table->salvage->needed : NULL);
        if (r == 0)
                r = prepare(database, table, is_needed ? INSERT_NEEDED : INSERT_ROW, &salvage->insert);
        if (r == 0 && table->salvage->restored)
                r = prepare(database, table, INSERT_RESTORED, &salvage->restore);
        if (r != 0 || !salvage->reading.has_rowids)
                return r;
        (void)snprintf(exists, sizeof(exists), "SELECT 1 FROM %s WHERE rowid = ?1", table->name);
        return database_outcome(database->db, sqlite3_prepare_v2(database->db, exists, -1, &salvage->exists, NULL));
}

/* Runs a statement with the first values of a row. A row that the table cannot have is damaged: it is left out. */
static int run_for(Database *database, const Statement *statement, const Field *fields) {
        Prepared *prepared;
        int r;

        prepared = database_prepare(database, statement, NULL, 0);
        statement_bind(prepared, fields, (size_t)sqlite3_bind_parameter_count(prepared->handle), false);
        r = database_finish(database, prepared);
        return r == DATABASE_REFUSED ? 0 : r;
}

static int run_prepared(Database *database, sqlite3_stmt *statement, const Field *fields, size_t n) {
        Prepared prepared = { .handle = statement };

        statement_bind(&prepared, fields, n, false);
        return database_finish(database, &prepared);
}

static int put_row(Salvage *salvage, Database *database, const TableSalvage *rule, const Field *fields, size_t n) {
        int r = 0;

        if (rule->before)
                r = run_for(database, rule->before, fields);
        if (r == 0)
                r = run_prepared(database, salvage->insert, fields, n);
        if (r != 0 || database_changes(database) == 0)
                return r == DATABASE_REFUSED ? 0 : r;

        salvage->n_rows++;
        for (const Statement *after = rule->after; r == 0 && after && after->sql; after++)
                r = run_for(database, after, fields);
        return r;
}

static int check_row(Salvage *salvage, Database *database, const Field *key, bool *ret_exists) {
        Prepared prepared = { .handle = salvage->exists };
        int r;

        statement_bind(&prepared, key, 1, false);
        r = database_step(database, &prepared);
        *ret_exists = r == DATABASE_ROW;
        return *ret_exists ? database_finish(database, &prepared) : r;
}

/* An index tells which rows there were: restores what it has of a row, and counts the row if that is not enough. */
static int put_row_of_index(Salvage *salvage, Database *database, const TableSalvage *rule, const Field *fields,
                            size_t n) {
        bool was_there, is_there = true;
        int r;

        if (salvage->reading.source != salvage->source) {
                salvage->source = salvage->reading.source;
                salvage->n_lost_of_index = 0;
        }
        r = check_row(salvage, database, &fields[0], &was_there);
        if (r == 0 && (!was_there || rule->restored))
                r = run_prepared(database, rule->restored ? salvage->restore : salvage->insert, fields, n);
        if (r == DATABASE_REFUSED)
                r = 0;
        if (r == 0 && !was_there)
                r = check_row(salvage, database, &fields[0], &is_there);
        if (r != 0)
                return r;

        salvage->n_rows += !was_there && is_there;
        if (!is_there && ++salvage->n_lost_of_index > salvage->n_lost_of_table)
                salvage->n_lost_of_table = salvage->n_lost_of_index;
        return 0;
}

/* Stores the next rows of the table, at most n_max. *ret_has_more: false after the last row. */
static int put_rows(Salvage *salvage, Database *database, const StoreTable *table, size_t n_max, bool *ret_has_more) {
        Field fields[DAMAGED_COLUMNS_MAX];
        size_t n = 1, n_bytes = 0;
        int r = 0;

        for (size_t n_rows = 0; r == 0 && n > 0 && n_rows < n_max && n_bytes < STEP_BYTES; n_rows++) {
                r = damaged_table_next(&salvage->reading, fields, &n);
                if (r == 0 && n > 0)
                        r = (salvage->reading.source > 0 ? put_row_of_index : put_row)(salvage, database,
                                                                                       table->salvage, fields, n);
                for (size_t i = 0; i < n; i++)
                        n_bytes += fields[i].type >= FIELD_TEXT ? (size_t)fields[i].n : sizeof(fields[i]);
        }
        *ret_has_more = n > 0;
        return r;
}

static int put_all(Salvage *salvage, Database *database, const StoreTable *table) {
        bool has_more = true;
        int r = 0;

        while (r == 0 && has_more)
                r = put_rows(salvage, database, table, SIZE_MAX, &has_more);
        return r;
}

static void count_table(Salvage *salvage) {
        salvage->n_rows_lost += salvage->n_lost_of_table;
        salvage->n_pages_lost += salvage->reading.n_pages_lost;
        salvage->n_lost_of_table = salvage->source = 0;
}

/* --- order of the tables ------------------------------------------------------------------------- */

static const StoreTable *nth_table(size_t n) {
        for (const StoreSubject *const *subject = store_subject_list; *subject; subject++)
                for (const StoreTable *const *table = (*subject)->tables; *table; table++)
                        if ((*table)->salvage && n-- == 0)
                                return *table;
        return NULL;
}

/* Finds the highest rowid on the pages of a table whose last page is damaged. *ret stays as it is when there is
 * none. */
static int find_last(Salvage *salvage, Field *key) {
        Field fields[DAMAGED_COLUMNS_MAX];
        size_t n = 1;
        int r = 0;

        while (r == 0 && n > 0) {
                r = damaged_table_next(&salvage->reading, fields, &n);
                if (r == 0 && n > 0 && salvage->reading.source == 0 && fields[0].integer > key->integer)
                        key->integer = fields[0].integer;
        }
        return r;
}

/* SQLite numbers new rows after the highest rowid: with the last row stored, no new row gets the number of an old
 * row. */
static int put_last(Salvage *salvage, Database *database, const StoreTable *table) {
        Field fields[DAMAGED_COLUMNS_MAX], key;
        size_t n;
        int r;

        r = start_reading(salvage, database, table, false);
        if (r == 0)
                r = damaged_table_next(&salvage->reading, fields, &n);
        if (r != 0 || n == 0 || !salvage->reading.has_rowids)
                return r;

        key = fields[0];
        if (salvage->reading.is_damaged) {
                r = find_last(salvage, &key);
                if (r == 0)
                        r = start_reading(salvage, database, table, false);
                do
                        r = r == 0 ? damaged_table_next(&salvage->reading, fields, &n) : r;
                while (r == 0 && n > 0 && fields[0].integer != key.integer);
        }
        return r == 0 && n > 0 ? put_row(salvage, database, table->salvage, fields, n) : r;
}

/* Stores the rows of one table that must be there before other rows are stored. */
static int put_first(Salvage *salvage, Database *database, const StoreTable *table) {
        const TableSalvage *rule = table->salvage;
        int r = 0;

        if (rule->is_first || rule->needed) {
                r = start_reading(salvage, database, table, !rule->is_first);
                if (r == 0)
                        r = put_all(salvage, database, table);
                if (r == 0 && rule->is_first)
                        count_table(salvage);
        }
        salvage->n_lost_of_table = salvage->source = 0;
        if (r == 0 && rule->finish)
                r = database_run(database, rule->finish, NULL, 0);
        return r == 0 && !rule->is_first ? put_last(salvage, database, table) : r;
}

static int put_first_tables(Salvage *salvage, Database *database) {
        const StoreTable *table;
        int r = 0;

        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (table->salvage->is_first)
                        r = put_first(salvage, database, table);
        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (!table->salvage->is_first)
                        r = put_first(salvage, database, table);
        stop_reading(salvage);
        return r;
}

static int end_transaction(Database *database, int r) {
        if (r == 0)
                r = database_commit(database);
        if (r != 0)
                database_rollback(database);
        return r;
}

int salvage_begin(Salvage *salvage, Database *database) {
        int r;

        if (!salvage->file)
                return 0;
        r = database_begin(database);
        return r != 0 ? r : end_transaction(database, put_first_tables(salvage, database));
}

static int put_some(Salvage *salvage, Database *database, bool *ret_has_more) {
        const StoreTable *table = nth_table(salvage->table);
        bool has_more;
        int r = 0;

        *ret_has_more = salvage->file && table;
        if (!*ret_has_more)
                return 0;
        if (table->salvage->is_first) {
                salvage->table++;
                return 0;
        }
        if (!salvage->insert)
                r = start_reading(salvage, database, table, false);
        if (r == 0)
                r = put_rows(salvage, database, table, STEP_ROWS, &has_more);
        if (r != 0 || has_more)
                return r;

        count_table(salvage);
        stop_reading(salvage);
        salvage->table++;
        return 0;
}

int salvage_step(Salvage *salvage, Database *database, bool *ret_has_more) {
        int r;

        r = database_begin(database);
        return r != 0 ? r : end_transaction(database, put_some(salvage, database, ret_has_more));
}
