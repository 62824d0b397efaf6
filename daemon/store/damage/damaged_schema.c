/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damage/damaged_schema.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/damage/damaged_tree.h"
#include "util/scoped.h"

#define CREATE_TABLE "CREATE TABLE "
#define WITHOUT_ROWID "WITHOUT ROWID" /* perfd's tables have their columns in the order of the key */

/* --- entries of the schema ----------------------------------------------------------------------- */

enum { SCHEMA_NAME = 1, SCHEMA_ROOT = 3, SCHEMA_SQL = 4, N_SCHEMA_COLUMNS = 5 };

/* An entry of sqlite_schema. */
typedef struct SchemaEntry {
        bool is_found;
        int64_t root;
        char *sql; /* owned; NULL: of an index that SQLite has made */
} SchemaEntry;

static void entry_deinit(SchemaEntry *entry) {
        free(entry->sql);
}

static void row_deinit(DamagedRow *row) {
        buffer_deinit(&row->payload);
}

static bool is_text(const Field *field, const char *text) {
        return field->type == FIELD_TEXT && (size_t)field->n == strlen(text) && memcmp(field->text, text, (size_t)field->n) == 0;
}

/* *ret_is_taken is set if another entry has the root of the new file's entry. */
static int take_entry(const DamagedRow *row, const char *name, const SchemaEntry *new, SchemaEntry *ret, bool *ret_is_taken) {
        Field fields[N_SCHEMA_COLUMNS], *sql = &fields[SCHEMA_SQL];

        if (damaged_page_fields(row, fields, N_SCHEMA_COLUMNS) != N_SCHEMA_COLUMNS || fields[SCHEMA_ROOT].type != FIELD_INTEGER)
                return 0;
        if (!is_text(&fields[SCHEMA_NAME], name)) {
                *ret_is_taken |= fields[SCHEMA_ROOT].integer == new->root;
                return 0;
        }

        entry_deinit(ret);
        *ret = (SchemaEntry){ .is_found = true, .root = fields[SCHEMA_ROOT].integer };
        if (sql->type == FIELD_TEXT)
                ret->sql = strndup(sql->text, (size_t)sql->n);
        return sql->type == FIELD_TEXT && !ret->sql ? -ENOMEM : 0;
}

/* *ret stays as it is when the schema of the damaged file does not have the name. */
static int find_old(const DamagedFile *file, const char *name, const SchemaEntry *new, SchemaEntry *ret, bool *ret_is_taken) {
        scoped(row_deinit) DamagedRow row = {};
        uint8_t page[DAMAGED_PAGE_BYTES];
        DamagedTree leaves;
        int r;

        r = damaged_tree_find(file, 1, &leaves);
        for (size_t i = 0; r == 0 && i < leaves.n; i++) {
                size_t n = damaged_file_read(file, leaves.pages[i], page) ? damaged_page_count(leaves.pages[i], page) : 0;

                for (size_t k = 0; r == 0 && k < n; k++) {
                        r = damaged_page_row(file, leaves.pages[i], page, k, &row);
                        if (r == 0)
                                r = take_entry(&row, name, new, ret, ret_is_taken);
                        if (r == DAMAGED_ROW_LOST)
                                r = 0;
                }
        }
        damaged_tree_deinit(&leaves);
        return r;
}

enum { ENTRY_ROOT, ENTRY_SQL, N_ENTRY_COLUMNS };
STATEMENT entry_of = { "SELECT rootpage, sql FROM sqlite_schema WHERE name = ?1", N_ENTRY_COLUMNS };

static int find_new(Database *database, const char *name, SchemaEntry *ret) {
        Prepared *row = database_prepare(database, &entry_of, FIELDS(field_string(name)));
        int r;

        r = database_step(database, row);
        if (r != DATABASE_ROW)
                return r;
        *ret = (SchemaEntry){ .is_found = true, .root = column_i64(row, ENTRY_ROOT) };
        r = statement_column_copy(row, ENTRY_SQL, &ret->sql);
        if (r == 0)
                return database_finish(database, row);
        sqlite3_reset(row->handle);
        return r;
}

/* --- columns ------------------------------------------------------------------------------------- */

