/* SPDX-License-Identifier: Apache-2.0 */
#include "store/reader_sql.h"

#include <stdio.h>

#include "store/jobs/job_columns.h"

/* As the reader takes them, of a job or a phase. */
#define NUMBER_COLUMNS ", layout, metrics, usage_layout, usage"

#define RESULTS_SQL \
        "SELECT r.row, r.id, n.text, c.text, r.version, r.job, r.uid, r.time_ms, r.score, r.document," \
        " r.exit_status, r.batch, r.batch_index, r.run"
#define RESULTS_TERMS_SQL " CROSS JOIN term AS n ON n.id = r.name CROSS JOIN term AS c ON c.id = r.component"

#define PAIRS_SQL \
        "SELECT i.name, i.component, c.text, i.shape, i.indexed_from, l.keys FROM indicator AS i" \
        " CROSS JOIN term AS c ON c.id = i.component LEFT JOIN layout AS l ON l.id = i.shape"

static void write_results_sql(unsigned by, char *ret) {
        const char *index = by & RESULTS_BY_JOB ? "job" : by & RESULTS_BY_NAME ? "name" : "time";

        /* CROSS JOIN keeps the order: result by its index, then the two texts of each row. */
        (void)snprintf(ret, QUESTION_SQL_MAX,
                       RESULTS_SQL " FROM result AS r INDEXED BY result_by_%s" RESULTS_TERMS_SQL
                       " WHERE r.time_ms >= ?4 AND (r.time_ms, r.row) < (?5, ?6)%s%s%s"
                       " ORDER BY r.time_ms DESC, r.row DESC",
                       index, by & RESULTS_BY_NAME ? " AND r.name = (SELECT id FROM term WHERE text = ?1)" : "",
                       by & RESULTS_BY_COMPONENT ? " AND r.component = (SELECT id FROM term WHERE text = ?2)" : "",
                       by & RESULTS_BY_JOB ? " AND r.job = ?3" : "");
}

static void write_jobs_sql(unsigned by, char *ret) {
        const char *index = by & JOBS_BY_NAME ? "name" : by & JOBS_BY_USER ? "user" : by & JOBS_BY_STATE ? "state" : "begin";

        (void)snprintf(ret, QUESTION_SQL_MAX,
                       "SELECT " JOB_COLUMNS NUMBER_COLUMNS " FROM job INDEXED BY job_by_%s"
                       " WHERE begin_ms >= ?4 AND (begin_ms, row) < (?5, ?6)%s%s%s"
                       " ORDER BY begin_ms DESC, row DESC",
                       index, by & JOBS_BY_NAME ? " AND name = ?1" : "", by & JOBS_BY_USER ? " AND user = ?2" : "",
                       by & JOBS_BY_STATE ? " AND state = ?3" : "");
}

