/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fit: results that are too large because of what their runner wrote down
 *
 * perfd takes requests up to a size. Where a result alone fits, the record of its run is cut rather than the result refused.
 */

#include "client/deliver/spool.h"
#include "util/arena.h"

/* Items of one delivery after shortening. */
typedef struct Fitted {
        Submission *items; /* owned: those of the batch, with shorter records; NULL until one was made shorter */
        Arena *arenas;     /* owned: what is new in them */
        size_t n_arenas;
} Fitted;

void fitted_deinit(Fitted *fitted);

enum {
        FIT_TOO_LARGE = 1, /* whatever is cut: it stays as it was */
};

/* Makes item i of the batch take at most n_max bytes of a request. 0, FIT_TOO_LARGE, or -ENOMEM. */
int fitted_shorten(Fitted *fitted, Batch *batch, size_t i, size_t n_max);
