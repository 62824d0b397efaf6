/* SPDX-License-Identifier: Apache-2.0 */
#include "store/echo/store_echo.h"

#include "store/database/database.h"
#include "store/read/read_connection.h"
#include "store/table/table_salvage.h"

STATEMENT echo_put = { "INSERT INTO echo (time_ms, text) VALUES (?1, ?2)", 0 };
STATEMENT echo_list = { "SELECT text FROM echo ORDER BY row", 1 };

static int apply(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field fields[2];

        (void)state;
        pack_read_fields(&from, fields, N_ELEMENTS(fields));
        set->outcome = STORE_DONE;
        return database_run(database, &echo_put, fields, N_ELEMENTS(fields));
}

static const RowKind echo_kind = { .name = "echo", .apply = apply };

RowSet *store_echo_pack(const char *text, uint64_t time_ms, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_u64(time_ms), field_string(text)));
        return rowset_finish(&buffer, &echo_kind, 1, cookie);
}

int store_echo_list(Reader *reader) {
        return read_connection_begin(reader_connection(reader), &echo_list, NULL, 0);
}

int store_echo_next(Reader *reader, const char **ret_text) {
        const Prepared *row;
        int r;

        r = read_connection_step(reader_connection(reader), &row);
        if (r == 0)
                *ret_text = column_text(row, 0);
        return r;
}

static const TableSalvage echo_salvage = {};

static const StoreTable echo_table = {
        .name = "echo",
        .schema = "CREATE TABLE echo (row INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, text TEXT NOT NULL) STRICT;",
        .checks = { "SELECT max(row) FROM echo" },
        .salvage = &echo_salvage,
};

static const StoreTable *const tables[] = { &echo_table, NULL };
static const RowKind *const kinds[] = { &echo_kind, NULL };

const StoreSubject store_echo = {
        .name = "echo",
        .tables = tables,
        .kinds = kinds,
};
