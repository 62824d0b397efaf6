/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tally: numbers of results stored, failed and refused since start, by user, indicator and component
 *
 * Results are counted when the store reports their rows as stored. The number of series, pairs of indicator and
 * component of a user with their own counters, is limited. A further pair replaces the least recently used series of
 * the user with the most series.
 */

#include <stddef.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

#define INDICATOR_SERIES_MAX                                                                                           \
        200U /* maximum number of pairs of name and component, of all users, with their own counters */

typedef struct TallySeries {
        IndicatorCount count;
        char *text;      /* owned: the name and the component */
        uint64_t used;   /* sequence number of the last use */
} TallySeries;

typedef struct Tally {
        TallySeries series[INDICATOR_SERIES_MAX + 1]; /* the first counts the results of all pairs without a series */
        size_t n_series;
        uint64_t n_uses, version; /* version: incremented when a name changes */
        IndicatorsStats stats;
} Tally;

void tally_deinit(Tally *tally);

/* Counts a result of a user. component: NULL if unknown. */
void tally_count(Tally *tally, uint32_t uid, const char *name, const char *component, IndicatorOutcome outcome);

/* Removes the series of a user. */
void tally_forget(Tally *tally, uint32_t uid);

/* Fills the counts and statistics of a snapshot. Returns 0 or -ENOMEM. */
int tally_publish(const Tally *tally, IndicatorsSnapshot *ret);
