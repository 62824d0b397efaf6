/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_merge.h"

#include <assert.h>

#include "store/database.h"

/* An interval of the last level is 2^30 intervals. */
#define LEVELS_MAX 30
/* Intervals that are merged at once, for each series. */
#define BATCH_SERIES_ROWS 2

enum { OLDEST_N, OLDEST_END, N_OLDEST_COLUMNS };
STATEMENT oldest_find = {
        "SELECT count(*), max(end_ms) FROM"
        " (SELECT end_ms FROM pipeline_interval WHERE job = ?1 AND level = ?2 ORDER BY end_ms LIMIT ?3)",
        N_OLDEST_COLUMNS,
};
STATEMENT merged_insert = {
        "INSERT INTO pipeline_interval SELECT job, level + 1, max(end_ms), series, sum(elapsed_s), sum(n), sum(n_failures), sum(time_s),"
        " sum(get_s), sum(ready_s), sum(judged_s), max(p90_s), max(p99_s), max(get_p90_s), max(get_p99_s)"
        " FROM pipeline_interval WHERE job = ?1 AND level = ?2 AND end_ms <= ?3 GROUP BY series",
        0,
};
STATEMENT oldest_remove = { "DELETE FROM pipeline_interval WHERE job = ?1 AND level = ?2 AND end_ms <= ?3", 0 };

typedef struct OldestRows {
        int level;
        int64_t n, end_ms;
} OldestRows;

static int find_oldest(Database *database, int64_t job, int level, int64_t n_max, OldestRows *ret) {
        Prepared *row = database_prepare(database, &oldest_find, FIELDS(field_i64(job), field_i64(level), field_i64(n_max)));
        int r;

        r = database_step(database, row);
        if (r != DATABASE_ROW)
                return r;
        *ret = (OldestRows){ level, column_i64(row, OLDEST_N), column_i64(row, OLDEST_END) };
        return database_finish(database, row);
}

/* Finds the lowest level with n rows, else the level with most. */
static int choose(Database *database, int64_t job, int64_t n, OldestRows *ret) {
        int r = 0;

        *ret = (OldestRows){};
        for (int level = 0; r == 0 && ret->n < n && level < LEVELS_MAX; level++) {
                OldestRows oldest = {};

                r = find_oldest(database, job, level, n, &oldest);
                if (r == 0 && oldest.n > ret->n)
                        *ret = oldest;
        }
        return r;
}

int pipeline_merge_oldest(Database *database, int64_t job, int64_t n_series, int64_t *n_rows, int64_t *merged_ms) {
        Field fields[3];
        OldestRows oldest;
        int r;

        assert(job > 0 && n_series > 0 && *n_rows > 0);
        r = choose(database, job, n_series * BATCH_SERIES_ROWS, &oldest);
        if (r != 0 || oldest.n < 2)
                return r;

        fields[0] = field_i64(job);
        fields[1] = field_i64(oldest.level);
        fields[2] = field_i64(oldest.end_ms);
        r = database_run(database, &merged_insert, fields, N_ELEMENTS(fields));
        if (r != 0)
                return r;
        *n_rows += database_changes(database);
        r = database_run(database, &oldest_remove, fields, N_ELEMENTS(fields));
        if (r != 0)
                return r;
        *n_rows -= database_changes(database);
        if (*merged_ms < oldest.end_ms)
                *merged_ms = oldest.end_ms;
        return 0;
}
