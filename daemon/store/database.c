/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database.h"

#include <errno.h>

#include "util/scoped.h"

/* Waits for a person's sqlite3 shell, should one hold the lock; nobody else writes. */
#define BUSY_MS 2000

/* To all indicators, or to those of one name: there may be very many. */
#define MODELS_APPLY(where)                                                                                                   \
        "UPDATE indicator SET shape = w.shape, indexed_from = ?1 FROM"                                                        \
        " (SELECT i.name, i.component, (SELECT m.shape FROM model AS m WHERE m.name = n.text"                                 \
        "  AND (m.component IS NULL OR m.component = c.text) ORDER BY m.component IS NULL, m.is_declared DESC LIMIT 1)"       \
        "  AS shape FROM indicator AS i JOIN term AS n ON n.id = i.name JOIN term AS c ON c.id = i.component" where ") AS w" \
        " WHERE w.name = indicator.name AND w.component = indicator.component AND w.shape IS NOT NULL"                        \
        " AND indicator.shape IS NOT w.shape"

static const char *const sql[N_STATEMENTS] = {
        [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
        [STATEMENT_COMMIT] = "COMMIT",
        [STATEMENT_ROLLBACK] = "ROLLBACK",
        [STATEMENT_PAGE_COUNT] = "PRAGMA page_count",
        [STATEMENT_FREE_PAGES] = "PRAGMA freelist_count",

        [STATEMENT_RESULT_INSERT] =
                "INSERT INTO result (id, time_ms, name, component, uid, score, job, version, document,"
                " exit_status, batch, batch_index, run, series)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) ON CONFLICT (id) DO NOTHING",
        [STATEMENT_RESULT_FIND] = "SELECT row FROM result WHERE id = ?1",
        [STATEMENT_TERM_FIND] = "SELECT id FROM term WHERE text = ?1",
        [STATEMENT_TERM_INSERT] = "INSERT INTO term (text) VALUES (?1) RETURNING id",
        [STATEMENT_INDICATOR_ADD] =
                "INSERT INTO indicator (name, component, n_results, latest_ms) VALUES (?1, ?2, ?3, ?4)"
                " ON CONFLICT (name, component) DO UPDATE SET n_results = n_results + excluded.n_results,"
                " latest_ms = max(latest_ms, excluded.latest_ms)",
        [STATEMENT_INDICATOR_FIND] = "SELECT shape, indexed_from FROM indicator WHERE name = ?1 AND component = ?2",
        [STATEMENT_INDICATOR_INDEX] =
                "UPDATE indicator SET shape = ?3, indexed_from = ?4 WHERE name = ?1 AND component = ?2",

        [STATEMENT_SERIES_FIND] =
                "SELECT id FROM series INDEXED BY series_by_hash WHERE hash = ?1 AND name = ?2 AND component = ?3"
                " AND shape = ?4 AND version IS ?5 AND hardware IS ?6 AND parameters = ?7",
        [STATEMENT_SERIES_INSERT] =
                "INSERT INTO series (hash, name, component, shape, version, hardware, parameters)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id",
        [STATEMENT_PROPERTY_INSERT] =
                "INSERT INTO property (name, component, key, value, series) VALUES (?1, ?2, ?3, ?4, ?5)"
                " ON CONFLICT DO NOTHING",
        [STATEMENT_POINT_PUT] =
                "INSERT INTO point (series, time_ms, row, score, numbers) VALUES (?1, ?2, ?3, ?4, ?5)"
                " ON CONFLICT DO UPDATE SET score = excluded.score, numbers = excluded.numbers",
        [STATEMENT_POINT_REMOVE] = "DELETE FROM point WHERE series = ?1 AND time_ms = ?2 AND row = ?3",
        [STATEMENT_RESULT_SERIES] = "UPDATE result SET series = ?2 WHERE row = ?1",

        /* Of those that fit, the one that names the component comes first, then that of a file: none is told that is overruled. */
        [STATEMENT_MODEL_PUT] =
                "INSERT INTO model (name, component, is_declared, uid, by_admin, time_ms, shape, results, document)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
                " ON CONFLICT (name, ifnull(component, ''), is_declared) DO UPDATE SET uid = excluded.uid,"
                " by_admin = excluded.by_admin, time_ms = excluded.time_ms, shape = excluded.shape,"
                " results = excluded.results, document = excluded.document",
        [STATEMENT_MODEL_REMOVE] = "DELETE FROM model WHERE name = ?1 AND component IS ?2 AND NOT is_declared",
        [STATEMENT_MODELS_FORGET] = "DELETE FROM model WHERE is_declared",
        [STATEMENT_MODELS_APPLY] = MODELS_APPLY(""),
        [STATEMENT_MODEL_APPLY] = MODELS_APPLY(" WHERE i.name = (SELECT id FROM term WHERE text = ?2)"),
        [STATEMENT_ROW_NEXT] = "SELECT ifnull(max(row), 0) + 1 FROM result",
        /* Where the rows end that are not indexed yet, and one row of them at a time, downwards. */
        [STATEMENT_UNINDEXED_TOP] =
                "SELECT max(row) FROM result WHERE row < (SELECT max(indexed_from) FROM indicator"
                " WHERE shape IS NOT NULL AND indexed_from > 0)",
        [STATEMENT_UNINDEXED_NEXT] =
                "SELECT r.row, r.time_ms, r.name, r.component, r.score, r.version, r.exit_status, r.series,"
                " r.run, r.document, i.shape, l.keys FROM result AS r"
                " CROSS JOIN indicator AS i ON i.name = r.name AND i.component = r.component"
                " CROSS JOIN layout AS l ON l.id = i.shape"
                " WHERE r.row >= ?1 AND r.row <= ?2 AND r.row < i.indexed_from ORDER BY r.row DESC LIMIT 1",
        [STATEMENT_UNINDEXED_DONE] =
                "UPDATE indicator SET indexed_from = ?1 WHERE shape IS NOT NULL AND indexed_from > 0 AND indexed_from > ?1",

        [STATEMENT_JOB_INSERT] =
                "INSERT INTO job (id, name, user, command, labels, uid, gid, pid, pid_start_ticks, rank,"
                " node, n_nodes, n_ranks, enclosure, cgroup, state, begin_ms)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 'running', ?16)"
                " ON CONFLICT (id) DO NOTHING",
        [STATEMENT_JOB_END] =
                "UPDATE job SET state = ?2, end_ms = ?3, exit_status = ?4, signal = ?5, rusage = ?6, note = ?7,"
                " layout = ?8, metrics = ?9, usage_layout = ?10, usage = ?11,"
                " n_phases = max(n_phases, ?12) WHERE id = ?1",
        [STATEMENT_TIMELINE_PUT] =
                "INSERT INTO timeline (part, bytes) SELECT 3 * row + ?2, ?3 FROM job WHERE id = ?1"
                " ON CONFLICT (part) DO UPDATE SET bytes = excluded.bytes",
        [STATEMENT_PHASE_PUT] =
                "INSERT INTO phase (job, number, name, begin_ms, end_ms, wall_seconds,"
                " layout, metrics, usage_layout, usage)"
                " SELECT row, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM job WHERE id = ?1"
                " ON CONFLICT (job, number) DO UPDATE SET name = excluded.name, begin_ms = excluded.begin_ms,"
                " end_ms = excluded.end_ms, wall_seconds = excluded.wall_seconds, layout = excluded.layout,"
                " metrics = excluded.metrics, usage_layout = excluded.usage_layout, usage = excluded.usage",
        [STATEMENT_JOB_LEARNED] =
                "UPDATE job SET enclosure = ?2, cgroup = ?3, uid = ?4, gid = ?5 WHERE id = ?1 AND state = 'running'",
        [STATEMENT_JOB_PHASES] = "UPDATE job SET n_phases = max(n_phases, ?2) WHERE id = ?1",
        [STATEMENT_JOB_FIND] = "SELECT state, uid FROM job WHERE id = ?1",
        [STATEMENT_JOB_AMEND] =
                "UPDATE job SET state = 'finished', exit_status = ?2, signal = ?3, rusage = ?4 WHERE id = ?1",
        [STATEMENT_RUNNING_PUT] =
                "INSERT INTO running (job, window, boot_id, checkpoint_ms) SELECT row, ?2, ?3, ?4 FROM job WHERE id = ?1",
        [STATEMENT_RUNNING_CHECKPOINT] =
                "UPDATE running SET window = ?2, boot_id = ?3, checkpoint_ms = ?4"
                " WHERE job = (SELECT row FROM job WHERE id = ?1)",
        [STATEMENT_RUNNING_REMOVE] = "DELETE FROM running WHERE job = (SELECT row FROM job WHERE id = ?1)",
        [STATEMENT_JOBS_INTERRUPT] =
                "UPDATE job SET state = 'interrupted', note = ?1,"
                " end_ms = ifnull((SELECT checkpoint_ms FROM running WHERE running.job = job.row), begin_ms)"
                " WHERE state = 'running'",
        [STATEMENT_RUNNING_CLEAR] = "DELETE FROM running",
        [STATEMENT_LAYOUT_FIND] = "SELECT id FROM layout WHERE keys = ?1",
        [STATEMENT_LAYOUT_INSERT] = "INSERT INTO layout (keys) VALUES (?1) RETURNING id",
        /* Far more than there are models, so that to look who has them is rare. Those of jobs' numbers are few, and stay. */
        [STATEMENT_LAYOUTS_ARE_MANY] = "SELECT (SELECT count(*) FROM layout) > 64 + 2 * (SELECT count(*) FROM model)",
        [STATEMENT_LAYOUTS_TIDY] =
                "DELETE FROM layout WHERE keys GLOB '{*' AND id NOT IN (SELECT shape FROM model"
                " UNION SELECT shape FROM indicator WHERE shape IS NOT NULL UNION SELECT shape FROM series)",
        [STATEMENT_METER_PUT] =
                "INSERT INTO meter (only, account, boot_id, time_ms) VALUES (1, ?1, ?2, ?3)"
                " ON CONFLICT (only) DO UPDATE SET account = excluded.account, boot_id = excluded.boot_id,"
                " time_ms = excluded.time_ms",
        [STATEMENT_NODE_SAMPLE_PUT] =
                "INSERT INTO node_sample (begin_ms, interval_ms, timeline) VALUES (?1, ?2, ?3)"
                " ON CONFLICT (begin_ms) DO UPDATE SET interval_ms = excluded.interval_ms,"
                " timeline = excluded.timeline",

        /*
         * Removing: ?1 rows at most, the oldest; expiring: and older than ?2. Jobs come with their phases: as many
         * of the oldest as begin within ?1 rows of both, so that one job at least goes.
         */
        [STATEMENT_SAMPLES_REMOVE] =
                "DELETE FROM node_sample WHERE begin_ms IN (SELECT begin_ms FROM node_sample ORDER BY begin_ms LIMIT ?1)",
        [STATEMENT_RESULTS_REMOVE] =
                "DELETE FROM result WHERE row IN (SELECT row FROM result ORDER BY row LIMIT ?1)"
                " RETURNING name, component",
        [STATEMENT_JOBS_REMOVE] =
                "DELETE FROM job WHERE row IN (SELECT row FROM"
                " (SELECT row, n_phases, total(1 + n_phases) OVER (ORDER BY row) AS n FROM"
                " (SELECT row, n_phases FROM job WHERE state <> 'running' ORDER BY row LIMIT ?1))"
                " WHERE n - n_phases <= ?1) RETURNING 1 + n_phases",
        [STATEMENT_SAMPLES_EXPIRE] =
                "DELETE FROM node_sample WHERE begin_ms IN"
                " (SELECT begin_ms FROM node_sample WHERE begin_ms < ?2 ORDER BY begin_ms LIMIT ?1)",
        [STATEMENT_RESULTS_EXPIRE] =
                "DELETE FROM result WHERE row IN"
                " (SELECT row FROM result INDEXED BY result_by_time WHERE time_ms < ?2 ORDER BY time_ms LIMIT ?1)"
                " RETURNING name, component",
        [STATEMENT_JOBS_EXPIRE] =
                "DELETE FROM job WHERE row IN (SELECT row FROM"
                " (SELECT row, n_phases, total(1 + n_phases) OVER (ORDER BY begin_ms, row) AS n FROM"
                " (SELECT row, n_phases, begin_ms FROM job INDEXED BY job_by_begin WHERE begin_ms < ?2 AND end_ms < ?2"
                " AND state <> 'running' ORDER BY begin_ms LIMIT ?1))"
                " WHERE n - n_phases <= ?1) RETURNING 1 + n_phases",
        [STATEMENT_INDICATOR_SUBTRACT] =
                "UPDATE indicator SET n_results = n_results - ?3 WHERE name = ?1 AND component = ?2",
        [STATEMENT_INDICATORS_TIDY] = "DELETE FROM indicator WHERE n_results <= 0",
        [STATEMENT_TERMS_TIDY] =
                "DELETE FROM term WHERE id NOT IN (SELECT name FROM indicator UNION SELECT component FROM indicator)",
        [STATEMENT_VACUUM] = "PRAGMA incremental_vacuum(256)",
};

static int from_errno(sqlite3 *db) {
        int e = sqlite3_system_errno(db);

        return e == ENOSPC || e == EDQUOT ? DATABASE_FULL : e > 0 ? -e : -EIO;
}

int database_outcome(sqlite3 *db, int code) {
        switch (code & 0xff) {
        case SQLITE_OK:
        case SQLITE_DONE:
                return 0;
        case SQLITE_ROW:
                return DATABASE_ROW;
        case SQLITE_TOOBIG:
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
                return DATABASE_REFUSED;
        case SQLITE_FULL:
                return DATABASE_FULL;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_ERROR: /* our SQL is constant: it fails on a schema that is not ours */
                return DATABASE_CORRUPT;
        case SQLITE_NOMEM:
                return -ENOMEM;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return -EBUSY;
        case SQLITE_READONLY:
                return -EROFS;
        case SQLITE_PERM:
        case SQLITE_AUTH:
                return -EACCES;
        case SQLITE_INTERRUPT:
                return -EINTR;
        case SQLITE_IOERR:
        case SQLITE_CANTOPEN:
                return from_errno(db);
        default:
                return -EIO;
        }
}

static int on_wal(void *userdata, sqlite3 *db, const char *name, int n_pages) {
        Database *database = userdata;

        (void)db;
        (void)name;
        database->n_wal_pages = n_pages;
        return SQLITE_OK;
}

int database_open(Database *database, const char *path) {
        int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
        int code;

        *database = (Database){};
        code = sqlite3_open_v2(path, &database->db, flags, NULL);
        if (code != SQLITE_OK)
                return database->db ? database_outcome(database->db, code) : -ENOMEM;

        sqlite3_extended_result_codes(database->db, 1);
        database_wait(database, true);
        return 0;
}

void database_watch(Database *database) {
        sqlite3_wal_hook(database->db, on_wal, database);
}

void database_wait(Database *database, bool waits) {
        sqlite3_busy_timeout(database->db, waits ? BUSY_MS : 0);
}

void database_close(Database *database) {
        for (size_t i = 0; i < N_STATEMENTS; i++)
                sqlite3_finalize(database->statements[i]);
        sqlite3_close(database->db);
        *database = (Database){};
}

int database_exec(Database *database, const char *text) {
        return database_outcome(database->db, sqlite3_exec(database->db, text, NULL, NULL, NULL));
}

static void finalizep(sqlite3_stmt **statement) {
        sqlite3_finalize(*statement);
}

int database_ask(Database *database, const char *text, int64_t *ret) {
        scoped(finalizep) sqlite3_stmt *statement = NULL;
        int code;

        code = sqlite3_prepare_v2(database->db, text, -1, &statement, NULL);
        if (code == SQLITE_OK)
                code = sqlite3_step(statement);
        if (code == SQLITE_ROW)
                *ret = sqlite3_column_int64(statement, 0);
        else if (code == SQLITE_DONE)
                *ret = 0;
        else
                return database_outcome(database->db, code);

        return 0;
}

static int prepare(Database *database, Statement which) {
        return sqlite3_prepare_v3(database->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &database->statements[which], NULL);
}

static bool is_kept(Statement statement) {
        return statement <= STATEMENT_ROLLBACK;
}

/* All of them together take 250 KiB. */
int database_prepare(Database *database) {
        for (Statement i = 0; i < N_STATEMENTS; i++) {
                int code = prepare(database, i);

                if (code != SQLITE_OK)
                        return database_outcome(database->db, code);
                if (!is_kept(i))
                        sqlite3_finalize(TAKE(database->statements[i]));
        }
        return 0;
}

sqlite3_stmt *database_statement(Database *database, Statement which) {
        if (!database->statements[which])
                database->unprepared_code = prepare(database, which);
        return database->statements[which];
}

const char *database_error(Database *database) {
        return sqlite3_errmsg(database->db);
}

void bind_text(sqlite3_stmt *statement, int i, Text text) {
        sqlite3_bind_text(statement, i, text.text, text.n, SQLITE_STATIC);
}

void bind_u64(sqlite3_stmt *statement, int i, uint64_t v) {
        sqlite3_bind_int64(statement, i, v > INT64_MAX ? INT64_MAX : (sqlite3_int64)v);
}

int database_step(Database *database, Statement which) {
        sqlite3_stmt *statement;
        int code;

        /* What was bound to nothing must not run without it. */
        statement = database->unprepared_code == SQLITE_OK ? database_statement(database, which) : NULL;
        if (!statement) {
                code = database->unprepared_code;
                database->unprepared_code = SQLITE_OK;
                return database_outcome(database->db, code);
        }

        code = sqlite3_step(statement);
        if (code != SQLITE_ROW)
                sqlite3_reset(statement);
        return database_outcome(database->db, code);
}

int database_run(Database *database, Statement which) {
        int r;

        do
                r = database_step(database, which);
        while (r == DATABASE_ROW);
        return r;
}

int database_get(Database *database, Statement which, int64_t *ret) {
        int r;

        r = database_step(database, which);
        if (r != DATABASE_ROW)
                return r;

        *ret = sqlite3_column_int64(database->statements[which], 0);
        return database_run(database, which);
}

int database_number(Database *database, Statement find, Statement insert, Text text, int64_t *ret) {
        int64_t number = 0;
        int r;

        bind_text(database_statement(database, find), 1, text);
        r = database_get(database, find, &number);
        if (r == 0 && number == 0) {
                bind_text(database_statement(database, insert), 1, text);
                r = database_get(database, insert, &number);
        }
        if (r != 0)
                return r;

        *ret = number;
        return 0;
}

void database_rollback(Database *database) {
        if (!sqlite3_get_autocommit(database->db))
                (void)database_run(database, STATEMENT_ROLLBACK);
}

int64_t database_changes(const Database *database) {
        return sqlite3_changes(database->db);
}
