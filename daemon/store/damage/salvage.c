/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damage/salvage.h"

#include <assert.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/damage/damaged_page.h"
#include "store/schema.h"
#include "store/store_subject.h"
#include "util/clock.h"
#include "util/scoped.h"

#define DAMAGED ".damaged-"
#define OLDER ".older-"
#define SALVAGED ".salvaged-"

#define STEP_ROWS 512
#define STEP_BYTES (256 * 1024)

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

int salvage_put_aside(const char *path, uint64_t now_realtime_ns, const char *reason, char **ret_note) {
        char target[PATH_MAX];
        int r;

        r = put_aside(path, DAMAGED, now_realtime_ns, target);
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

int salvage_put_older_aside(const char *path, uint64_t now_realtime_ns, int64_t version, char **ret_note) {
        char target[PATH_MAX];
        int r;

        r = put_aside(path, OLDER, now_realtime_ns, target);
        if (r < 0) {
                if (asprintf(ret_note, "%s has format %lld of an older perfd and cannot be moved aside: %s", path, (long long)version,
                             strerrordesc_np(-r)) < 0)
                        *ret_note = NULL;
                return r;
        }

        if (asprintf(ret_note, "%s has format %lld of an older perfd, which this perfd cannot read: moved to %s; a new database was "
                     "created", path, (long long)version, target) < 0)
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
                salvage->file.n_pages = 0; /* not a database of perfd */
        return 0;
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

int salvage_find(Salvage *salvage, const char *path) {
        char escaped[PATH_MAX], pattern[PATH_MAX + sizeof(DAMAGED "*Z")];
        glob_t found = {};
        int r = 0;

        *salvage = (Salvage){};
        if (!escape_path(path, escaped, sizeof(escaped)))
                return -ENAMETOOLONG;
        (void)snprintf(pattern, sizeof(pattern), "%s" DAMAGED "*Z", escaped);
        /* Names are sorted, and the times in names sort by age. */
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

        if (asprintf(ret_note, "%lu rows were moved from the damaged database into the new one; the damaged file is kept as %s",
                     (unsigned long)salvage->n_rows, target) < 0)
                return -ENOMEM;
        salvage_close(salvage);
        return 0;
}

/* --- rows ---------------------------------------------------------------------------------------- */

/* A table or index whose rows are read, and the statements that store them (store_subject.h). */
typedef struct SalvagePlan {
        const char *name; /* of the table or index */
        const Statement *before, *insert, *after; /* after: an array that ends with {} */
        const Statement *always;
} SalvagePlan;

static SalvagePlan plan_table(const StoreTable *table, const Statement *insert) {
        return (SalvagePlan){ table->name, table->salvage.before, insert, table->salvage.after, NULL };
}

static SalvagePlan plan_index(const StoreIndex *index) {
        return (SalvagePlan){ index->name, NULL, index->salvage, NULL, index->after };
}

/* A value that the table cannot have is damaged: the row is left out. NULL: runs nothing. */
static int run_for(Database *database, const Statement *statement, const DamagedValues *values, bool *ret_changed) {
        Prepared *prepared;
        int n, r;

        *ret_changed = false;
        if (!statement)
                return 0;
        prepared = database_prepare(database, statement, NULL, 0);
        n = sqlite3_bind_parameter_count(prepared->handle);
        assert(n <= DAMAGED_COLUMNS_MAX);
        statement_bind(prepared, values->fields, (size_t)n, false);
        r = database_finish(database, prepared);
        *ret_changed = r == 0 && database_changes(database) > 0;
        return r == DATABASE_REFUSED ? 0 : r;
}

static int put_row(Salvage *salvage, Database *database, const SalvagePlan *plan, const DamagedValues *values) {
        bool has_changed, unused;
        int r;

        r = run_for(database, plan->before, values, &unused);
        if (r == 0)
                r = run_for(database, plan->insert, values, &has_changed);
        if (r != 0)
                return r;

        salvage->n_rows += has_changed;
        for (const Statement *after = plan->after; r == 0 && has_changed && after && after->sql; after++)
                r = run_for(database, after, values, &unused);
        return r == 0 ? run_for(database, plan->always, values, &unused) : r;
}

static void row_deinit(DamagedRow *row) {
        buffer_deinit(&row->payload);
}

/* Stores the rows of a page, last row first, at most n_max rows. *ret_n: rows read. */
static int put_page(Salvage *salvage, Database *database, const SalvagePlan *plan, const DamagedSource *source, uint32_t number,
                    size_t n_max, size_t *ret_n) {
        scoped(row_deinit) DamagedRow row = {};
        uint8_t page[DAMAGED_PAGE_BYTES];
        size_t n = 0;
        int r = 0;

        if (damaged_file_read(&salvage->file, number, page))
                n = damaged_page_count(number, page);
        *ret_n = 0;
        for (size_t i = n; r == 0 && i > 0 && *ret_n < n_max; i--) {
                DamagedValues values;

                r = damaged_page_row(&salvage->file, number, page, i - 1, &row);
                if (r < 0)
                        return r;
                if (r == DAMAGED_ROW_LOST || !damaged_schema_read(source, &row, &values)) {
                        r = 0;
                        continue;
                }
                r = put_row(salvage, database, plan, &values);
                ++*ret_n;
        }
        return r;
}

static int put_all(Salvage *salvage, Database *database, const SalvagePlan *plan, size_t n_max) {
        DamagedSource source;
        DamagedTree leaves;
        size_t n = 0;
        int r;

        r = damaged_schema_find(&salvage->file, database, plan->name, &source);
        if (r == 0)
                r = damaged_tree_find(&salvage->file, source.root, &leaves);
        if (r != 0)
                return r;

        for (size_t i = 0; r == 0 && i < leaves.n && n_max > 0; i++, n_max -= n)
                r = put_page(salvage, database, plan, &source, leaves.pages[i], n_max, &n);
        damaged_tree_deinit(&leaves);
        return r;
}

/* --- order of the tables ------------------------------------------------------------------------- */

static const StoreTable *nth_table(size_t n) {
        for (const StoreSubject *const *subject = store_subject_list; *subject; subject++)
                for (const StoreTable *const *table = (*subject)->tables; *table; table++)
                        if (n-- == 0)
                                return *table;
        return NULL;
}

static int put_table(Salvage *salvage, Database *database, const StoreTable *table, const Statement *insert, size_t n_max) {
        SalvagePlan plan = plan_table(table, insert);

        return put_all(salvage, database, &plan, n_max);
}

/* A table that is salvaged at once. */
static int put_small_table(Salvage *salvage, Database *database, const StoreTable *table) {
        int r;

        r = put_table(salvage, database, table, table->salvage.first, SIZE_MAX);
        for (const StoreIndex *index = table->salvage.indexes; r == 0 && index && index->name; index++) {
                SalvagePlan plan = plan_index(index);

                r = put_all(salvage, database, &plan, SIZE_MAX);
        }
        return r;
}

static int put_first(Salvage *salvage, Database *database) {
        const StoreTable *table;
        int r = 0;

        /* First come small tables, to which rows of others refer; then rows of other tables that are needed at once. */
        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (table->salvage.first && !table->salvage.row)
                        r = put_small_table(salvage, database, table);
        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (table->salvage.first && table->salvage.row)
                        r = put_table(salvage, database, table, table->salvage.first, SIZE_MAX);

        /*
         * SQLite numbers new rows after the highest rowid: with the last row stored, no new row gets the number of an old row.
         */
        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (table->salvage.keeps_rowids)
                        r = put_table(salvage, database, table, table->salvage.row, 1);
        for (size_t i = 0; r == 0 && (table = nth_table(i)); i++)
                if (table->salvage.tidy)
                        r = database_run(database, table->salvage.tidy, NULL, 0);
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

/* The plan of the table or index that is being read; false behind the last index of the table. */
static bool find_plan(const Salvage *salvage, const StoreTable *table, SalvagePlan *ret) {
        const StoreIndex *index = table->salvage.indexes;

        if (!table->salvage.row)
                return false;
        if (salvage->index == 0) {
                *ret = plan_table(table, table->salvage.row);
                return true;
        }
        for (size_t i = 1; index && index->name && i < salvage->index; i++)
                index++;
        if (!index || !index->name)
                return false;
        *ret = plan_index(index);
        return true;
}

/* 0 with a leaf that is next; or with *ret_has_more false after the last table. */
static int find_leaf(Salvage *salvage, Database *database, SalvagePlan *ret, bool *ret_has_more) {
        const StoreTable *table;
        int r;

        while ((table = nth_table(salvage->table))) {
                if (!find_plan(salvage, table, ret)) {
                        salvage->index = 0;
                        salvage->table++;
                        continue;
                }
                if (!salvage->leaves.pages) {
                        r = damaged_schema_find(&salvage->file, database, ret->name, &salvage->source);
                        if (r == 0)
                                r = damaged_tree_find(&salvage->file, salvage->source.root, &salvage->leaves);
                        if (r != 0)
                                return r;
                }
                if (salvage->next_leaf < salvage->leaves.n)
                        break;
                damaged_tree_deinit(&salvage->leaves);
                salvage->next_leaf = 0;
                salvage->index++;
        }
        *ret_has_more = table;
        return 0;
}

static int put_some(Salvage *salvage, Database *database, bool *ret_has_more) {
        size_t n_rows = 0, n;

        for (size_t n_bytes = 0; n_rows < STEP_ROWS && n_bytes < STEP_BYTES; n_bytes += DAMAGED_PAGE_BYTES) {
                SalvagePlan plan;
                int r;

                r = find_leaf(salvage, database, &plan, ret_has_more);
                if (r != 0 || !*ret_has_more)
                        return r;

                r = put_page(salvage, database, &plan, &salvage->source, salvage->leaves.pages[salvage->next_leaf], SIZE_MAX, &n);
                if (r != 0)
                        return r;
                n_rows += n;
                salvage->next_leaf++;
        }
        return 0;
}

int salvage_step(Salvage *salvage, Database *database, bool *ret_has_more) {
        int r;

        r = database_begin(database);
        return r != 0 ? r : end_transaction(database, put_some(salvage, database, ret_has_more));
}
