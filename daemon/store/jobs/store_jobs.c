/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_rows.h"

#include "store/table/table_salvage.h"
#include "store/database/database.h"
#include "store/retention/leftover.h"

/* --- removal ------------------------------------------------------------------------------------- */

#define PHASES_AT_ONCE "512" /* phases of a job that are removed together with it; more are removed in steps */

STATEMENT phases_remove = {
        "DELETE FROM phase WHERE row IN (SELECT row FROM phase INDEXED BY phase_by_job WHERE job = ?1 LIMIT ?2)", 0,
};
static const Statement *const phase_removals[] = { &phases_remove, NULL };
DEFINE_LEFTOVER(phase_leftover, 2, phase_removals, PHASES_AT_ONCE, "?1");

/* SQL of the trigger that runs when the job old.row is removed. */
#define PHASES_REMOVE                                                                                    \
        " INSERT INTO phase_leftover SELECT old.row WHERE old.n_phases > " PHASES_AT_ONCE ";"             \
        " DELETE FROM phase WHERE job = old.row AND old.n_phases <= " PHASES_AT_ONCE ";"

/* Jobs are removed with their phases, unless these are many: as many of the oldest jobs as have ?1 rows, and at least one job.
 * Running jobs stay. */
#define JOB_ROWS "iif(n_phases > " PHASES_AT_ONCE ", 1, 1 + n_phases)"
#define JOB_REMOVE(of)                                                                                  \
        "DELETE FROM job WHERE row IN (SELECT row FROM"                                                 \
        " (SELECT row, n_rows, total(n_rows) OVER (ORDER BY row) AS n FROM"                             \
        " (SELECT row, " JOB_ROWS " AS n_rows FROM job " of " state <> 'running' ORDER BY row LIMIT ?1))" \
        " WHERE n - n_rows < ?1) RETURNING " JOB_ROWS

STATEMENT job_remove = { JOB_REMOVE("WHERE"), 1 };
STATEMENT job_remove_of_user = { JOB_REMOVE("INDEXED BY job_by_uid WHERE uid = ?2 AND"), 1 };

STATEMENT job_expire = {
        "DELETE FROM job WHERE row IN (SELECT row FROM"
        " (SELECT row, n_rows, total(n_rows) OVER (ORDER BY begin_ms, row) AS n FROM"
        " (SELECT row, " JOB_ROWS " AS n_rows, begin_ms FROM job INDEXED BY job_by_begin WHERE begin_ms < ?2 AND end_ms < ?2"
        " AND state <> 'running' ORDER BY begin_ms LIMIT ?1))"
        " WHERE n - n_rows < ?1) RETURNING " JOB_ROWS,
        1,
};

/* Counts the rows that were removed. */
static int run_removal(Database *database, Prepared *removal, int64_t *ret_n) {
        int64_t n = 0;
        int r;

        while ((r = database_step(database, removal)) == DATABASE_ROW)
                n += column_i64(removal, 0);
        if (r == 0)
                *ret_n = n;
        return r;
}

/* --- salvage ------------------------------------------------------------------------------------- */

/*
 * A job whose row is lost is restored from its indexes, so that its phases and its timeline keep a job.
 */
#define RESTORED "'restored from indexes after damage of the database: the command, labels and numbers of the job are lost'"

/* A job that was running only according to the damaged file cannot be resumed: jobs that were running are stored first. */
static const TableSalvage job_salvage = {
        .needed = "old.state = 'running'",
        .values = (const SalvagedValue[]){
                { "state", "iif(old.state = 'running', 'interrupted', old.state)" },
                { "end_ms", "max(old.begin_ms, ifnull(old.end_ms, 0))" },
                {},
        },
        .restored = (const SalvagedValue[]){
                { "id", "'lost-id-' || old.row" }, { "state", "'interrupted'" }, { "rank", "-1" }, { "node", "-1" },
                { "isolation", "'none'" }, { "note", RESTORED }, { "labels", "'{}'" }, {},
        },
        .is_restored = "note = " RESTORED,
};

