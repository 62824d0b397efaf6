/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tally: numbers of results stored, failed and refused since start, by indicator and component
 *
 * A submission is added when it is queued for the store, and counted when the store reports its rows as stored; the
 * store completes rows in queue order. The number of series, pairs of indicator and component with their own
 * counters, is limited. A further pair replaces the least recently used series of the user with the most series.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "request/request.h"
#include "snapshot/indicators_snapshot.h"

#define INDICATOR_SERIES_MAX 200U /* maximum number of pairs of name and component with their own counters */
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
        uint32_t uid;    /* uid of the user of the first result */
        uint64_t used;   /* sequence number of the last use */
        size_t n_queued; /* number of queued entries of this series */
} TallySeries;

typedef struct Tally {
        TallySeries series[INDICATOR_SERIES_MAX + 1]; /* the first counts the results of all pairs without a series */
        size_t n_series;
        uint64_t n_uses, version; /* version: incremented when a name changes */
        uint16_t buckets[TALLY_BUCKETS]; /* indices of series, by hash; 0: free */
        TallyEntry *entries; /* owned; from `first` on: submissions that are queued for the store, oldest first */
        size_t first, n_entries, n_allocated;
        IndicatorsStats stats;
} Tally;

void tally_deinit(Tally *tally);

/* Adds a submission before it is queued for the store. Returns 0 or -ENOMEM. */
int tally_add(Tally *tally, uint32_t uid, const Submission *items, size_t n_items);
/* Removes the submission added last, because the store had no space. */
void tally_cancel_last(Tally *tally);
/*
 * Counts the oldest submission as stored. old: a bit for each result that was stored before and is not counted again;
 * may be NULL.
 */
void tally_count_stored(Tally *tally, const uint8_t *old);
/* Removes the oldest submission, of which nothing was stored. */
void tally_discard(Tally *tally);

/* Counts a refused result. component: NULL if unknown. */
void tally_count_refused(Tally *tally, uint32_t uid, const char *name, const char *component);

/* Fills the counts and statistics of a snapshot. 0 or -ENOMEM. */
int tally_publish(const Tally *tally, IndicatorsSnapshot *ret);
