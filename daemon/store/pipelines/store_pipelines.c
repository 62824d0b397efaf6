/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_rows.h"

#include "store/table/table_salvage.h"
#include "store/retention/leftover.h"
#include "store/pipelines/pipeline_merge.h"

/* --- removal -------------------------------------------------------------------------------------- */

/*
 * A job may have half a million intervals. ?1 of retention counts rows of the size of a result, with its indexes; an interval has no
 * index.
 */
STATEMENT intervals_remove = {
        "DELETE FROM pipeline_interval WHERE (job, level, end_ms, series) IN"
        " (SELECT job, level, end_ms, series FROM pipeline_interval WHERE job = ?1 LIMIT ?2)", 0,
};
STATEMENT series_remove = {
        "DELETE FROM pipeline_series WHERE row IN"
        " (SELECT row FROM pipeline_series INDEXED BY pipeline_series_by_job WHERE job = ?1 LIMIT ?2)", 0,
};
STATEMENT events_remove = {
        "DELETE FROM pipeline_event WHERE (job, time_ms, name) IN"
        " (SELECT job, time_ms, name FROM pipeline_event WHERE job = ?1 LIMIT ?2)", 0,
};
static const Statement *const pipeline_removals[] = { &intervals_remove, &series_remove, &events_remove, NULL };
DEFINE_LEFTOVER(pipeline_leftover, 1, pipeline_removals, "1024", "4 * ?1");

/* SQL of the trigger that runs when the job old.row is removed. */
#define ROWS_REMOVE                                                                                      \
        " INSERT INTO pipeline_leftover SELECT old.row WHERE EXISTS (SELECT 1 FROM pipeline WHERE job = old.row)" \
        " OR EXISTS (SELECT 1 FROM pipeline_series WHERE job = old.row);"

/* --- salvage -------------------------------------------------------------------------------------- */

#define HAS_JOB "EXISTS (SELECT 1 FROM job WHERE row = old.job)"

static const TableSalvage series_salvage = { .needed = "1", .condition = HAS_JOB };
static const TableSalvage interval_salvage = {
        .condition = "EXISTS (SELECT 1 FROM pipeline_series WHERE row = old.series AND job = old.job)",
};
static const TableSalvage event_salvage = { .condition = HAS_JOB };

/*
 * Counts the series and intervals that are stored when it runs. The row of a running job is stored before reports of the job, and counted
 * again after its intervals, as a row that a report has made in the meantime.
 */
#define COUNT_SERIES(job) "(SELECT count(*) FROM pipeline_series WHERE job = " job ")"
#define COUNT_INTERVALS(job) "(SELECT count(*) FROM pipeline_interval WHERE job = " job ")"
STATEMENT pipeline_recount = {
        "UPDATE pipeline SET n_series = " COUNT_SERIES("?1") ", n_rows = " COUNT_INTERVALS("?1") ", merged_ms = max(merged_ms, ?4),"
        " n_events = max(n_events, ?5), event_s = max(event_s, ?6), description = coalesce(description, ?7) WHERE job = ?1",
        0,
};
static const TableSalvage pipeline_salvage = {
        .needed = "1",
        .condition = HAS_JOB,
        .values = (const SalvagedValue[]){ { "n_series", COUNT_SERIES("old.job") }, { "n_rows", COUNT_INTERVALS("old.job") }, {} },
        .before = &pipeline_recount,
};

/* --- tables --------------------------------------------------------------------------------------- */

/* The columns from `elapsed_s` on are the members of PipelineSums. All rows of a job are removed after it. */
static const StoreTable series_table = {
        .name = "pipeline_series",
        .schema =
                "CREATE TABLE pipeline_series ("
                " row INTEGER PRIMARY KEY, job INTEGER NOT NULL, stage TEXT NOT NULL, part INTEGER NOT NULL, producer TEXT NOT NULL,"
                " end_ms INTEGER NOT NULL, n_intervals INTEGER NOT NULL, n_last REAL NOT NULL, buffer_size INTEGER NOT NULL,"
                " elapsed_s REAL NOT NULL, n REAL NOT NULL, n_failures REAL NOT NULL,"
                " time_s REAL NOT NULL, get_s REAL NOT NULL, ready_s REAL NOT NULL, judged_s REAL NOT NULL) STRICT;"
                "CREATE UNIQUE INDEX pipeline_series_by_job ON pipeline_series (job, stage, part);",
        .checks = {
                "SELECT count(*) FROM (SELECT * FROM pipeline_series ORDER BY row DESC LIMIT 1)",
                "SELECT max(job) FROM pipeline_series INDEXED BY pipeline_series_by_job",
        },
        .salvage = &series_salvage,
};

