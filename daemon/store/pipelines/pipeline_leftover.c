/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_leftover.h"

#include <assert.h>

#define STEP_ROWS "1024"

/* ?1 of retention counts rows of the size of a result, with its indexes; an interval has no index. */
#define LEFTOVER(n) "SELECT job, " n " FROM pipeline_leftover"
enum { LEFTOVER_JOB, LEFTOVER_ROWS, N_LEFTOVER_COLUMNS };
STATEMENT leftover_remove = { LEFTOVER("4 * ?1") " ORDER BY job LIMIT 1", N_LEFTOVER_COLUMNS };
/* The rows belong to nobody any more: whose rows would be removed, ?2, does not matter. */
STATEMENT leftover_remove_of_user = { LEFTOVER("4 * ?1") " WHERE ?2 IS NOT NULL ORDER BY job LIMIT 1", N_LEFTOVER_COLUMNS };
STATEMENT leftover_work = { LEFTOVER(STEP_ROWS) " ORDER BY job LIMIT 1", N_LEFTOVER_COLUMNS };
STATEMENT leftover_first = { "SELECT ifnull(min(job), 0) FROM pipeline_leftover", 1 };

/* In this order. The last removes the note: the job is done. */
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
STATEMENT note_remove = { "DELETE FROM pipeline_leftover WHERE job = ?1 AND ?2 > 0", 0 };
static const Statement *const removals[] = { &intervals_remove, &series_remove, &events_remove, &note_remove };

static int remove_rows(Database *database, int64_t job, int64_t n_max, int64_t *ret_n) {
        int64_t n = 0;
        int r = 0;

        assert(job > 0 && n_max > 0);
        for (size_t i = 0; r == 0 && i < N_ELEMENTS(removals) && n < n_max; i++) {
                r = database_run(database, removals[i], FIELDS(field_i64(job), field_i64(n_max - n)));
                n += r == 0 ? database_changes(database) : 0;
        }
        *ret_n = n;
        return r;
}

/* Removes rows of the job at which the statement is, if there is one. */
static int run_removal(Database *database, Prepared *leftover, int64_t *ret_n) {
        int64_t job, n;
        int r;

        r = database_step(database, leftover);
        if (r != DATABASE_ROW)
                return r;
        job = column_i64(leftover, LEFTOVER_JOB);
        n = column_i64(leftover, LEFTOVER_ROWS);
        r = database_finish(database, leftover);
        return r == 0 ? remove_rows(database, job, n, ret_n) : r;
}

int pipeline_leftover_find(Database *database, bool *ret_has_work) {
        int64_t job = 0;
        int r;

        r = database_get(database, &leftover_first, NULL, 0, &job);
        *ret_has_work = job != 0;
        return r;
}

int pipeline_leftover_step(Database *database, bool *ret_has_more) {
        int64_t n = 0;
        int r;

        r = run_removal(database, database_prepare(database, &leftover_work, NULL, 0), &n);
        return r == 0 ? pipeline_leftover_find(database, ret_has_more) : r;
}

const StoreTable pipeline_leftover_table = {
        .name = "pipeline_leftover",
        .schema = "CREATE TABLE pipeline_leftover (job INTEGER PRIMARY KEY) STRICT;",
        .checks = { "SELECT count(*) FROM (SELECT * FROM pipeline_leftover LIMIT 1)" },
        .removal_order = 1,
        .remove = &leftover_remove,
        .remove_of_user = &leftover_remove_of_user,
        .run = run_removal,
};
