/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database/statement.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/buffer.h"
#include "util/scoped.h"

static void on_visible(sqlite3_context *context, int n, sqlite3_value **values) {
        const VisibleRows *rows = sqlite3_user_data(context);
        bool is_hiding = rows && rows->is_hiding;

        assert(n == 1);
        (void)n;
        sqlite3_result_int(context, !is_hiding || (rows->uid >= 0 && sqlite3_value_int64(values[0]) == rows->uid));
}

int statement_define_visible(sqlite3 *db, const VisibleRows *rows) {
        void *userdata = (void *)(uintptr_t)rows; /* SQLite does not write to it */

        return sqlite3_create_function_v2(db, "visible", 1, SQLITE_UTF8, userdata, on_visible, NULL, NULL, NULL);
}

void statement_put_sql(const Statement *statement, Buffer *out) {
        for (size_t i = 0; statement->row && i < statement->row->n; i++)
                buffer_printf(out, "%s%s", i > 0 ? ", " : "SELECT ", statement->row->columns[i].sql);
        buffer_puts(out, statement->sql);
}

int statement_prepare(sqlite3 *db, const Statement *statement, unsigned flags, sqlite3_stmt **ret) {
        scoped(buffer_deinit) Buffer sql = {};

        statement_put_sql(statement, &sql);
        return buffer_error(&sql) < 0 ? SQLITE_NOMEM : sqlite3_prepare_v3(db, sql.text, -1, flags, ret, NULL);
}

Prepared *statement_cache_get(StatementCache *cache, sqlite3 *db, const Statement *statement) {
        size_t i = (size_t)(statement - __start_statements);
        Prepared *prepared = &cache->slots[i];

        assert(statement >= __start_statements && statement < __stop_statements && i < STATEMENT_CACHE_SLOTS);
        if (!prepared->handle)
                prepared->code = statement_prepare(db, statement, SQLITE_PREPARE_PERSISTENT, &prepared->handle);
        assert(!prepared->handle || sqlite3_column_count(prepared->handle) == statement->n_columns);
        prepared->statement = statement;
        prepared->n_bound = 0;
        return prepared;
}

void statement_cache_reset(StatementCache *cache) {
        for (size_t i = 0; i < STATEMENT_CACHE_SLOTS; i++)
                sqlite3_reset(cache->slots[i].handle);
}

void statement_cache_clear(StatementCache *cache) {
        for (size_t i = 0; i < STATEMENT_CACHE_SLOTS; i++)
                sqlite3_finalize(cache->slots[i].handle);
        *cache = (StatementCache){};
}

bool statement_is_bound(const Prepared *prepared) {
        return prepared->n_bound == sqlite3_bind_parameter_count(prepared->handle);
}

static void bind_field(sqlite3_stmt *handle, int place, const Field *field, sqlite3_destructor_type destructor) {
        switch (field->type) {
        case FIELD_NULL:
                sqlite3_bind_null(handle, place);
                break;
        case FIELD_INTEGER:
                sqlite3_bind_int64(handle, place, field->integer);
                break;
        case FIELD_REAL:
                sqlite3_bind_double(handle, place, field->real);
                break;
        case FIELD_TEXT:
                sqlite3_bind_text(handle, place, field->text, field->n, destructor);
                break;
        case FIELD_BLOB:
                sqlite3_bind_blob(handle, place, field->text, field->n, destructor);
                break;
        }
}

void statement_bind(Prepared *prepared, const Field *fields, size_t n, bool is_copied) {
        for (size_t i = 0; i < n; i++)
                bind_field(prepared->handle, ++prepared->n_bound, &fields[i],
                           is_copied ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

/* False: a text that must be there is NULL. */
static bool read_column(const Prepared *prepared, int i, const StoreColumn *column, void *member) {
        int64_t v = column_i64(prepared, i);
        const void *bytes;

        switch (column->type) {
        case COLUMN_I64:
        case COLUMN_U64:
                *(int64_t *)member = v;
                return true;
        case COLUMN_I32:
                *(int32_t *)member = v < 0 || v > INT32_MAX ? -1 : (int32_t)v;
                return true;
        case COLUMN_U32:
                *(uint32_t *)member = v < 0 || v > UINT32_MAX ? 0 : (uint32_t)v;
                return true;
        case COLUMN_DOUBLE:
                *(double *)member = column_double(prepared, i);
                return true;
        case COLUMN_TEXT:
                *(const char **)member = column_text(prepared, i);
                return !column->is_required || *(const char **)member;
        case COLUMN_BLOB:
                *(Blob *)member = column_blob(prepared, i);
                return true;
        case COLUMN_JSON:
                *(JsonText *)member = column_json(prepared, i);
                return true;
        case COLUMN_COPY:
                bytes = column_text(prepared, i);
                (void)snprintf(member, column->n, "%s", bytes ? (const char *)bytes : "");
                return !column->is_required || bytes;
        case COLUMN_ID:
                bytes = sqlite3_column_blob(prepared->handle, i);
                if (bytes && column_bytes(prepared, i) == column->n)
                        memcpy(member, bytes, column->n);
                return true;
        }
        return true;
}

bool statement_read(const Prepared *prepared, void *ret) {
        const StoreRow *row = prepared->statement->row;
        bool is_read = true;

        assert(row);
        for (size_t i = 0; i < row->n; i++) {
                const StoreColumn *column = &row->columns[i];

                is_read &= read_column(prepared, (int)i, column, (char *)ret + column->offset);
                if (column->has)
                        *(bool *)((char *)ret + column->has) = !column_is_null(prepared, (int)i);
        }
        return is_read;
}

int statement_column_copy(const Prepared *prepared, int i, char **ret) {
        const char *text = column_text(prepared, i);
        char *copy;

        if (!text)
                return column_is_null(prepared, i) ? 0 : -ENOMEM;

        copy = strdup(text);
        if (!copy)
                return -ENOMEM;

        *ret = copy;
        return 0;
}
