/* SPDX-License-Identifier: Apache-2.0 */
#include "store/schema.h"

#include <stdio.h>

#include "util/scoped.h"

/* PRAGMA application_id of our files, "prfd": file(1) and we tell them by it. */
#define APPLICATION_ID 0x70726664

/*
 * row is the rowid by name, so that indices can hold it where paging wants it: newest
 * first, then by row. The last column of an index spares a look at the table for rows
 * that a filter drops. Names and components repeat, so they are numbers into term.
 * Long texts come last: SQLite reads a row from its begin. Timelines are apart, so that
 * more of the jobs, which are listed without them, fit a page; a running job's checkpoint,
 * because a row that was larger once leaves a hole that is not filled again. Timelines are
 * squeezed, and in three parts
 * (3 * row, + 1, + 2) as five of these share a page, of which a whole timeline fills little more
 * than half and has it alone.
 */
static const char first[] =
        "CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;"
        "CREATE TABLE indicator ("
        " name INTEGER NOT NULL, component INTEGER NOT NULL, n_results INTEGER NOT NULL, latest_ms INTEGER NOT NULL,"
        " PRIMARY KEY (name, component)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE result ("
        " row INTEGER PRIMARY KEY, id BLOB NOT NULL, time_ms INTEGER NOT NULL,"
        " name INTEGER NOT NULL, component INTEGER NOT NULL, uid INTEGER NOT NULL, score REAL,"
        " job TEXT, version TEXT, document TEXT NOT NULL) STRICT;"
        "CREATE UNIQUE INDEX result_by_id ON result (id);"
        "CREATE INDEX result_by_name ON result (name, time_ms, row, component);"
        "CREATE INDEX result_by_time ON result (time_ms, row, component);"
        "CREATE INDEX result_by_job ON result (job, time_ms) WHERE job IS NOT NULL;"

        "CREATE TABLE job ("
        " row INTEGER PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL, user TEXT NOT NULL, state TEXT NOT NULL,"
        " begin_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL DEFAULT 0,"
        " uid INTEGER NOT NULL, gid INTEGER NOT NULL, pid INTEGER NOT NULL, pid_start_ticks INTEGER NOT NULL,"
        " rank INTEGER NOT NULL, exit_status INTEGER, signal INTEGER NOT NULL DEFAULT 0, rusage TEXT, note TEXT,"
        " command TEXT NOT NULL, labels TEXT NOT NULL, layout INTEGER, metrics TEXT) STRICT;"
        "CREATE UNIQUE INDEX job_by_id ON job (id);"
        "CREATE INDEX job_by_begin ON job (begin_ms);"
        "CREATE INDEX job_by_name ON job (name, begin_ms);"
        "CREATE INDEX job_by_user ON job (user, begin_ms);"
        "CREATE INDEX job_by_state ON job (state, begin_ms);"
        "CREATE TABLE running ("
        " job INTEGER PRIMARY KEY, checkpoint_ms INTEGER NOT NULL, boot_id TEXT NOT NULL, window TEXT NOT NULL) STRICT;"
        "CREATE TABLE timeline (part INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;"
        "CREATE TRIGGER job_removed AFTER DELETE ON job BEGIN"
        " DELETE FROM timeline WHERE part BETWEEN 3 * old.row AND 3 * old.row + 2; END;"
        "CREATE TABLE layout (id INTEGER PRIMARY KEY, keys TEXT NOT NULL UNIQUE) STRICT;"

        "CREATE TABLE meter ("
        " only INTEGER PRIMARY KEY CHECK (only = 1), account TEXT NOT NULL, boot_id TEXT NOT NULL,"
        " time_ms INTEGER NOT NULL) STRICT;"
        "CREATE TABLE node_sample ("
        " begin_ms INTEGER PRIMARY KEY, interval_ms INTEGER NOT NULL, timeline TEXT NOT NULL) STRICT;";

/*
 * A job's place in a run of several nodes, its own cgroup, what it used, and its phases. New columns stand at the end
 * and are read as their default where a row has none of them: no row is written anew. A phase row may be as large as
 * a job's, hence a table with a rowid.
 */
