/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rank series: one measure of all ranks of a job, as dashboards export it
 *
 * A JSON object with a list of numbers, or of texts of numbers, for each rank, and `event_time`, which is ignored. null and "" are missing
 * numbers.
 */

#include <stddef.h>

#include "util/arena.h"
#include "util/buffer.h"

typedef struct RankSeries {
        Arena arena;
        const char **names; /* of the ranks; owned, the texts are in the arena */
        double *means;      /* owned; NAN: a rank without numbers */
        size_t n;
        char error[512];
} RankSeries;

enum {
        RANK_SERIES_INVALID = 1, /* `error` has the place, the error and a fix */
};

/* Reads a text; the first of three or more numbers of a rank does not count. 0, RANK_SERIES_INVALID or -ENOMEM. Deinit in all cases. */
int rank_series_read(RankSeries *series, const char *name, const Buffer *text);
void rank_series_deinit(RankSeries *series);
