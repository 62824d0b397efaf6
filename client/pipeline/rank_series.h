/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rank series: one measure of all ranks of a job, as dashboards export it
 *
 * A JSON object with a list of numbers, or of texts of numbers, for each rank, and `event_time`, which is ignored. null and "" are missing
 * numbers.
 */

#include <stddef.h>

#include "client/pipeline/straggler.h"
#include "util/arena.h"
#include "util/buffer.h"

#define RANK_SERIES_PARTS 10U

typedef struct RankSeries {
        Arena arena;
        const char **names; /* of the ranks; owned, the texts are in the arena */
        double *means;      /* owned; NAN: a rank without numbers */
        double *parts;      /* owned; means of RANK_SERIES_PARTS equal parts of the run for each rank; NAN: the list is too short */
        size_t n;
        char error[512];
} RankSeries;

enum {
        RANK_SERIES_INVALID = 1, /* `error` has the place, the error and a fix */
};

/* Reads a text; the first of three or more numbers of a rank does not count. 0, RANK_SERIES_INVALID or -ENOMEM. Deinit in all cases. */
int rank_series_read(RankSeries *series, const char *name, const Buffer *text);
void rank_series_deinit(RankSeries *series);

/*
 * Finds whether the slow rank changes within the run. Writes the ranks that are the straggler of two parts of the run or more, in the order
 * of time, without repetitions in succession. Returns their number: 0, or at least 2. A rank that is the straggler of three quarters of
 * these parts is slow itself: then the number is 0.
 */
size_t rank_series_find_turns(const RankSeries *series, StragglerMeasure measure, size_t ret[static RANK_SERIES_PARTS]);
