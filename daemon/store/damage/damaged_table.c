/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damage/damaged_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/scoped.h"

/* Prepares a query about the schema of either file, and binds its names. NULL: not possible. */
static sqlite3_stmt *ask(sqlite3 *db, const char *sql, const char *first, const char *second) {
        sqlite3_stmt *rows = NULL;

        if (sqlite3_prepare_v2(db, sql, -1, &rows, NULL) != SQLITE_OK)
                return NULL;
        sqlite3_bind_text(rows, 1, first, -1, SQLITE_STATIC);
        if (second)
                sqlite3_bind_text(rows, 2, second, -1, SQLITE_STATIC);
        return rows;
}

/* Returns the number that the query finds; 0: none. */
static int64_t ask_number(sqlite3 *db, const char *sql, const char *first, const char *second) {
        scoped(statement_finalizep) sqlite3_stmt *rows = ask(db, sql, first, second);

        return rows && sqlite3_step(rows) == SQLITE_ROW ? sqlite3_column_int64(rows, 0) : 0;
}

/* --- SQL of a source ----------------------------------------------------------------------------- */

#define HAS_COLUMN "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2"
#define INDEX_HAS_COLUMN "SELECT 1 FROM pragma_index_info(?1) WHERE name = ?2"

/* A column that the source lacks has its default; in a row of an index, every other column is null. */
static void put_column(Buffer *sql, const DamagedTable *table, const char *name, const char *preset, bool is_first) {
        sqlite3 *old = damaged_file_database(table->file);
        const char *index = table->indexes[table->source];

        if (index ? is_first || ask_number(old, INDEX_HAS_COLUMN, index, name)
                  : ask_number(old, HAS_COLUMN, table->name, name))
                buffer_printf(sql, "%sold.%s", is_first ? "" : ", ", name);
        else
                buffer_printf(sql, "%s%s", is_first ? "" : ", ", !index && preset ? preset : "NULL");
}

static int put_columns(Buffer *sql, const DamagedTable *table) {
        scoped(statement_finalizep) sqlite3_stmt *column = NULL;
        bool is_first = true;

        column = ask(table->database->db, "SELECT name, dflt_value FROM pragma_table_info(?1)", table->name, NULL);
        for (; column && sqlite3_step(column) == SQLITE_ROW; is_first = false)
                put_column(sql, table, (const char *)sqlite3_column_text(column, 0),
                           (const char *)sqlite3_column_text(column, 1), is_first);
        return column ? 0 : -ENOMEM;
}

/* The first column of a key determines the order of a tree, as far as it matters here. */
static int put_order(Buffer *sql, const DamagedTable *table, const char *direction) {
        const char *index = table->indexes[table->source];
        scoped(statement_finalizep) sqlite3_stmt *key = NULL;

        key = ask(damaged_file_database(table->file),
                  index ? "SELECT name FROM pragma_index_info(?1) WHERE seqno = 0"
                        : "SELECT name FROM pragma_table_info(?1) WHERE pk = 1",
                  index ? index : table->name, NULL);
        if (!key || sqlite3_step(key) != SQLITE_ROW || !sqlite3_column_text(key, 0))
                return -ENOENT;
        buffer_printf(sql, " ORDER BY old.%s %s", (const char *)sqlite3_column_text(key, 0), direction);
        return 0;
}

/* NULL: the damaged file lacks the source, or a condition of a partial index would be needed. */
static sqlite3_stmt *prepare(const DamagedTable *table, const char *direction) {
        const char *index = table->indexes[table->source];
        scoped(buffer_deinit) Buffer sql = {};
        sqlite3_stmt *rows = NULL;

        buffer_puts(&sql, "SELECT ");
        if (put_columns(&sql, table) < 0)
                return NULL;
        buffer_printf(&sql, " FROM %s AS old %s%s", table->name, index ? "INDEXED BY " : "NOT INDEXED",
                      index ? index : "");
        if (table->where)
                buffer_printf(&sql, " WHERE %s", table->where);
        if (put_order(&sql, table, direction) < 0 || buffer_error(&sql) < 0)
                return NULL;
        (void)sqlite3_prepare_v2(damaged_file_database(table->file), sql.text, -1, &rows, NULL);
        return rows;
}

/* --- order of reading ---------------------------------------------------------------------------- */

static void end_source(DamagedTable *table) {
        sqlite3_finalize(TAKE(table->down));
        sqlite3_finalize(TAKE(table->up));
        damaged_file_show(table->file, 0, 0);
}

/* Prepares the next source that the damaged file has, from the present one on. */
static void begin_source(DamagedTable *table) {
        sqlite3 *old = damaged_file_database(table->file);

        for (; table->source == 0 || (table->source < DAMAGED_SOURCES_MAX && table->indexes[table->source]);
             table->source++) {
                const char *name = table->source > 0 ? table->indexes[table->source] : table->name;

                table->pass = PASS_DOWN;
                table->root = (uint32_t)ask_number(old, "SELECT rootpage FROM sqlite_schema WHERE name = ?1", name,
                                                   NULL);
                table->down = prepare(table, "DESC");
                table->up = prepare(table, "ASC");
                if (table->down && table->up)
                        return;
                end_source(table);
        }
}