static const char second[] =
        "ALTER TABLE job ADD COLUMN node INTEGER NOT NULL DEFAULT -1;"
        "ALTER TABLE job ADD COLUMN n_nodes INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN n_ranks INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN enclosure TEXT NOT NULL DEFAULT 'none';"
        "ALTER TABLE job ADD COLUMN cgroup TEXT;"
        "ALTER TABLE job ADD COLUMN n_phases INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN usage_layout INTEGER;"
        "ALTER TABLE job ADD COLUMN usage TEXT;"

        "CREATE TABLE phase ("
        " row INTEGER PRIMARY KEY, job INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,"
        " begin_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL, wall_seconds REAL,"
        " layout INTEGER, metrics TEXT, usage_layout INTEGER, usage TEXT) STRICT;"
        "CREATE UNIQUE INDEX phase_by_job ON phase (job, number);"
        "DROP TRIGGER job_removed;"
        "CREATE TRIGGER job_removed AFTER DELETE ON job BEGIN"
        " DELETE FROM timeline WHERE part BETWEEN 3 * old.row AND 3 * old.row + 2;"
        " DELETE FROM phase WHERE job = old.row; END;";

/*
 * Runs that failed, batches, how a result was measured, and the index of results.
 *
 * Results of one name and component that were measured under the same parameters, version and hardware are a series, as
 * in a time series database: what they have in common is there once, with a property row for each parameter that
 * the model wants indexed, so that MATRIX_SIZE=512 of a name is a search in property's key. A point is what a result
 * adds: its score and the numbers of its results in the order of the series' shape (a layout: what the model has indexed);
 * numbers is NULL when the run failed. Clustered by series and time, so that a question reads no document.
 *
 * Of a name and component with a shape, the results from row indexed_from on have points. Those before are
 * indexed bit by bit from there downwards; until then they are looked up in their documents.
 */
static const char third[] =
        "ALTER TABLE result ADD COLUMN exit_status INTEGER;"
        "ALTER TABLE result ADD COLUMN batch BLOB;"
        "ALTER TABLE result ADD COLUMN batch_index INTEGER;"
        "ALTER TABLE result ADD COLUMN series INTEGER;"
        "ALTER TABLE result ADD COLUMN run TEXT;"
        "CREATE INDEX result_by_batch ON result (batch, batch_index) WHERE batch IS NOT NULL;"

        "ALTER TABLE indicator ADD COLUMN shape INTEGER;"
        "ALTER TABLE indicator ADD COLUMN indexed_from INTEGER;"
        "CREATE TABLE model ("
        " row INTEGER PRIMARY KEY, name TEXT NOT NULL, component TEXT, is_declared INTEGER NOT NULL,"
        " uid INTEGER NOT NULL, by_admin INTEGER NOT NULL, time_ms INTEGER NOT NULL, shape INTEGER NOT NULL,"
        " results TEXT NOT NULL, document TEXT NOT NULL) STRICT;"
        "CREATE UNIQUE INDEX model_by_name ON model (name, ifnull(component, ''), is_declared);"
        "CREATE TABLE series ("
        " id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, name INTEGER NOT NULL, component INTEGER NOT NULL,"
        " shape INTEGER NOT NULL, version TEXT, hardware TEXT, parameters TEXT NOT NULL) STRICT;"
        "CREATE INDEX series_by_hash ON series (hash);"
        "CREATE INDEX series_by_pair ON series (name, component, shape);"
        "CREATE TABLE property ("
        " name INTEGER NOT NULL, component INTEGER NOT NULL, key TEXT NOT NULL, value ANY NOT NULL, series INTEGER NOT NULL,"
        " PRIMARY KEY (name, component, key, value, series)) STRICT, WITHOUT ROWID;"
        "CREATE INDEX property_by_series ON property (series);"
        "CREATE TABLE point ("
        " series INTEGER NOT NULL, time_ms INTEGER NOT NULL, row INTEGER NOT NULL, score REAL, numbers BLOB,"
        " PRIMARY KEY (series, time_ms, row)) STRICT, WITHOUT ROWID;"

        "CREATE TRIGGER result_removed AFTER DELETE ON result WHEN old.series IS NOT NULL BEGIN"
        " DELETE FROM point WHERE series = old.series AND time_ms = old.time_ms AND row = old.row; END;"
        "CREATE TRIGGER point_removed AFTER DELETE ON point"
        " WHEN NOT EXISTS (SELECT 1 FROM point WHERE series = old.series) BEGIN"
        " DELETE FROM property WHERE series = old.series;"
        " DELETE FROM series WHERE id = old.series; END;";

/* Which indicators are still to be indexed is asked again and again, and they are few among many. */
static const char fourth[] = "CREATE INDEX indicator_unindexed ON indicator (indexed_from) WHERE shape IS NOT NULL AND indexed_from > 0;";

