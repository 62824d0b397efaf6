/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node_interval.h"

#include <assert.h>

#include "store/node/sample_rows.h"
#include "util/clock.h"
#include "util/scoped.h"

/* Capacity of the point in intervals; the last observation may come late. */
#define POINT_INTERVALS 16

void node_interval_deinit(NodeInterval *interval) {
        recording_deinit(&interval->point);
}

void node_interval_begin(NodeInterval *interval, const Sample *sample, uint64_t length_ns) {
        assert(length_ns > 0);

        recording_deinit(&interval->point);
        recording_init(&interval->point, sample->boottime_ns, sample->realtime_ns, POINT_INTERVALS * length_ns, 2);
        interval->length_ns = length_ns;
}

void node_interval_observe(NodeInterval *interval, const Observation *observation) {
        assert(interval->length_ns > 0);
        (void)recording_add(&interval->point, observation);
}

void node_interval_put(NodeInterval *interval, Store *store, const Sample *sample, uint64_t length_ns) {
        Recording *point = &interval->point;
        uint64_t begin_ms = point->begin_realtime_ns / NS_PER_MS;
        scoped(freep) char *text = NULL;

        /* A column of the row contains the begin; the text does not. */
        point->begin_boottime_ns = point->begin_realtime_ns = 0;
        if (point->n > 0 && recording_format(point, &text) == 0)
                (void)store_put(store, sample_rows_pack(begin_ms, interval->length_ns / NS_PER_MS, text));

        node_interval_begin(interval, sample, length_ns);
}
