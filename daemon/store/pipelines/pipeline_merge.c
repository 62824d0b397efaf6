/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_merge.h"

#include <assert.h>

#include "store/database/database.h"

/* An interval of the last level is 2^30 intervals. */
#define LEVELS_MAX 30
/* In a job with more intervals, a level has two of one series, which can be merged. */
_Static_assert(PIPELINE_SERIES_ROWS_MIN == LEVELS_MAX + 2, "the first interval of a series has a level of its own");
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

/* --- retention ------------------------------------------------------------------------------------ */

enum { LARGEST_JOB, LARGEST_SERIES, LARGEST_ROWS, LARGEST_MERGED, LARGEST_WANTED, N_LARGEST_COLUMNS };
#define LARGEST(of) \
        "SELECT p.job, p.n_series, p.n_rows, p.merged_ms, ?1 FROM pipeline AS p JOIN job AS j ON j.row = p.job" \
        " WHERE p.n_rows > " PIPELINE_SERIES_ROWS_MIN_TEXT " * p.n_series" of " ORDER BY p.n_rows / p.n_series DESC LIMIT 1"

/* Not static as others are: a table of the store names them. */
const Statement __attribute__((section("statements"))) pipeline_merge_any = { LARGEST(""), N_LARGEST_COLUMNS };
const Statement __attribute__((section("statements"))) pipeline_merge_of_user = { LARGEST(" AND j.uid = ?2"), N_LARGEST_COLUMNS };

STATEMENT pipeline_shrink = { "UPDATE pipeline SET n_rows = ?2, merged_ms = ?3 WHERE job = ?1", 0 };

static int merge_job(Database *database, const int64_t job[static N_LARGEST_COLUMNS], int64_t *ret_n) {
        int64_t n_rows = job[LARGEST_ROWS], merged_ms = job[LARGEST_MERGED], n_before;
        int r;

        do {
                n_before = n_rows;
                r = pipeline_merge_oldest(database, job[LARGEST_JOB], job[LARGEST_SERIES], &n_rows, &merged_ms);
        } while (r == 0 && n_rows < n_before && job[LARGEST_ROWS] - n_rows < job[LARGEST_WANTED] &&
                 n_rows > PIPELINE_SERIES_ROWS_MIN * job[LARGEST_SERIES]);
        if (r == 0)
                r = database_run(database, &pipeline_shrink, FIELDS(field_i64(job[LARGEST_JOB]), field_i64(n_rows), field_i64(merged_ms)));
        *ret_n = job[LARGEST_ROWS] - n_rows;
        return r;
}

int pipeline_merge_run(Database *database, Prepared *job, int64_t *ret_n) {
        int64_t columns[N_LARGEST_COLUMNS];
        int r;

        r = database_step(database, job);
        if (r != DATABASE_ROW)
                return r;
        for (int i = 0; i < N_LARGEST_COLUMNS; i++)
                columns[i] = column_i64(job, i);
        r = database_finish(database, job);
        return r == 0 ? merge_job(database, columns, ret_n) : r;
}
