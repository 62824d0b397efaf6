/* SPDX-License-Identifier: Apache-2.0 */
#include "store/salvage.h"

#include <assert.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/damaged_page.h"
#include "store/schema.h"
#include "store/store_subjects.h"
#include "util/clock.h"
#include "util/scoped.h"

#define DAMAGED ".damaged-"
#define SALVAGED ".salvaged-"

#define STEP_ROWS 512
#define STEP_BYTES (256 * 1024)
#define COLUMNS_MAX 32

/* --- names of files ------------------------------------------------------------------------------ */

static int rename_with(const char *path, const char *target, const char *suffix) {
        char from[PATH_MAX], to[PATH_MAX];

        if (snprintf(from, sizeof(from), "%s%s", path, suffix) >= (int)sizeof(from) ||
            snprintf(to, sizeof(to), "%s%s", target, suffix) >= (int)sizeof(to))
                return -ENAMETOOLONG;
        return rename(from, to) < 0 && errno != ENOENT ? -errno : 0;
}

/* The log first: a log that stays behind alone would be applied to the next file of that name. */
static int rename_database(const char *path, const char *target) {
        int r = rename_with(path, target, "-wal");

        return r < 0 ? r : rename_with(path, target, "");
}

int salvage_put_aside(const char *path, uint64_t now_realtime_ns, const char *reason, char **ret_note) {
        char when[CLOCK_TEXT_MAX], target[PATH_MAX], shm[PATH_MAX];
        int r;

        clock_format_utc(now_realtime_ns, when);
        if (snprintf(target, sizeof(target), "%s" DAMAGED "%s", path, when) >= (int)sizeof(target) ||
            snprintf(shm, sizeof(shm), "%s-shm", path) >= (int)sizeof(shm))
                return -ENAMETOOLONG;

        r = rename_database(path, target);
        if (r == 0 && unlink(shm) < 0 && errno != ENOENT)
                r = -errno;
        if (r < 0) {
                if (asprintf(ret_note, "%s is damaged (%s) and cannot be moved aside: %s", path, reason, strerrordesc_np(-r)) < 0)
                        *ret_note = NULL;
                return r;
        }

        if (asprintf(ret_note, "%s was damaged (%s): moved to %s; a new database was created, and the readable rows are moved into it",
                     path, reason, target) < 0)
                return -ENOMEM;
        return 0;
}

/* --- the damaged file ---------------------------------------------------------------------------- */

int salvage_open(Salvage *salvage, const char *damaged_path) {
        int r;

        *salvage = (Salvage){ .path = strdup(damaged_path) };
        if (!salvage->path)
                return -ENOMEM;

        r = damaged_file_open(&salvage->file, damaged_path, SCHEMA_APPLICATION_ID);
        if (r < 0) {
                salvage_close(salvage);
                return r;
        }
        if (r == DAMAGED_FILE_FOREIGN)
                salvage->file.n_pages = 0; /* no rows of ours */
        return 0;
}

int salvage_find(Salvage *salvage, const char *path) {
        char pattern[PATH_MAX];
        glob_t found = {};
        int r = 0;

        *salvage = (Salvage){};
        if (snprintf(pattern, sizeof(pattern), "%s" DAMAGED "*Z", path) >= (int)sizeof(pattern))
                return -ENAMETOOLONG;
        /* Names are sorted, and times in names sort by age. */
        if (glob(pattern, 0, NULL, &found) == 0)
                r = salvage_open(salvage, found.gl_pathv[found.gl_pathc - 1]);
        globfree(&found);
        return r;
}

void salvage_close(Salvage *salvage) {
        if (!salvage->path)
                return;

        damaged_tree_deinit(&salvage->leaves);
        damaged_file_close(&salvage->file);
        free(salvage->path);
        *salvage = (Salvage){};
}

int salvage_end(Salvage *salvage, char **ret_note) {
        const char *name = strstr(salvage->path, DAMAGED), *before = name;
        char target[PATH_MAX];
        int r;

        /* The last one: a directory may have the word in its name. */
        for (; name; name = strstr(name + 1, DAMAGED))
                before = name;
        assert(before);
        if (snprintf(target, sizeof(target), "%.*s" SALVAGED "%s", (int)(before - salvage->path), salvage->path,
                     before + strlen(DAMAGED)) >= (int)sizeof(target))
                return -ENAMETOOLONG;
        r = rename_database(salvage->path, target);
        if (r < 0)
                return r;

        if (asprintf(ret_note, "%lu rows were moved from the damaged database into the new one; the damaged file is kept as %s",
                     (unsigned long)salvage->n_rows, target) < 0)
                return -ENOMEM;
        salvage_close(salvage);
        return 0;
}

/* --- one row ------------------------------------------------------------------------------------- */

