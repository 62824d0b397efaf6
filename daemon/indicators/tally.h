/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tally: numbers of results stored, failed and refused since start, by indicator and component
 *
 * A submission is added when it is put into the store, and counted when the store reports its rows as stored; the store completes rows
 * in the order in which they were put. The number of series, pairs of indicator and component with counters of their own, is limited.
 * For a further pair, the user with the most series loses the series that is unused for longest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "request/request.h"
#include "snapshot/indicators_snapshot.h"

#define INDICATOR_SERIES_MAX 200U /* limit of pairs of name and component with counters of their own */
#define TALLY_BUCKETS 512U

/* Consecutive results of a submission with the same series and outcome. */
typedef struct TallyEntry {
        uint32_t series;
        IndicatorOutcome outcome;
        size_t n;
        bool is_last; /* the last entry of its submission */
} TallyEntry;

typedef struct TallySeries {
        IndicatorCount count;
        char *text;      /* owned: the name and the component */
        uint32_t uid;    /* of the first result */
        uint64_t used;   /* a larger number was used later */
        size_t n_queued; /* entries that name this series */
} TallySeries;

typedef struct Tally {
        TallySeries series[INDICATOR_SERIES_MAX + 1]; /* the first counts the results of all that have no series of their own */
        size_t n_series;
        uint64_t n_uses, version; /* version: of the names */
        uint16_t buckets[TALLY_BUCKETS]; /* indices of series, by hash; 0: free */
        TallyEntry *entries; /* owned; from `first` on: submissions that are queued for the store, oldest first */
        size_t first, n_entries, n_allocated;
        IndicatorsStats stats;
} Tally;

void tally_deinit(Tally *tally);

/* Adds a submission that is about to be put into the store. 0 or -ENOMEM. */
int tally_add(Tally *tally, uint32_t uid, const Submission *items, size_t n_items);
/* Removes the submission added last: the store had no room. */
void tally_cancel_last(Tally *tally);
/* Counts the oldest submission as stored. old: a bit for each result that was stored before and is not counted; NULL: none was. */
void tally_count_stored(Tally *tally, const uint8_t *old);
/* Removes the oldest submission: nothing of it was stored. */
void tally_discard(Tally *tally);

/* Counts a refused result. component: NULL if unknown. */
void tally_count_refused(Tally *tally, uint32_t uid, const char *name, const char *component);

/* Fills the counts and statistics of a snapshot. 0 or -ENOMEM. */
int tally_publish(const Tally *tally, IndicatorsSnapshot *ret);