#define INDEX_COLUMNS_MAX 8 /* of any index: a leaf with more columns belongs to a table without rowids */

/* Shows the next page of the table that may have rows. False: there is none. */
static bool show_next(DamagedTable *table) {
        size_t n_columns = (size_t)sqlite3_column_count(table->down);
        uint8_t type;

        if (!table->has_rowids && n_columns <= INDEX_COLUMNS_MAX)
                n_columns = 0;
        while ((table->page = damaged_file_next(table->file, table->root, n_columns, table->page, &type)) > 0) {
                if (table->has_rowids ? type == DAMAGED_TABLE_LEAF
                                      : type == DAMAGED_INDEX_LEAF || type == DAMAGED_INDEX_INTERIOR) {
                        damaged_file_show(table->file, table->root, table->page);
                        table->pass = PASS_PAGE_DOWN;
                        return true;
                }
                table->n_pages_lost += !table->has_rowids || type != DAMAGED_TABLE_INTERIOR;
        }
        return false;
}

/* Chooses what is read after a pass. */
static void advance(DamagedTable *table, bool is_complete) {
        table->is_damaged |= !is_complete;
        switch (table->pass) {
        case PASS_DOWN:
                if (!is_complete) {
                        table->pass = PASS_UP;
                        return;
                }
                break;
        case PASS_UP:
                table->page = 0;
                if (table->source == 0 && show_next(table))
                        return;
                break;
        case PASS_PAGE_DOWN:
                if (!is_complete) {
                        table->n_pages_lost++;
                        table->pass = PASS_PAGE_UP;
                        return;
                }
                if (show_next(table))
                        return;
                break;
        case PASS_PAGE_UP:
                if (show_next(table))
                        return;
                break;
        }
        end_source(table);
        table->source++;
        if (table->is_damaged && table->has_rowids)
                begin_source(table);
}

/* --- rows ---------------------------------------------------------------------------------------- */

int damaged_table_open(DamagedTable *table, DamagedFile *file, Database *database, const char *name,
                       const char *where) {
        scoped(statement_finalizep) sqlite3_stmt *index = NULL;

        *table = (DamagedTable){ .file = file, .database = database, .name = name, .where = where };
        table->has_rowids = ask_number(database->db,
                                       "SELECT sql NOT LIKE '%) WITHOUT ROWID' FROM sqlite_schema WHERE name = ?1",
                                       name, NULL) != 0;
        index = ask(damaged_file_database(file),
                    "SELECT name FROM pragma_index_list(?1) AS list ORDER BY (SELECT count(*) FROM"
                    " pragma_index_info(list.name)) DESC",
                    name, NULL);
        for (size_t i = 1; i < DAMAGED_SOURCES_MAX && index && sqlite3_step(index) == SQLITE_ROW; i++) {
                table->indexes[i] = strdup((const char *)sqlite3_column_text(index, 0) ?: "");
                if (!table->indexes[i]) {
                        damaged_table_close(table);
                        return -ENOMEM;
                }
        }
        begin_source(table);
        return 0;
}

void damaged_table_close(DamagedTable *table) {
        if (table->file)
                end_source(table);
        for (size_t i = 1; i < DAMAGED_SOURCES_MAX; i++)
                free(table->indexes[i]);
        *table = (DamagedTable){};
}

static Field read_field(sqlite3_stmt *row, int i) {
        switch (sqlite3_column_type(row, i)) {
        case SQLITE_INTEGER:
                return field_i64(sqlite3_column_int64(row, i));
        case SQLITE_FLOAT:
                return field_double(sqlite3_column_double(row, i));
        case SQLITE_TEXT:
                return field_text((const char *)sqlite3_column_text(row, i), (size_t)sqlite3_column_bytes(row, i));
        case SQLITE_BLOB:
                return field_blob(sqlite3_column_blob(row, i) ?: "", (size_t)sqlite3_column_bytes(row, i));
        default:
                return (Field){};
        }
}

int damaged_table_next(DamagedTable *table, Field ret[static DAMAGED_COLUMNS_MAX], size_t *ret_n) {
        *ret_n = 0;
        while (table->down) {
                sqlite3_stmt *rows = table->pass == PASS_DOWN || table->pass == PASS_PAGE_DOWN ? table->down
                                                                                               : table->up;
                int code = sqlite3_step(rows);

                if (code == SQLITE_ROW) {
                        *ret_n = (size_t)sqlite3_column_count(rows);
                        for (size_t i = 0; i < *ret_n && i < DAMAGED_COLUMNS_MAX; i++)
                                ret[i] = read_field(rows, (int)i);
                        return 0;
                }
                sqlite3_reset(rows);
                if (code == SQLITE_NOMEM)
                        return -ENOMEM;
                advance(table, code == SQLITE_DONE);
        }
        return 0;
}
