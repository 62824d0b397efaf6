/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/phase_leftover.h"

#include "store/leftover.h"

#define LEFTOVER(n) "SELECT job, " n " FROM phase_leftover"
STATEMENT leftover_remove = { LEFTOVER("?1") " ORDER BY job LIMIT 1", N_LEFTOVER_COLUMNS };
/* The phases have no user any more: ?2, the user, is ignored. */
STATEMENT leftover_remove_of_user = { LEFTOVER("?1") " WHERE ?2 IS NOT NULL ORDER BY job LIMIT 1", N_LEFTOVER_COLUMNS };
STATEMENT leftover_work = { LEFTOVER(PHASES_AT_ONCE) " ORDER BY job LIMIT 1", N_LEFTOVER_COLUMNS };
STATEMENT leftover_first = { "SELECT ifnull(min(job), 0) FROM phase_leftover", 1 };

STATEMENT phases_remove = {
        "DELETE FROM phase WHERE row IN (SELECT row FROM phase INDEXED BY phase_by_job WHERE job = ?1 LIMIT ?2)", 0,
};
STATEMENT note_remove = { "DELETE FROM phase_leftover WHERE job = ?1 AND ?2 > 0", 0 };
static const Statement *const removals[] = { &phases_remove, &note_remove };

static const Leftover leftover = { &leftover_first, &leftover_work, removals, N_ELEMENTS(removals) };

static int run_removal(Database *database, Prepared *noted, int64_t *ret_n) {
        return leftover_run(&leftover, database, noted, ret_n);
}

int phase_leftover_find(Database *database, bool *ret_has_work) {
        return leftover_find(&leftover, database, ret_has_work);
}

int phase_leftover_step(Database *database, bool *ret_has_more) {
        return leftover_step(&leftover, database, ret_has_more);
}

const StoreTable phase_leftover_table = {
        .name = "phase_leftover",
        .schema = "CREATE TABLE phase_leftover (job INTEGER PRIMARY KEY) STRICT;",
        .checks = { "SELECT count(*) FROM (SELECT * FROM phase_leftover LIMIT 1)" },
        .removal_order = 2,
        .remove = &leftover_remove,
        .remove_of_user = &leftover_remove_of_user,
        .run = run_removal,
};
