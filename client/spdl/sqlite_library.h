/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SQLite library: libsqlite3, loaded with dlopen(), so that only the commands for SPDL's databases need it */

#include <stdbool.h>

#include <sqlite3.h>

typedef struct SqliteLibrary {
        void *handle; /* NULL: not loaded */
        __typeof__(sqlite3_open_v2) *open;
        __typeof__(sqlite3_close_v2) *close;
        __typeof__(sqlite3_errmsg) *message;
        __typeof__(sqlite3_exec) *exec;
        __typeof__(sqlite3_prepare_v2) *prepare;
        __typeof__(sqlite3_finalize) *finalize;
        __typeof__(sqlite3_step) *step;
        __typeof__(sqlite3_reset) *reset;
        __typeof__(sqlite3_bind_text) *bind_text;
        __typeof__(sqlite3_bind_double) *bind_double;
        __typeof__(sqlite3_bind_null) *bind_null;
        __typeof__(sqlite3_column_count) *column_count;
        __typeof__(sqlite3_column_name) *column_name;
        __typeof__(sqlite3_column_type) *column_type;
        __typeof__(sqlite3_column_text) *column_text;
        __typeof__(sqlite3_column_double) *column_double;
        __typeof__(sqlite3_column_int64) *column_int64;
} SqliteLibrary;

#define SQLITE_LIBRARY_ADVICE "libsqlite3.so.0 is needed for SPDL's databases: install it (Debian: libsqlite3-0)"

/* Returns false if the library is not there. Call sqlite_library_unload() in all cases. */
bool sqlite_library_load(SqliteLibrary *library);
void sqlite_library_unload(SqliteLibrary *library);
