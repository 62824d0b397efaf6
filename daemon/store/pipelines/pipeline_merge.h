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

struct Database;

/*
 * Merges the oldest intervals of each series of a job. *n_rows, the number of its intervals, becomes smaller; *merged_ms becomes the end of
 * the newest merged interval. 0 or an outcome of database.h.
 */
int pipeline_merge_oldest(struct Database *database, int64_t job, int64_t n_series, int64_t *n_rows, int64_t *merged_ms);
