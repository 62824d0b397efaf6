/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tally: how many results of which indicator were stored, failed and refused since the start
 *
 * What is put into the store is noted, and counted when the store says that it is there: the store hands rows back in
 * the order in which it got them. There is a limit to the number of indicators that are told apart; the others are counted
 * together, under no name.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "request/request.h"
#include "snapshot/indicators_snapshot.h"

#define INDICATOR_SERIES_MAX 200U /* names with their components that are counted apart */
#define TALLY_BUCKETS 512U

/* Neighbours of one submission that are counted alike. */
typedef struct TallyNote {
        uint32_t series;
        IndicatorOutcome outcome;
        size_t n;
        bool is_last; /* of its submission */
} TallyNote;

typedef struct Tally {
        IndicatorCount series[INDICATOR_SERIES_MAX + 1]; /* the first: the others. Names are owned, and stay until the end */
        size_t n_series;
        uint16_t buckets[TALLY_BUCKETS]; /* of series, by hash; 0: free */
        TallyNote *notes; /* owned; from `first` on: of submissions that are on their way to the disk */
        size_t first, n_notes, n_allocated;
        IndicatorsStats stats;
} Tally;

void tally_deinit(Tally *tally);

/* A submission is about to be put. 0 or -ENOMEM. */
int tally_note(Tally *tally, const Submission *items, size_t n_items);
/* It was not, after all. */
void tally_forget_last(Tally *tally);
/* The oldest was stored, but for those of its results that were there before: a bit for each, as in StoreDone; NULL: none was. */
void tally_settle(Tally *tally, const uint8_t *old);
/* Nothing of the oldest was stored. */
void tally_drop(Tally *tally);

/* component: NULL when not known. */
void tally_refuse(Tally *tally, const char *name, const char *component);

/* Fills the counts and statistics of a snapshot. 0 or -ENOMEM. */
int tally_publish(const Tally *tally, IndicatorsSnapshot *ret);