/* A row of the damaged file: columns in the order of the table, the first of which is the rowid; NULL behind the last. */
typedef struct Columns {
        Field fields[COLUMNS_MAX];
        size_t n;
} Columns;

/* A value that the table cannot have is damaged: the row is left out. */
static int run_for(Database *database, const Statement *statement, const Columns *columns, bool *ret_changed) {
        Prepared *prepared = database_prepare(database, statement, NULL, 0);
        int n = sqlite3_bind_parameter_count(prepared->handle), r;

        assert(n <= COLUMNS_MAX);
        statement_bind(prepared, columns->fields, (size_t)n, false);
        r = database_finish(database, prepared);
        *ret_changed = r == 0 && database_changes(database) > 0;
        return r == DATABASE_REFUSED ? 0 : r;
}

static int put_row(Salvage *salvage, Database *database, const StoreTable *table, const Statement *insert, const Columns *columns) {
        bool has_changed;
        int r = 0;

        if (table->salvage_before)
                r = run_for(database, table->salvage_before, columns, &has_changed);
        if (r == 0)
                r = run_for(database, insert, columns, &has_changed);
        if (r != 0 || !has_changed)
                return r;

        salvage->n_rows++;
        for (const Statement *after = table->salvage_after; r == 0 && after && after->sql; after++)
                r = run_for(database, after, columns, &has_changed);
        return r;
}

/* The row of a table has no value for its rowid; the row of an index has the rowid last. */
static bool read_columns(const DamagedRow *row, bool is_index, Columns *ret) {
        Field last;

        *ret = (Columns){};
        ret->n = damaged_page_fields(row, ret->fields, N_ELEMENTS(ret->fields));
        if (ret->n < 2)
                return false;
        if (!is_index) {
                ret->fields[0] = field_i64(row->rowid);
                return true;
        }
        last = ret->fields[ret->n - 1];
        memmove(&ret->fields[1], &ret->fields[0], (ret->n - 1) * sizeof(ret->fields[0]));
        ret->fields[0] = last;
        return last.type == FIELD_INTEGER;
}

/* --- one table ----------------------------------------------------------------------------------- */

static void row_deinit(DamagedRow *row) {
        buffer_deinit(&row->payload);
}

/* Stores the rows of a page, last row first, at most n_max rows. *ret_n: rows read. */
static int put_page(Salvage *salvage, Database *database, const StoreTable *table, const Statement *insert, uint32_t number,
                    bool is_index, size_t n_max, size_t *ret_n) {
        scoped(row_deinit) DamagedRow row = {};
        uint8_t page[DAMAGED_PAGE_BYTES];
        size_t n = 0;
        int r = 0;

        if (damaged_file_read(&salvage->file, number, page))
                n = damaged_page_count(number, page);
        *ret_n = 0;
        for (size_t i = n; r == 0 && i > 0 && *ret_n < n_max; i--) {
                Columns columns;

                r = damaged_page_row(&salvage->file, number, page, i - 1, &row);
                if (r < 0)
                        return r;
                if (r == DAMAGED_ROW_LOST || !read_columns(&row, is_index, &columns)) {
                        r = 0;
                        continue;
                }
                r = put_row(salvage, database, table, insert, &columns);
                ++*ret_n;
        }
        return r;
}

static int put_all(Salvage *salvage, Database *database, const StoreTable *table, const Statement *insert, uint32_t root,
                   bool is_index, size_t n_max) {
        DamagedTree leaves;
        size_t n = 0;
        int r;

        r = damaged_tree_find(&salvage->file, root, &leaves);
        for (size_t i = 0; r == 0 && i < leaves.n && n_max > 0; i++, n_max -= n)
                r = put_page(salvage, database, table, insert, leaves.pages[i], is_index, n_max, &n);
        damaged_tree_deinit(&leaves);
        return r;
}

/* --- roots --------------------------------------------------------------------------------------- */

enum { SCHEMA_NAME = 1, SCHEMA_ROOT = 3, N_SCHEMA_COLUMNS = 5 };

static bool is_named(const Columns *columns, const char *name) {
        const Field *field = &columns->fields[SCHEMA_NAME];

        return columns->n == N_SCHEMA_COLUMNS && field->type == FIELD_TEXT && (size_t)field->n == strlen(name) &&
               memcmp(field->text, name, (size_t)field->n) == 0;
}

