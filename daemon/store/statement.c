/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

_Static_assert((STATEMENT_CACHE_SLOTS & (STATEMENT_CACHE_SLOTS - 1)) == 0, "a slot is chosen by a mask");

static void prepare(Prepared *prepared, sqlite3 *db) {
        const Statement *source = prepared->source;

        prepared->code = sqlite3_prepare_v3(db, source->sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared->handle, NULL);
        assert(prepared->code != SQLITE_OK || sqlite3_column_count(prepared->handle) == source->n_columns);
}

/* Few statements are used of many slots, so that a search is short. */
static Prepared *find_slot(StatementCache *cache, const Statement *statement) {
        size_t i = (uintptr_t)statement / sizeof(Statement) % STATEMENT_CACHE_SLOTS;

        while (cache->slots[i].source && cache->slots[i].source != statement)
                i = (i + 1) % STATEMENT_CACHE_SLOTS;
        return &cache->slots[i];
}

static Prepared *add(StatementCache *cache, const Statement *statement) {
        Prepared *prepared = find_slot(cache, statement);

        if (prepared->source)
                return prepared;

        assert(!cache->is_complete);
        assert(cache->n < STATEMENT_CACHE_SLOTS / 2);
        prepared->source = statement;
        cache->n++;
        return prepared;
}

void statement_cache_add(StatementCache *cache, const Statement *statement) {
        (void)add(cache, statement);
}

Prepared *statement_cache_get(StatementCache *cache, sqlite3 *db, const Statement *statement) {
        Prepared *prepared = add(cache, statement);

        if (!prepared->handle)
                prepare(prepared, db);
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
