/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_leftover.h"

#include "store/leftover.h"

#define STEP_ROWS "1024"

/* ?1 of retention counts rows of the size of a result, with its indexes; an interval has no index. */
#define LEFTOVER(n) "SELECT job, " n " FROM pipeline_leftover"
STATEMENT leftover_remove = { LEFTOVER("4 * ?1") " ORDER BY job LIMIT 1", N_LEFTOVER_COLUMNS };
/* The rows have no user any more: ?2, the user, is ignored. */
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

static const Leftover leftover = { &leftover_first, &leftover_work, removals, N_ELEMENTS(removals) };

static int run_removal(Database *database, Prepared *noted, int64_t *ret_n) {
        return leftover_run(&leftover, database, noted, ret_n);
}

int pipeline_leftover_find(Database *database, bool *ret_has_work) {
        return leftover_find(&leftover, database, ret_has_work);
}

int pipeline_leftover_step(Database *database, bool *ret_has_more) {
        return leftover_step(&leftover, database, ret_has_more);
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