/* The number of a lost job may now belong to another job. A job without its progress cannot be resumed after a restart. */
STATEMENT running_finish = {
        "UPDATE job SET state = 'interrupted', end_ms = begin_ms WHERE state = 'running' AND row NOT IN (SELECT job FROM running)", 0,
};
static const TableSalvage running_salvage = {
        .needed = "1",
        .condition = "EXISTS (SELECT 1 FROM job WHERE row = old.job AND state = 'running')",
        .finish = &running_finish,
};

static const TableSalvage timeline_salvage = {
        .condition = "EXISTS (SELECT 1 FROM job WHERE row = old.part / 3 AND state <> 'running')",
};

/* A job that began after the phase has taken the number of a lost job. */
STATEMENT phase_salvaged[] = { { "UPDATE job SET n_phases = ?3 + 1 WHERE row = ?2 AND n_phases <= ?3", 0 }, {} };
static const TableSalvage phase_salvage = {
        .needed = "1",
        .condition = "EXISTS (SELECT 1 FROM job WHERE row = old.job AND begin_ms <= old.begin_ms)",
        .values = (const SalvagedValue[]){ { "row", "NULL" }, {} },
        .after = phase_salvaged,
};
static const TableSalvage small_salvage = { .is_first = true }; /* of tables with a few rows */

/* --- tables -------------------------------------------------------------------------------------- */

/* Average size of a job with its phases in the table `holder`. It includes 2 KiB of command and labels; longer texts are added. */
#define JOB_SIZE(row) \
        "(4096 + max(0, length(CAST(" row ".command AS BLOB)) + length(CAST(" row ".labels AS BLOB)) - 2048)" \
        " + 1024 * min(" row ".n_phases, 100000))"

/*
 * row is the rowid by name, so that indexes can hold it where pages of a list need it: newest first, then by row. Long texts
 * come last: SQLite reads a row from its begin. No number is used twice: rows of other tables may remain for a while after their job.
 */
static const StoreTable job_table = {
        .name = "job",
        .schema =
                "CREATE TABLE job ("
                " row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, name TEXT NOT NULL, user TEXT NOT NULL, state TEXT NOT NULL,"
                " begin_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL DEFAULT 0,"
                " uid INTEGER NOT NULL, gid INTEGER NOT NULL, pid INTEGER NOT NULL, pid_start_ticks INTEGER NOT NULL,"
                " rank INTEGER NOT NULL, node INTEGER NOT NULL, n_nodes INTEGER NOT NULL, n_ranks INTEGER NOT NULL,"
                " n_phases INTEGER NOT NULL DEFAULT 0, exit_status INTEGER, signal INTEGER NOT NULL DEFAULT 0,"
                " isolation TEXT NOT NULL, cgroup TEXT, rusage TEXT, note TEXT, command TEXT NOT NULL, labels TEXT NOT NULL,"
                " layout INTEGER, metrics TEXT, usage_layout INTEGER, usage TEXT,"
                " begun_by INTEGER NOT NULL DEFAULT 0, by_admin INTEGER NOT NULL DEFAULT 0) STRICT;"
                "CREATE UNIQUE INDEX job_by_id ON job (id);"
                "CREATE INDEX job_by_begin ON job (begin_ms);"
                "CREATE INDEX job_by_name ON job (name, begin_ms);"
                "CREATE INDEX job_by_user ON job (user, begin_ms);"
                "CREATE INDEX job_by_state ON job (state, begin_ms);"
                "CREATE INDEX job_by_uid ON job (uid);"
                "CREATE TRIGGER job_removed AFTER DELETE ON job BEGIN"
                " DELETE FROM timeline WHERE part BETWEEN 3 * old.row AND 3 * old.row + 2;"
                PHASES_REMOVE
                " UPDATE holder SET n_bytes = n_bytes - " JOB_SIZE("old") " WHERE uid = old.uid; END;"
                "CREATE TRIGGER job_added AFTER INSERT ON job BEGIN"
                " INSERT INTO holder (uid, n_bytes) VALUES (new.uid, " JOB_SIZE("new") ")"
                " ON CONFLICT DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes; END;"
                "CREATE TRIGGER job_changed AFTER UPDATE OF uid, n_phases ON job"
                " WHEN new.uid <> old.uid OR new.n_phases <> old.n_phases BEGIN"
                " UPDATE holder SET n_bytes = n_bytes - " JOB_SIZE("old") " WHERE uid = old.uid;"
                " INSERT INTO holder (uid, n_bytes) VALUES (new.uid, " JOB_SIZE("new") ")"
                " ON CONFLICT DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes; END;",
        .checks = {
                "SELECT count(*) FROM (SELECT * FROM job ORDER BY row DESC LIMIT 1)",
                "SELECT count(*) FROM job INDEXED BY job_by_state WHERE state = 'running'",
        },
        .removal_order = 5,
        .keep = offsetof(StoreConfig, keep_jobs_ns),
        .remove = &job_remove,
        .remove_of_user = &job_remove_of_user,
        .expire = &job_expire,
        .newest = "SELECT max(begin_ms) FROM job INDEXED BY job_by_begin",
        .run = run_removal,
        .salvage = &job_salvage,
};

