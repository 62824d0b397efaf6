/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/stack_reader.h"

#include <errno.h>

#include "stack/stack.h"
#include "store/read/read_connection.h"

/* A stack and its packages are shared by results of several users. */
#define VISIBLE_STACKS "(SELECT r.stack FROM result AS r WHERE r.stack IS NOT NULL AND visible(r.uid))"
STATEMENT stacks = SELECT(StackRow,
        COLUMNS(COLUMN(StackRow, id, "id"),
                COLUMN_REQUIRED(StackRow, digest, "lower(hex(digest))"),
                COLUMN(StackRow, n_results, "n_results"),
                COLUMN(StackRow, n_packages, "n_packages"),
                COLUMN(StackRow, facts, "facts")),
        " FROM stack WHERE substr(lower(hex(digest)), 1, length(?1)) = ?1"
        " AND (visible(-1) OR id IN " VISIBLE_STACKS ") ORDER BY id DESC");

int stack_reader_list(Reader *reader, const char *prefix) {
        return read_connection_begin(reader_connection(reader), &stacks, FIELDS(field_string(prefix)));
}

STATEMENT packages = SELECT(PackageRow,
        COLUMNS(COLUMN_REQUIRED(PackageRow, name, "p.name"),
                COLUMN_REQUIRED(PackageRow, kind, "p.kind"),
                COLUMN_REQUIRED(PackageRow, version, "p.version"),
                COLUMN_REQUIRED(PackageRow, source, "p.source"),
                COLUMN_REQUIRED(PackageRow, hash, "p.hash"),
                COLUMN_REQUIRED(PackageRow, build, "p.build")),
        " FROM stack_package AS s CROSS JOIN package AS p ON p.id = s.package"
        " WHERE s.stack = ?1 ORDER BY p.name, p.kind, p.version, p.digest");

int stack_reader_list_packages(Reader *reader, int64_t stack) {
        return read_connection_begin(reader_connection(reader), &packages, FIELDS(field_i64(stack)));
}

typedef struct NameRow {
        const char *name;
} NameRow;

static const StoreColumn name_columns[] = { COLUMN_REQUIRED(NameRow, name, "DISTINCT name") };
#define NAMES                                                                                                  \
        " FROM package INDEXED BY package_by_name WHERE (visible(-1) OR id IN"                                 \
        " (SELECT s.package FROM stack_package AS s WHERE s.stack IN " VISIBLE_STACKS "))"
STATEMENT names = SELECT(NameRow, name_columns, NAMES " ORDER BY name");
STATEMENT names_of = SELECT(NameRow, name_columns, NAMES " AND name IN (?1, ?2) ORDER BY name");

int stack_reader_list_names(Reader *reader, const char *name) {
        scoped(buffer_deinit) Buffer folded = {};

        if (!name)
                return read_connection_begin(reader_connection(reader), &names, NULL, 0);
        stack_put_name(name, STACK_KIND_PYTHON, &folded);
        if (buffer_error(&folded) < 0)
                return -ENOMEM;
        return read_connection_begin(reader_connection(reader), &names_of,
                                     FIELDS(field_string(name), field_buffer(&folded)));
}

int stack_reader_next_name(Reader *reader, const char **ret) {
        NameRow row;
        int r;

        r = reader_next(reader, &row, sizeof(row));
        if (r == 0)
                *ret = row.name;
        return r;
}