enum { COLUMN_NAME, COLUMN_DEFAULT, N_COLUMN_COLUMNS };
STATEMENT columns_of = { "SELECT name, CAST(dflt_value AS INTEGER) FROM pragma_table_info(?1)", N_COLUMN_COLUMNS };
STATEMENT place_of = { "SELECT cid FROM pragma_table_info(?1) WHERE name = ?2", 1 };

static void database_closep(Database *database) {
        database_close(database);
}

/* Creates an empty table as in the damaged file, from which SQLite reads the column names. Returns false if the text is damaged. */
static bool make_like(const char *sql, Database *ret) {
        int64_t unused;

        return strncmp(sql, CREATE_TABLE, strlen(CREATE_TABLE)) == 0 && database_open(ret, ":memory:") == 0 &&
               database_query(ret, sql, &unused) == 0;
}

/* old: NULL when the order of columns is that of the new file. */
static int find_columns(Database *database, const char *name, Database *old, DamagedSource *ret) {
        Prepared *column = database_prepare(database, &columns_of, FIELDS(field_string(name)));
        int r;

        while ((r = database_step(database, column)) == DATABASE_ROW) {
                DamagedColumn *next = &ret->columns[ret->n_columns];

                assert(ret->n_columns < DAMAGED_COLUMNS_MAX);
                *next = (DamagedColumn){ .place = old ? -1 : (int64_t)ret->n_columns };
                if (!column_is_null(column, COLUMN_DEFAULT))
                        next->value = field_i64(column_i64(column, COLUMN_DEFAULT));
                if (old)
                        r = database_get(old, &place_of, FIELDS(field_string(name), field_string(column_text(column, COLUMN_NAME))),
                                         &next->place);
                if (r != DATABASE_ROW && r != 0)
                        break;
                ret->n_columns++;
        }
        if (r != 0)
                sqlite3_reset(column->handle);
        return r;
}

int damaged_schema_find(const DamagedFile *file, Database *database, const char *name, DamagedSource *ret) {
        scoped(entry_deinit) SchemaEntry old = {}, new = {};
        scoped(database_closep) Database like = {};
        bool is_same, is_taken = false;
        int r;

        *ret = (DamagedSource){};
        r = find_new(database, name, &new);
        if (r == 0)
                r = find_old(file, name, &new, &old, &is_taken);
        if (r != 0 || (!new.is_found && !old.is_found))
                return r;

        is_same = !old.is_found || strcmp(old.sql ?: "", new.sql ?: "") == 0;
        ret->root = (uint32_t)(old.is_found ? old.root : is_taken ? 0 : new.root);
        ret->is_index = !new.sql || strncmp(new.sql, CREATE_TABLE, strlen(CREATE_TABLE)) != 0;
        if (ret->is_index) {
                if (!is_same)
                        ret->root = 0; /* other columns */
                return 0;
        }
        ret->is_without_rowid = strstr(new.sql, WITHOUT_ROWID);
        return find_columns(database, name, !is_same && make_like(old.sql ?: "", &like) ? &like : NULL, ret);
}

/* --- rows ---------------------------------------------------------------------------------------- */

/* The row of an index has the rowid last. */
static bool read_index(const Field *fields, size_t n, DamagedValues *ret) {
        ret->fields[0] = fields[n - 1];
        memcpy(&ret->fields[1], fields, (n - 1) * sizeof(*fields));
        return ret->fields[0].type == FIELD_INTEGER;
}

bool damaged_schema_read(const DamagedSource *source, const DamagedRow *row, DamagedValues *ret) {
        Field fields[DAMAGED_COLUMNS_MAX];
        size_t n = damaged_page_fields(row, fields, N_ELEMENTS(fields));

        *ret = (DamagedValues){};
        if (n < 2)
                return false;
        if (source->is_index)
                return read_index(fields, n, ret);

        for (size_t i = 0; i < source->n_columns; i++) {
                const DamagedColumn *column = &source->columns[i];

                ret->fields[i] = column->place >= 0 && column->place < (int64_t)n ? fields[column->place] : column->value;
        }
        if (!source->is_without_rowid)
                ret->fields[0] = field_i64(row->rowid); /* the row has no value for it */
        return true;
}
