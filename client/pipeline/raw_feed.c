/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/raw_feed.h"

#include <stdio.h>

#define LIVE_MAX_NS UINT64_C(60000000000)

void raw_feed_deinit(RawFeed *feed) {
        pipeline_raw_free(feed->raw);
        *feed = (RawFeed){};
}

static int take_intervals(RawFeed *feed, PipelinePending *pending) {
        PipelineInterval interval;
        int r = 0;

        while (r == 0 && pipeline_raw_next(feed->raw, &interval))
                r = pipeline_pending_add_interval(pending, &interval);
        return r;
}

static uint64_t since(uint64_t now_ns, uint64_t then_ns) {
        return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* Explains why an event was not counted. before_ns: time by which it is older than the newest. */
static int refuse(int r, uint64_t before_ns, char ret_error[static RAW_FEED_ERROR_MAX]) {
        if (r == PIPELINE_RAW_LATE)
                (void)snprintf(ret_error, RAW_FEED_ERROR_MAX, "\"time\" is %.3f s before that of the newest event, expected at most %.0f s",
                               (double)before_ns / 1e9, (double)PIPELINE_RAW_TOLERANCE_NS / 1e9);
        else
                (void)snprintf(ret_error, RAW_FEED_ERROR_MAX, "events of more than %u stages, which is the limit: use fewer stages",
                               PIPELINE_RAW_STAGES_MAX);
        return RAW_FEED_REFUSED;
}

int raw_feed_add(RawFeed *feed, const PipelineRawEvent *event, uint64_t now_ns, PipelinePending *pending,
                 char ret_error[static RAW_FEED_ERROR_MAX]) {
        PipelineRawEvent timed = *event;
        uint64_t newest_ns;
        int r = 0;

        timed.time_ns = event->time_ns ?: now_ns;
        if (timed.time_ns > now_ns + RAW_FEED_AHEAD_MAX_NS) {
                (void)snprintf(ret_error, RAW_FEED_ERROR_MAX, "\"time\" is %.0f s ahead of this machine's clock, expected at most %.0f s",
                               (double)(timed.time_ns - now_ns) / 1e9, (double)RAW_FEED_AHEAD_MAX_NS / 1e9);
                return RAW_FEED_REFUSED;
        }
        if (!feed->raw)
                r = pipeline_raw_new(&feed->raw, feed->interval_ns);
        if (r == 0) {
                newest_ns = pipeline_raw_newest_ns(feed->raw);
                r = pipeline_raw_add(feed->raw, &timed);
                if (r > 0)
                        return refuse(r, since(newest_ns, timed.time_ns), ret_error);
        }
        if (r < 0)
                return r;

        if (pipeline_raw_newest_ns(feed->raw) <= timed.time_ns) {
                feed->lag_ns = since(now_ns, timed.time_ns);
                feed->is_live = feed->lag_ns <= LIVE_MAX_NS;
        }
        return take_intervals(feed, pending);
}

/* A delayed event counts in its own interval if it arrives before the end of the next interval. */
int raw_feed_advance(RawFeed *feed, uint64_t now_ns, PipelinePending *pending) {
        uint64_t behind_ns = feed->interval_ns > PIPELINE_RAW_TOLERANCE_NS ? feed->interval_ns : PIPELINE_RAW_TOLERANCE_NS;

        if (!feed->raw || !feed->is_live)
                return 0;
        pipeline_raw_advance(feed->raw, since(now_ns, feed->lag_ns + behind_ns));
        return take_intervals(feed, pending);
}

int raw_feed_finish(RawFeed *feed, uint64_t now_ns, PipelinePending *pending) {
        if (!feed->raw)
                return 0;
        pipeline_raw_finish(feed->raw, feed->is_live ? since(now_ns, feed->lag_ns) : 0);
        return take_intervals(feed, pending);
}

bool raw_feed_doubt(RawFeed *feed, char ret[static RAW_FEED_ERROR_MAX]) {
        PipelineRawDoubts doubts = feed->raw ? pipeline_raw_doubts(feed->raw) : (PipelineRawDoubts){}, told = feed->told;

        feed->told = doubts;
        if (doubts.n_unmatched > 0 && told.n_unmatched == 0)
                (void)snprintf(ret, RAW_FEED_ERROR_MAX, "an item was taken from the queue of %.100s and never put: the item counts as if "
                                                        "it had been there before; a \"level\" event states the number of items",
                               doubts.unmatched);
        else if (doubts.n_steps_back > told.n_steps_back)
                (void)snprintf(ret, RAW_FEED_ERROR_MAX, "the clock was set back: later times are shifted, so that they continue");
        else if (doubts.n_jumps > told.n_jumps)
                (void)snprintf(ret, RAW_FEED_ERROR_MAX, "no event for more than %u intervals: this time does not count",
                               PIPELINE_RAW_GAP_MAX);
        else
                return false;
        return true;
}
