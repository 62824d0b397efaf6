/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/stack_reader.h"

#include <errno.h>

#include "stack/stack.h"
#include "store/read/read_connection.h"

static const StoreColumn stack_columns[] = {
        COLUMN(StackRow, id),
        COLUMN_REQUIRED(StackRow, digest),
        COLUMN(StackRow, n_results),
        COLUMN(StackRow, n_packages),
        COLUMN(StackRow, facts),
};

STATEMENT stacks = {
        "SELECT id, lower(hex(digest)), n_results, n_packages, facts FROM stack"
        " WHERE substr(lower(hex(digest)), 1, length(?1)) = ?1 ORDER BY id DESC",
        N_ELEMENTS(stack_columns),
};

int stack_reader_list(Reader *reader, const char *prefix) {
        return read_connection_begin(reader_connection(reader), &stacks, FIELDS(field_string(prefix)));
}

int stack_reader_next(Reader *reader, StackRow *ret) {
        return read_connection_next(reader_connection(reader), stack_columns, N_ELEMENTS(stack_columns), ret, sizeof(*ret));
}

static const StoreColumn package_columns[] = {
        COLUMN_REQUIRED(PackageRow, name),
        COLUMN_REQUIRED(PackageRow, kind),
        COLUMN_REQUIRED(PackageRow, version),
        COLUMN_REQUIRED(PackageRow, source),
        COLUMN_REQUIRED(PackageRow, hash),
        COLUMN_REQUIRED(PackageRow, build),
};

STATEMENT packages = {
        "SELECT p.name, p.kind, p.version, p.source, p.hash, p.build FROM stack_package AS s CROSS JOIN package AS p ON p.id = s.package"
        " WHERE s.stack = ?1 ORDER BY p.name, p.kind, p.version, p.digest",
        N_ELEMENTS(package_columns),
};

int stack_reader_list_packages(Reader *reader, int64_t stack) {
        return read_connection_begin(reader_connection(reader), &packages, FIELDS(field_i64(stack)));
}

int stack_reader_next_package(Reader *reader, PackageRow *ret) {
        return read_connection_next(reader_connection(reader), package_columns, N_ELEMENTS(package_columns), ret, sizeof(*ret));
}

typedef struct NameRow {
        const char *name;
} NameRow;

static const StoreColumn name_columns[] = { COLUMN_REQUIRED(NameRow, name) };
STATEMENT names = { "SELECT DISTINCT name FROM package INDEXED BY package_by_name ORDER BY name", N_ELEMENTS(name_columns) };
STATEMENT names_of = {
        "SELECT DISTINCT name FROM package INDEXED BY package_by_name WHERE name IN (?1, ?2) ORDER BY name", N_ELEMENTS(name_columns),
};

int stack_reader_list_names(Reader *reader, const char *name) {
        scoped(buffer_deinit) Buffer folded = {};

        if (!name)
                return read_connection_begin(reader_connection(reader), &names, NULL, 0);
        stack_put_name(name, STACK_KIND_PYTHON, &folded);
        if (buffer_error(&folded) < 0)
                return -ENOMEM;
        return read_connection_begin(reader_connection(reader), &names_of, FIELDS(field_string(name), field_buffer(&folded)));
}

int stack_reader_next_name(Reader *reader, const char **ret) {
        NameRow row;
        int r;

        r = read_connection_next(reader_connection(reader), name_columns, N_ELEMENTS(name_columns), &row, sizeof(row));
        if (r == 0)
                *ret = row.name;
        return r;
}
