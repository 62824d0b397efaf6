/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the input of `perfctl pipeline submit`
 *
 * A refused line has an error message. An accepted interval has a label and finite sums that do not contradict each
 * other.
 */

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/pipeline/pipeline_line.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define LINE_MAX_BYTES 4096U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_interval(const PipelineInterval *interval) {
        const PipelineSums *sums = &interval->sums;

        assert(interval->stage && strlen(interval->stage) <= PIPELINE_LABEL_MAX);
        assert(sums->n >= sums->n_failures && sums->judged_s <= sums->elapsed_s && sums->ready_s <= sums->judged_s);
        assert(isfinite(sums->time_s) && isfinite(sums->get_s) && isfinite(interval->percentiles.p99_s));
}

static void try_line(Arena *arena, const char *text, size_t n) {
        char error[PIPELINE_LINE_ERROR_MAX] = "";
        PipelineLine line;
        int r;

        arena_reset(arena);
        r = pipeline_line_read(text, n, true, arena, &line, error);
        assert(r == 0 ? !error[0] : r == PIPELINE_LINE_INVALID && error[0]);
        if (r == 0 && line.kind == PIPELINE_LINE_INTERVAL)
                check_interval(&line.interval);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        scoped(freep) char *text = strndup((const char *)data, size);
        scoped(arena_deinit) Arena arena = {};
        size_t n;

        if (!text || arena_init(&arena, value_parse_arena_size(LINE_MAX_BYTES)) < 0)
                abort();
        for (const char *line = text; *line; line += n + (line[n] == '\n')) {
                n = strcspn(line, "\n");
                if (n < LINE_MAX_BYTES)
                        try_line(&arena, line, n);
        }
        return 0;
}
