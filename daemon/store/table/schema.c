/* SPDX-License-Identifier: Apache-2.0 */
#include "store/table/schema.h"

#include <stdio.h>

#include "store/table/store_subject.h"
#include "util/scoped.h"

const TableErasure table_erasure_none = {}, table_erasure_follows = {};

/* For walks over all tables: 0, or the outcome that stopped the walk. */
typedef int (*TableStep)(Database *database, const StoreTable *table);

static int for_each_table(Database *database, TableStep step) {
        int r = 0;

        for (const StoreSubject *const *subject = store_subject_list; r == 0 && *subject; subject++)
                for (const StoreTable *const *table = (*subject)->tables; r == 0 && *table; table++)
                        r = step(database, *table);
        return r;
}

/* These pragmas must come before the first table of a new file. */
static int prepare_new_file(Database *database) {
        return database_exec(database, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL");
}

static int setup_connection(Database *database, bool is_volatile) {
        int r;

        r = database_exec(database,
                          "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
                          "PRAGMA cache_size = -2048; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;"
                          "PRAGMA secure_delete = OFF; PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = OFF");
        if (r != 0)
                return r;
        return database_exec(database, is_volatile ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL");
}

static int set_pragma(Database *database, const char *name, int v) {
        char text[64];

        (void)snprintf(text, sizeof(text), "PRAGMA %s = %d", name, v);
        return database_exec(database, text);
}

int schema_touch(Database *database) {
        return set_pragma(database, "application_id", SCHEMA_APPLICATION_ID);
}

static int create_table(Database *database, const StoreTable *table) {
        return database_exec(database, table->schema);
}

static int create_tables(Database *database) {
        int r;

        r = database_exec(database, "BEGIN IMMEDIATE");
        if (r != 0)
                return r;

        r = for_each_table(database, create_table);
        if (r == 0)
                r = set_pragma(database, "application_id", SCHEMA_APPLICATION_ID);
        if (r == 0)
                r = set_pragma(database, "user_version", SCHEMA_VERSION);
        if (r == 0)
                r = database_exec(database, "COMMIT");
        return r; /* closing the database rolls back, and keeps the message until then */
}

/* Reads the first and last entries of a table and its indexes, instead of everything as PRAGMA quick_check does.
 * Damage in other places is found when a statement reads it. */
static int check_table(Database *database, const StoreTable *table) {
        int64_t unused;
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_ELEMENTS(table->checks) && table->checks[i]; i++)
                r = database_query(database, table->checks[i], &unused);
        return r;
}

/* A file is a database of perfd if it is empty or has the application id. Any other file is moved aside like a
 * corrupt one. */
static int identify(Database *database, int64_t *ret_version) {
        int64_t id, n_tables, version;
        int r;

        r = database_query(database, "SELECT count(*) FROM sqlite_schema", &n_tables);
        if (r == 0)
                r = database_query(database, "PRAGMA application_id", &id);
        if (r == 0)
                r = database_query(database, "PRAGMA user_version", &version);
        if (r != 0)
                return r;
        if ((n_tables > 0 || version > 0) && id != SCHEMA_APPLICATION_ID)
                return DATABASE_CORRUPT;
        if (version < 0 || (version > 0) != (n_tables > 0))
                return DATABASE_CORRUPT;

        *ret_version = version;
        return 0;
}

int schema_setup(Database *database, bool is_volatile, int64_t *ret_version) {
        int64_t version = 0;
        int r;

        /* A file that may belong to another program or another perfd must not be written when it is closed either. */
        sqlite3_db_config(database->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        r = identify(database, &version);
        if (r != 0)
                return r;
        *ret_version = version > 0 ? version : SCHEMA_VERSION;
        if (*ret_version != SCHEMA_VERSION)
                return 0;
        sqlite3_db_config(database->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);

        if (version == 0)
                r = prepare_new_file(database);
        if (r == 0)
                r = setup_connection(database, is_volatile);
        if (r == 0 && version == 0)
                r = create_tables(database);
        return r != 0 ? r : for_each_table(database, check_table);
}