/*
 * By time before the series: the intervals of a report are neighbours, and change few pages. When space is needed and no ended job and no
 * result is left to be removed, the intervals of running jobs are merged.
 */
static const StoreTable interval_table = {
        .name = "pipeline_interval",
        .schema =
                "CREATE TABLE pipeline_interval ("
                " job INTEGER NOT NULL, level INTEGER NOT NULL, end_ms INTEGER NOT NULL, series INTEGER NOT NULL,"
                " elapsed_s REAL NOT NULL, n REAL NOT NULL, n_failures REAL NOT NULL, time_s REAL NOT NULL, get_s REAL NOT NULL,"
                " ready_s REAL NOT NULL, judged_s REAL NOT NULL,"
                " p90_s REAL NOT NULL, p99_s REAL NOT NULL, get_p90_s REAL NOT NULL, get_p99_s REAL NOT NULL,"
                " PRIMARY KEY (job, level, end_ms, series)) STRICT, WITHOUT ROWID;",
        .checks = { "SELECT count(*) FROM (SELECT * FROM pipeline_interval LIMIT 1)" },
        .removal_order = 6,
        .remove = &pipeline_merge_any,
        .remove_of_user = &pipeline_merge_of_user,
        .run = pipeline_merge_run,
        .salvage = &interval_salvage,
};

static const StoreTable event_table = {
        .name = "pipeline_event",
        .schema =
                "CREATE TABLE pipeline_event ("
                " job INTEGER NOT NULL, time_ms INTEGER NOT NULL, name TEXT NOT NULL, seconds REAL NOT NULL,"
                " PRIMARY KEY (job, time_ms, name)) STRICT, WITHOUT ROWID;",
        .checks = { "SELECT count(*) FROM (SELECT * FROM pipeline_event LIMIT 1)" },
        .salvage = &event_salvage,
};

#define SIZE_OF(row) "(" PIPELINE_SIZE(row ".n_series", row ".n_rows") " + " PIPELINE_NOTED_SIZE(row) ")"
#define SIZE_OF_JOB(job) "ifnull((SELECT " SIZE_OF("p") " FROM pipeline AS p WHERE p.job = " job "), 0)"
#define CHARGE(size, job) " UPDATE holder SET n_bytes = n_bytes + " size " WHERE uid = (SELECT uid FROM job WHERE row = " job ");"

/* Numbers of rows and totals of the events of a job, and the description of its pipelines. merged_ms: end of the newest merged interval. */
static const StoreTable pipeline_table = {
        .name = "pipeline",
        .schema =
                "CREATE TABLE pipeline ("
                " job INTEGER PRIMARY KEY, n_series INTEGER NOT NULL, n_rows INTEGER NOT NULL, merged_ms INTEGER NOT NULL,"
                " n_events INTEGER NOT NULL, event_s REAL NOT NULL, description TEXT) STRICT;"
                "CREATE TRIGGER pipeline_added AFTER INSERT ON pipeline BEGIN" CHARGE(SIZE_OF("new"), "new.job") " END;"
                "CREATE TRIGGER pipeline_changed AFTER UPDATE OF n_series, n_rows, n_events, description ON pipeline BEGIN"
                CHARGE(SIZE_OF("new") " - " SIZE_OF("old"), "new.job") " END;"
                "CREATE TRIGGER pipeline_job_changed AFTER UPDATE OF uid ON job WHEN new.uid <> old.uid BEGIN"
                " UPDATE holder SET n_bytes = n_bytes - " SIZE_OF_JOB("old.row") " WHERE uid = old.uid;"
                " INSERT INTO holder (uid, n_bytes) VALUES (new.uid, " SIZE_OF_JOB("new.row") ")"
                " ON CONFLICT DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes; END;"
                "CREATE TRIGGER pipeline_job_removed AFTER DELETE ON job BEGIN"
                " UPDATE holder SET n_bytes = n_bytes - " SIZE_OF_JOB("old.row") " WHERE uid = old.uid;"
                ROWS_REMOVE " DELETE FROM pipeline WHERE job = old.row; END;",
        .checks = { "SELECT max(job) FROM pipeline" },
        .salvage = &pipeline_salvage,
};

static const StoreTable *const tables[] = {
        &series_table, &interval_table, &event_table, &pipeline_table, &pipeline_leftover_table, NULL,
};

const StoreSubject store_pipelines = {
        .name = "pipelines",
        .tables = tables,
};
