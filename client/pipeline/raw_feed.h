/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Raw feed: puts, gets and tasks of a pipe, which become intervals that wait to be sent
 *
 * If the times of the events are those of this machine's clock, intervals also end while no event comes, so that a stalled pipeline is
 * seen. In a recording, time advances only with the events.
 */

#include "pipeline/pipeline_pending.h"
#include "pipeline/pipeline_raw.h"

#define RAW_FEED_AHEAD_MAX_NS UINT64_C(60000000000) /* an event may be later than this machine's clock */
#define RAW_FEED_ERROR_MAX 256U

typedef struct RawFeed {
        PipelineRaw *raw; /* NULL: no event yet */
        uint64_t interval_ns;
        bool is_live;     /* the newest event is recent by this machine's clock */
        uint64_t lag_ns;  /* of the newest event behind this machine's clock */
        PipelineRawDoubts told;
} RawFeed;

void raw_feed_deinit(RawFeed *feed);

enum {
        RAW_FEED_REFUSED = 1, /* ret_error has the error and a fix */
};

/*
 * Adds an event; without a time, it has that of this machine. now_ns: Unix time. Each function puts the intervals that have ended into
 * `pending`, and returns 0, RAW_FEED_REFUSED or < 0.
 */
int raw_feed_add(RawFeed *feed, const PipelineRawEvent *event, uint64_t now_ns, PipelinePending *pending,
                 char ret_error[static RAW_FEED_ERROR_MAX]);
/* Lets the time pass while no event comes. */
int raw_feed_advance(RawFeed *feed, uint64_t now_ns, PipelinePending *pending);
/* Ends the last interval. */
int raw_feed_finish(RawFeed *feed, uint64_t now_ns, PipelinePending *pending);

/* Returns true with a fact that makes the numbers less certain and was not reported yet. */
bool raw_feed_doubt(RawFeed *feed, char ret[static RAW_FEED_ERROR_MAX]);