/* Separate from the job, because a row that was larger once leaves a hole that is not filled again. */
static const StoreTable running_table = {
        .name = "running",
        .schema =
                "CREATE TABLE running ("
                " job INTEGER PRIMARY KEY, checkpoint_ms INTEGER NOT NULL, boot_id TEXT NOT NULL, window TEXT NOT NULL) STRICT;",
        .checks = {
                "SELECT total(length(window)) FROM running",
                "SELECT total(length(labels)) FROM running JOIN job ON job.row = running.job",
        },
        .salvage = &running_salvage,
};

/*
 * Separate from the jobs, so that a page has more jobs, which are listed without their timelines. A timeline is compressed and
 * in three parts (3 * row, + 1, + 2): five parts share a page, while a whole timeline would fill little more than half a page
 * alone.
 */
static const StoreTable timeline_table = {
        .name = "timeline",
        .schema = "CREATE TABLE timeline (part INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;",
        .checks = { "SELECT max(part) FROM timeline" },
        .salvage = &timeline_salvage,
};

_Static_assert(N_TIMELINE_PARTS == 3, "the SQL of timelines has three parts");

/* A phase's row may be as large as a job's, hence a table with a rowid. */
static const StoreTable phase_table = {
        .name = "phase",
        .schema =
                "CREATE TABLE phase ("
                " row INTEGER PRIMARY KEY, job INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,"
                " begin_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL, wall_seconds REAL,"
                " layout INTEGER, metrics TEXT, usage_layout INTEGER, usage TEXT) STRICT;"
                "CREATE UNIQUE INDEX phase_by_job ON phase (job, number);",
        .checks = {
                "SELECT count(*) FROM (SELECT * FROM phase ORDER BY row DESC LIMIT 1)",
                "SELECT max(job) FROM phase INDEXED BY phase_by_job",
        },
        .salvage = &phase_salvage,
};

/* The keys of stored metrics and usage (job_text.h): a few rows, shared by all jobs and phases. */
static const StoreTable layout_table = {
        .name = "layout",
        .schema = "CREATE TABLE layout (id INTEGER PRIMARY KEY, keys TEXT NOT NULL UNIQUE) STRICT;",
        .checks = { "SELECT count(*) FROM (SELECT * FROM layout)" },
        .salvage = &small_salvage,
};

/* The node meter's account, from which the jobs' progress counts: one row. */
static const StoreTable meter_table = {
        .name = "meter",
        .schema =
                "CREATE TABLE meter ("
                " only INTEGER PRIMARY KEY CHECK (only = 1), account TEXT NOT NULL, boot_id TEXT NOT NULL,"
                " time_ms INTEGER NOT NULL) STRICT;",
        .checks = { "SELECT total(length(account)) FROM meter" },
        .salvage = &small_salvage,
};

/* The totals of ended jobs by user and by label: one row. */
static const StoreTable totals_table = {
        .name = "job_totals",
        .schema = "CREATE TABLE job_totals (only INTEGER PRIMARY KEY CHECK (only = 1), text TEXT NOT NULL) STRICT;",
        .checks = { "SELECT total(length(text)) FROM job_totals" },
        .salvage = &small_salvage,
};

static const StoreTable *const tables[] = {
        &job_table, &running_table, &timeline_table, &phase_table, &phase_leftover_table, &layout_table, &meter_table, &totals_table, NULL,
};

const StoreSubject store_jobs = {
        .name = "jobs",
        .tables = tables,
        .kinds = job_rows_kinds,
        .interrupt = job_rows_interrupt,
};
