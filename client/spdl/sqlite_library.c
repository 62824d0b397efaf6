/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/sqlite_library.h"

#include <dlfcn.h>
#include <stddef.h>

#include "util/scoped.h"

static const struct {
        const char *name;
        size_t offset;
} functions[] = {
        { "sqlite3_open_v2", offsetof(SqliteLibrary, open) },
        { "sqlite3_close_v2", offsetof(SqliteLibrary, close) },
        { "sqlite3_errmsg", offsetof(SqliteLibrary, message) },
        { "sqlite3_exec", offsetof(SqliteLibrary, exec) },
        { "sqlite3_prepare_v2", offsetof(SqliteLibrary, prepare) },
        { "sqlite3_finalize", offsetof(SqliteLibrary, finalize) },
        { "sqlite3_step", offsetof(SqliteLibrary, step) },
        { "sqlite3_reset", offsetof(SqliteLibrary, reset) },
        { "sqlite3_bind_text", offsetof(SqliteLibrary, bind_text) },
        { "sqlite3_bind_double", offsetof(SqliteLibrary, bind_double) },
        { "sqlite3_bind_null", offsetof(SqliteLibrary, bind_null) },
        { "sqlite3_column_count", offsetof(SqliteLibrary, column_count) },
        { "sqlite3_column_name", offsetof(SqliteLibrary, column_name) },
        { "sqlite3_column_type", offsetof(SqliteLibrary, column_type) },
        { "sqlite3_column_text", offsetof(SqliteLibrary, column_text) },
        { "sqlite3_column_double", offsetof(SqliteLibrary, column_double) },
        { "sqlite3_column_int64", offsetof(SqliteLibrary, column_int64) },
};
_Static_assert(N_ELEMENTS(functions) * sizeof(void *) + sizeof(void *) == sizeof(SqliteLibrary), "each function has a row");

bool sqlite_library_load(SqliteLibrary *library) {
        *library = (SqliteLibrary){ .handle = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL) };
        for (size_t i = 0; library->handle && i < N_ELEMENTS(functions); i++) {
                void *function = dlsym(library->handle, functions[i].name);

                if (!function)
                        return false;
                *(void **)(void *)((char *)library + functions[i].offset) = function;
        }
        return library->handle != NULL;
}

void sqlite_library_unload(SqliteLibrary *library) {
        if (library->handle)
                (void)dlclose(library->handle);
        *library = (SqliteLibrary){};
}
