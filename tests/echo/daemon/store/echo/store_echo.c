/* SPDX-License-Identifier: Apache-2.0 */
#include "store/echo/store_echo.h"

#include "store/database/database.h"
#include "store/read/read_connection.h"
#include "store/table/store_subject.h"

STATEMENT echo_put = SQL("INSERT INTO echo (time_ms, text) VALUES (?1, ?2)", 0);
STATEMENT echo_list = SQL("SELECT text FROM echo ORDER BY row", 1);

static const RowKind echo_kind = { &store_echo, .statement = &echo_put };

RowSet *store_echo_pack(const char *text, uint64_t time_ms, StoreCookie cookie) {
        return rowset_pack(&echo_kind, cookie, FIELDS(field_u64(time_ms), field_string(text)));
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
        .erasure = &table_erasure_none,
};

const StoreSubject store_echo = {
        .tables = STORE_TABLES(&echo_table),
};
