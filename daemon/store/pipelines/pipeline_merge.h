/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline merge: keeps the number of stored intervals of a job bounded
 *
 * An interval of level 0 is as it was received; merging the intervals of a series within some time makes one of the next level. The time
 * is that of the oldest intervals of the lowest level that has enough of them, two of each series if all report at the same times. So the
 * intervals of a long run are of about the same length, and the newest as received.
 */

#include <stdint.h>

#include "store/database/statement.h"

struct Database;

/* Intervals of a series that are kept in any case: one of each level. */
#define PIPELINE_SERIES_ROWS_MIN 32
#define PIPELINE_SERIES_ROWS_MIN_TEXT "32"

/* Average size in the table `holder` of the series with their texts and of the intervals, in SQL. */
#define PIPELINE_SIZE(n_series, n_rows) "(400 * (" n_series ") + 100 * (" n_rows "))"
/* Size of the events that may be stored of a job, and of the description, of a row of the table `pipeline`. */
#define PIPELINE_NOTED_SIZE(row) "(100 * min(" row ".n_events, 4096) + ifnull(length(CAST(" row ".description AS BLOB)), 0))"

/*
 * Merges the oldest intervals of each series of a job. *n_rows, the number of its intervals, becomes smaller; *merged_ms becomes the end of
 * the newest merged interval. 0 or an outcome of database.h.
 */
int pipeline_merge_oldest(struct Database *database, int64_t job, int64_t n_series, int64_t *n_rows, int64_t *merged_ms);

/*
 * Retention of StoreTable: finds the job with most intervals of a series, of all users or of user ?2. pipeline_merge_run() merges intervals
 * of this job until ?1 rows are fewer, and counts them. The totals of a series stay.
 */
extern const Statement pipeline_merge_any, pipeline_merge_of_user;
int pipeline_merge_run(struct Database *database, Prepared *job, int64_t *ret_n);
