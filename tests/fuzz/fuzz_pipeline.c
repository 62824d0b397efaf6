/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the input of `perfctl pipeline submit`
 *
 * A refused line has an error message. Of the raw events that are accepted, each task and get is in exactly one interval, and no interval
 * has more ready time than measured time.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/pipeline/pipeline_line.h"
#include "client/pipeline/raw_feed.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define LINE_MAX_BYTES 4096U
#define NOW_NS UINT64_C(1764000000000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Input {
        Arena arena;
        RawFeed feed;
        PipelinePending pending;
        double n_accepted, n_counted;
} Input;

/* Counts and removes the intervals that have ended. */
static void take_intervals(Input *input) {
        for (size_t i = 0; i < input->pending.n_intervals; i++) {
                const PipelineInterval *interval = &input->pending.intervals[i];

                input->n_counted += interval->sums.n;
                assert(interval->sums.ready_s <= interval->sums.judged_s + 1e-6 && interval->sums.n >= interval->sums.n_failures);
                assert(interval->sums.judged_s <= interval->sums.elapsed_s + 1e-6 && interval->percentiles.p90_s >= 0);
                assert(interval->percentiles.p90_s <= interval->percentiles.p99_s);
        }
        pipeline_pending_deinit(&input->pending);
}

static void try_line(Input *input, const char *text, size_t n) {
        char error[PIPELINE_LINE_ERROR_MAX] = "";
        PipelineLine line;
        int r;

        arena_reset(&input->arena);
        r = pipeline_line_read(text, n, true, &input->arena, &line, error);
        assert(r == 0 ? !error[0] : r == PIPELINE_LINE_INVALID && error[0]);
        if (r != 0 || line.kind != PIPELINE_LINE_RAW)
                return;

        r = raw_feed_add(&input->feed, &line.raw, NOW_NS, &input->pending, error);
        assert(r == 0 ? !error[0] : r == RAW_FEED_REFUSED && error[0]);
        if (r == 0 && line.raw.kind >= PIPELINE_RAW_GET && line.raw.kind <= PIPELINE_RAW_FAILED_TASK)
                input->n_accepted++;
        take_intervals(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Input input = { .feed = { .interval_ns = UINT64_C(500000000) } };
        char *text = strndup((const char *)data, size);
        size_t n;

        if (!text || arena_init(&input.arena, value_parse_arena_size(LINE_MAX_BYTES)) < 0)
                abort();
        for (char *line = text; *line; line += n + (line[n] == '\n')) {
                n = strcspn(line, "\n");
                if (n < LINE_MAX_BYTES)
                        try_line(&input, line, n);
        }
        assert(raw_feed_finish(&input.feed, NOW_NS, &input.pending) == 0);
        take_intervals(&input);
        assert(input.n_accepted == input.n_counted);

        raw_feed_deinit(&input.feed);
        arena_deinit(&input.arena);
        free(text);
        return 0;
}