/* The root in the schema of the damaged file; *ret stays as it is when the schema does not have the name. */
static int find_old_root(const DamagedFile *file, const char *name, uint32_t *ret) {
        scoped(row_deinit) DamagedRow row = {};
        uint8_t page[DAMAGED_PAGE_BYTES];
        DamagedTree leaves;
        int r;

        r = damaged_tree_find(file, 1, &leaves);
        for (size_t i = 0; r == 0 && i < leaves.n; i++) {
                size_t n = damaged_file_read(file, leaves.pages[i], page) ? damaged_page_count(leaves.pages[i], page) : 0;

                for (size_t k = 0; r == 0 && k < n; k++) {
                        Columns columns;

                        r = damaged_page_row(file, leaves.pages[i], page, k, &row);
                        columns.n = r == 0 ? damaged_page_fields(&row, columns.fields, COLUMNS_MAX) : 0;
                        if (is_named(&columns, name))
                                *ret = (uint32_t)columns.fields[SCHEMA_ROOT].integer;
                        if (r == DAMAGED_ROW_LOST)
                                r = 0;
                }
        }
        damaged_tree_deinit(&leaves);
        return r;
}

STATEMENT root_of = { "SELECT rootpage FROM sqlite_schema WHERE name = ?1", 1 };

/* Files of one version have the same roots, so that the new file knows what the damaged file does not say any more. */
static int find_root(const Salvage *salvage, Database *database, const char *name, uint32_t *ret) {
        int64_t root = 0;
        int r;

        r = database_get(database, &root_of, FIELDS(field_string(name)), &root);
        if (r != 0)
                return r;

        *ret = (uint32_t)root;
        return find_old_root(&salvage->file, name, ret);
}

/* --- all tables ---------------------------------------------------------------------------------- */

static const StoreTable *nth_table(size_t n) {
        for (const StoreSubject *const *subject = store_subjects_all(); *subject; subject++)
                for (const StoreTable *const *table = (*subject)->tables; *table; table++)
                        if (n-- == 0)
                                return *table;
        return NULL;
}

static int put_table(Salvage *salvage, Database *database, const StoreTable *table, const Statement *insert, size_t n_max) {
        uint32_t root;
        int r;

        r = find_root(salvage, database, table->name, &root);
        if (r == 0)
                r = put_all(salvage, database, table, insert, root, false, n_max);
        if (r != 0 || !table->salvage_index)
                return r;

        r = find_root(salvage, database, table->salvage_index, &root);
        return r == 0 ? put_all(salvage, database, table, insert, root, true, n_max) : r;
}

static int put_first(Salvage *salvage, Database *database) {
        const StoreTable *table;
        int r = 0;

        /* Small tables, to which the rows of others refer; then those of others that are needed at once. */
        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (table->salvage_first && !table->salvage)
                        r = put_table(salvage, database, table, table->salvage_first, SIZE_MAX);
        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (table->salvage_first && table->salvage)
                        r = put_table(salvage, database, table, table->salvage_first, SIZE_MAX);

        /* SQLite numbers new rows from the highest rowid on: with the last row there, no new row takes the number of an old one. */
        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (table->keeps_rowids)
                        r = put_table(salvage, database, table, table->salvage, 1);
        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (table->salvage_tidy)
                        r = database_run(database, table->salvage_tidy, NULL, 0);
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

        r = database_begin(database);
        return r != 0 ? r : end_transaction(database, put_first(salvage, database));
}

/* 0 with the leaves of the next table, or with *ret NULL after the last table. */
static int next_table(Salvage *salvage, Database *database, const StoreTable **ret) {
        const StoreTable *table;
        uint32_t root;
        int r;

        while ((table = nth_table(salvage->table)) && (!table->salvage || salvage->next_leaf == salvage->leaves.n)) {
                bool is_new = table->salvage && !salvage->leaves.pages;

                if (is_new) {
                        r = find_root(salvage, database, table->name, &root);
                        if (r == 0)
                                r = damaged_tree_find(&salvage->file, root, &salvage->leaves);
                        if (r != 0)
                                return r;
                        if (salvage->leaves.n > 0)
                                break;
                }
                damaged_tree_deinit(&salvage->leaves);
                salvage->next_leaf = 0;
                salvage->table++;
        }
        *ret = table;
        return 0;
}

static int put_some(Salvage *salvage, Database *database, bool *ret_has_more) {
        size_t n_rows = 0, n;

        for (size_t n_bytes = 0; n_rows < STEP_ROWS && n_bytes < STEP_BYTES; n_bytes += DAMAGED_PAGE_BYTES) {
                const StoreTable *table;
                int r;

                r = next_table(salvage, database, &table);
                if (r != 0)
                        return r;
                if (!table) {
                        *ret_has_more = false;
                        return 0;
                }

                r = put_page(salvage, database, table, table->salvage, salvage->leaves.pages[salvage->next_leaf], false, SIZE_MAX, &n);
                if (r != 0)
                        return r;
                n_rows += n;
                salvage->next_leaf++;
        }
        *ret_has_more = true;
        return 0;
}

int salvage_step(Salvage *salvage, Database *database, bool *ret_has_more) {
        int r;

        r = database_begin(database);
        return r != 0 ? r : end_transaction(database, put_some(salvage, database, ret_has_more));
}