/* The first makes version 1 of version 0, and so on. What was released is never changed; additions go at the end. */
static const char *const migrations[] = {
        first,
        second,
        third,
        fourth,
};

int schema_version(void) {
        return (int)N_ELEMENTS(migrations);
}

/* These must come before the first table of a new file. */
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

int schema_touch(Database *database) {
        char text[64];

        (void)snprintf(text, sizeof(text), "PRAGMA user_version = %d", schema_version());
        return database_exec(database, text);
}

static int migrate(Database *database, int64_t version) {
        char text[64];
        int r = 0;

        for (; r == 0 && version < schema_version(); version++)
                r = database_exec(database, migrations[version]);
        if (r != 0)
                return r;

        (void)snprintf(text, sizeof(text), "PRAGMA application_id = %d", APPLICATION_ID);
        r = database_exec(database, text);
        return r != 0 ? r : schema_touch(database);
}

static int migrate_in_transaction(Database *database, int64_t version) {
        int r;

        r = database_exec(database, "BEGIN IMMEDIATE");
        if (r != 0)
                return r;

        r = migrate(database, version);
        if (r == 0)
                r = database_exec(database, "COMMIT");
        if (r != 0 && !sqlite3_get_autocommit(database->db))
                (void)database_exec(database, "ROLLBACK");
        return r;
}

/*
 * A cheap look at each table and index, first and last entry, in place of PRAGMA quick_check, which reads
 * everything. Damage elsewhere shows when it is touched.
 */
static int look_around(Database *database) {
        static const char *const looks[] = {
                "SELECT count(*) FROM (SELECT * FROM result ORDER BY row LIMIT 1)",
                "SELECT count(*) FROM (SELECT * FROM result ORDER BY row DESC LIMIT 1)",
                "SELECT min(id) IS NULL FROM result INDEXED BY result_by_id",
                "SELECT max(id) IS NULL FROM result INDEXED BY result_by_id",
                "SELECT max(time_ms) FROM result INDEXED BY result_by_time",
                "SELECT count(*) FROM (SELECT * FROM job ORDER BY row DESC LIMIT 1)",
                "SELECT count(*) FROM job INDEXED BY job_by_state WHERE state = 'running'",
                "SELECT count(*) FROM (SELECT * FROM running)",
                "SELECT max(part) FROM timeline",
                "SELECT count(*) FROM (SELECT * FROM phase ORDER BY row DESC LIMIT 1)",
                "SELECT max(job) FROM phase INDEXED BY phase_by_job",
                "SELECT count(*) FROM (SELECT * FROM meter)",
                "SELECT max(begin_ms) FROM node_sample",
                "SELECT count(*) FROM indicator",
                "SELECT count(*) FROM model",
                "SELECT max(id) FROM series",
                "SELECT max(series) FROM property INDEXED BY property_by_series",
                "SELECT count(*) FROM (SELECT * FROM point LIMIT 1)",
        };
        int64_t unused;
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_ELEMENTS(looks); i++)
                r = database_ask(database, looks[i], &unused);
        return r;
}

/* A file is ours when it is empty or says so. Anything else is put aside like a corrupt one. */
static int identify(Database *database, int64_t *ret_version) {
        int64_t id, n_tables, version;
        int r;

        r = database_ask(database, "SELECT count(*) FROM sqlite_schema", &n_tables);
        if (r == 0)
                r = database_ask(database, "PRAGMA application_id", &id);
        if (r == 0)
                r = database_ask(database, "PRAGMA user_version", &version);
        if (r != 0)
                return r;
        if ((n_tables > 0 || version > 0) && id != APPLICATION_ID)
                return DATABASE_CORRUPT;
        if (version < 0 || (version > 0 && n_tables == 0))
                return DATABASE_CORRUPT;

        *ret_version = version;
        return 0;
}

int schema_setup(Database *database, bool is_volatile, int64_t *ret_version) {
        int64_t version = 0;
        int r;

        /* Until we know that the file is ours to write, closing must not write either. */
        sqlite3_db_config(database->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        r = identify(database, &version);
        if (r != 0)
                return r;
        *ret_version = version;
        if (version > schema_version())
                return SCHEMA_TOO_NEW;
        sqlite3_db_config(database->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);

        if (version == 0)
                r = prepare_new_file(database);
        if (r == 0)
                r = setup_connection(database, is_volatile);
        if (r == 0 && version < schema_version())
                r = migrate_in_transaction(database, version);
        if (r == 0)
                r = look_around(database);
        return r;
}