void question_write_sql(unsigned question, char ret[static QUESTION_SQL_MAX]) {
        static const char *const others[N_QUESTIONS] = {
                [QUESTION_JOB] = "SELECT " JOB_COLUMNS NUMBER_COLUMNS ","
                                 " (SELECT bytes FROM timeline WHERE part = 3 * row),"
                                 " (SELECT bytes FROM timeline WHERE part = 3 * row + 1),"
                                 " (SELECT bytes FROM timeline WHERE part = 3 * row + 2) FROM job WHERE id = ?1",
                [QUESTION_INDICATORS] =
                        "SELECT n.text, c.text, i.n_results, i.latest_ms FROM indicator AS i"
                        " CROSS JOIN term AS n ON n.id = i.name CROSS JOIN term AS c ON c.id = i.component"
                        " WHERE i.n_results > 0 ORDER BY n.text, c.text",
                [QUESTION_NODE_SAMPLES] =
                        "SELECT begin_ms, interval_ms, timeline FROM node_sample"
                        " WHERE begin_ms >= ?4 AND begin_ms < ?5 ORDER BY begin_ms",
                [QUESTION_LAYOUT] = "SELECT keys FROM layout WHERE id = ?1",
                [QUESTION_PHASES] = "SELECT number, name, begin_ms, end_ms, wall_seconds" NUMBER_COLUMNS
                                    " FROM phase INDEXED BY phase_by_job"
                                    " WHERE job = (SELECT row FROM job WHERE id = ?1) ORDER BY number",
                [QUESTION_PAIRS] = PAIRS_SQL " WHERE i.name = (SELECT id FROM term WHERE text = ?1) ORDER BY i.component",
                [QUESTION_ALL_PAIRS] = PAIRS_SQL " ORDER BY i.name, i.component",
                [QUESTION_SERIES] = "SELECT s.id, s.version, s.hardware, s.parameters FROM series AS s INDEXED BY series_by_pair"
                                    " WHERE s.name = ?1 AND s.component = ?2 AND s.shape = ?3",
                [QUESTION_SERIES_EQUAL] =
                        "SELECT s.id, s.version, s.hardware, s.parameters FROM property AS p CROSS JOIN series AS s ON s.id = p.series"
                        " WHERE p.name = ?1 AND p.component = ?2 AND p.key = ?4 AND p.value IN (?5, ?6) AND s.shape = ?3",
                [QUESTION_SERIES_RANGE] =
                        "SELECT s.id, s.version, s.hardware, s.parameters FROM property AS p CROSS JOIN series AS s ON s.id = p.series"
                        " WHERE p.name = ?1 AND p.component = ?2 AND p.key = ?4 AND p.value BETWEEN ?5 AND ?6 AND s.shape = ?3",
                [QUESTION_POINTS] = "SELECT time_ms, row, score, numbers FROM point"
                                    " WHERE series = ?1 AND time_ms >= ?2 AND (time_ms, row) < (?3, ?4) AND row >= ?5"
                                    " ORDER BY time_ms DESC, row DESC",
                [QUESTION_UNINDEXED] =
                        "SELECT time_ms, row, score, version, exit_status, run, document FROM result INDEXED BY result_by_name"
                        " WHERE name = ?1 AND component = ?2 AND time_ms >= ?3 AND (time_ms, row) < (?4, ?5) AND row < ?6"
                        " ORDER BY time_ms DESC, row DESC",
                [QUESTION_BATCH] =
                        "SELECT r.time_ms, r.score, r.version, r.exit_status, r.run, r.document, n.text, c.text, r.batch_index"
                        " FROM result AS r INDEXED BY result_by_batch"
                        " CROSS JOIN term AS n ON n.id = r.name CROSS JOIN term AS c ON c.id = r.component"
                        " WHERE r.batch = ?1" /* whoever else uses its id has no part in it */
                        " AND r.uid = (SELECT uid FROM result WHERE row ="
                        " (SELECT min(row) FROM result INDEXED BY result_by_batch WHERE batch = ?1))"
                        " ORDER BY r.batch_index, r.row",
                [QUESTION_MODEL] = "SELECT component, results, document FROM model WHERE name = ?1"
                                   " ORDER BY component IS NULL, component, by_admin AND NOT is_declared DESC, is_declared DESC",
                [QUESTION_PARAMETERS] = "SELECT parameters FROM series INDEXED BY series_by_pair"
                                        " WHERE name = (SELECT id FROM term WHERE text = ?1)",
                [QUESTION_ALL_PARAMETERS] = "SELECT parameters FROM series",
                [QUESTION_RESULT] = RESULTS_SQL " FROM result AS r" RESULTS_TERMS_SQL " WHERE r.row = ?1",
        };

        if (question < QUESTION_JOBS)
                write_results_sql(question - QUESTION_RESULTS, ret);
        else if (question < QUESTION_JOB)
                write_jobs_sql(question - QUESTION_JOBS, ret);
        else
                (void)snprintf(ret, QUESTION_SQL_MAX, "%s", others[question]);
}
