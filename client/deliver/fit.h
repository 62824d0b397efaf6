/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fit: shortens the records of runs whose results are too large
 *
 * perfd takes requests up to a limit. If a result fits without the record of its run, the texts of the record are shortened, so that
 * the result is not refused.
 */

#include "client/deliver/spool.h"
#include "util/arena.h"

/* Items of one delivery after shortening. */
typedef struct Fitted {
        Submission *items; /* owned; copy of the items of the batch, with shorter records; NULL until a record was shortened */
        Arena *arenas;     /* owned; memory of the shorter records */
        size_t n_arenas;
} Fitted;

void fitted_deinit(Fitted *fitted);

enum {
        FIT_TOO_LARGE = 1, /* no record is short enough; the item is unchanged */
};

/* Shortens item i of the batch to at most n_max bytes of a request. 0, FIT_TOO_LARGE or -ENOMEM. */
int fitted_shorten(Fitted *fitted, Batch *batch, size_t i, size_t n_max);
