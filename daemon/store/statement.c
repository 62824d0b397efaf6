/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

Prepared *statement_cache_get(StatementCache *cache, sqlite3 *db, const Statement *statement) {
        size_t i = (size_t)(statement - __start_statements);
        Prepared *prepared = &cache->slots[i];

        assert(statement >= __start_statements && statement < __stop_statements && i < STATEMENT_CACHE_SLOTS);
        if (!prepared->handle)
                prepared->code = sqlite3_prepare_v3(db, statement->sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared->handle, NULL);
        assert(!prepared->handle || sqlite3_column_count(prepared->handle) == statement->n_columns);
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

void statement_bind_null(Prepared *prepared) {
        sqlite3_bind_null(prepared->handle, ++prepared->n_bound);
}

void statement_bind_i64(Prepared *prepared, int64_t v) {
        sqlite3_bind_int64(prepared->handle, ++prepared->n_bound, v);
}

void statement_bind_u64(Prepared *prepared, uint64_t v) {
        statement_bind_i64(prepared, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

void statement_bind_double(Prepared *prepared, double v) {
        sqlite3_bind_double(prepared->handle, ++prepared->n_bound, v);
}

void statement_bind_text(Prepared *prepared, Text text) {
        sqlite3_bind_text(prepared->handle, ++prepared->n_bound, text.text, text.n, SQLITE_STATIC);
}

void statement_bind_blob(Prepared *prepared, const void *bytes, size_t n) {
        sqlite3_bind_blob64(prepared->handle, ++prepared->n_bound, bytes, n, SQLITE_STATIC);
}

void statement_bind_blob_copy(Prepared *prepared, const void *bytes, size_t n) {
        sqlite3_bind_blob64(prepared->handle, ++prepared->n_bound, bytes, n, SQLITE_TRANSIENT);
}

void statement_bind_string(Prepared *prepared, const char *text) {
        sqlite3_bind_text(prepared->handle, ++prepared->n_bound, text, -1, SQLITE_TRANSIENT);
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
