/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fit: shortens run records of results that are too large
 *
 * perfd refuses requests above a size limit. If a result fits without the record of its run, the texts of the record
 * are shortened until the request fits.
 */

#include "client/deliver/spool.h"
#include "util/arena.h"

/* Items of one delivery after shortening. */
typedef struct Fitted {
        Submission *items; /* owned; modified copy of the batch's items; NULL until a record is shortened */
        Arena *arenas;     /* owned; memory of the shortened records */
        size_t n_arenas;
} Fitted;

void fitted_deinit(Fitted *fitted);

enum {
        FIT_TOO_LARGE = 1, /* no shortened record fits; the item is unchanged */
};

/*
 * Shortens the record of item i of the batch until the item takes at most n_max bytes of a request. Returns 0,
 * FIT_TOO_LARGE or -ENOMEM.
 */
int fitted_shorten(Fitted *fitted, Batch *batch, size_t i, size_t n_max);
