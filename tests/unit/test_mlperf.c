/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/import/mlperf.h"
#include "util/arena.h"
#include "value/value_parse.h"

#define RUN "tests/data/mlperf-storage"

static void assert_near(double got, double expected) {
        if (!(fabs(got - expected) < 1e-9))
                fail_msg("got %.17g, expected %.17g", got, expected);
}

static void assert_shares(const MlperfBlock *block, double utilization, double loading, double other, double outside) {
        assert_string_equal(block->reason, "");
        assert_near(block->utilization, utilization);
        assert_near(block->loading, loading);
        assert_near(block->other, other);
        assert_near(block->outside, outside);
}

/* Computes the only block of one rank. The value of `stats` is that of epoch 1. */
static MlperfBlock compute(const char *epoch, const char *stats) {
        scoped(mlperf_run_deinit) MlperfRun run = {};
        scoped(arena_deinit) Arena arena = {};
        const char *texts[] = { epoch, stats };
        const Value *values[2];
        char text[1024];

        assert_int_equal(arena_init(&arena, 2 * value_parse_arena_size(sizeof(text))), 0);
        for (size_t i = 0; i < 2; i++) {
                ValueReader reader;
                ValueError error;
                char *copy;

                assert_true(snprintf(text, sizeof(text), "{\"1\":%s}", texts[i]) < (int)sizeof(text));
                copy = arena_alloc(&arena, strlen(text) + 1);
                assert_non_null(copy);
                strcpy(copy, text);
                value_parse_begin(&reader, copy, strlen(copy));
                assert_int_equal(value_parse_next(&reader, &arena, &values[i], &error), 0);
        }

        assert_int_equal(mlperf_run_add_rank(&run, 0, values[0], values[1]), 0);
        assert_int_equal(run.n_blocks, 1);
        return run.blocks[0];
}

static void the_shares_add_up(void **state) {
        scoped(mlperf_run_deinit) MlperfRun run = {};

        (void)state;
        assert_int_equal(mlperf_run_read(&run, RUN), EXIT_DONE);
        assert_int_equal(run.n_ranks, 2);
        assert_int_equal(run.n_accelerators, 3);
        assert_int_equal(run.n_blocks, 4);

        assert_int_equal(run.blocks[0].n_steps, 4);
        assert_near(run.blocks[0].duration_s, 13); /* of the two times */
        assert_near(run.blocks[0].first_step_s, 3);
        assert_near(run.blocks[0].first_load_s, 2);
        assert_shares(&run.blocks[0], 37.5, 15, 7.5, 40);
        assert_shares(&run.blocks[2], 30, 15, 0, 55);
        assert_shares(&run.blocks[3], 50, 0, 0, 50); /* of a rounded duration */
        assert_int_equal(run.blocks[3].rank, 1);
        assert_int_equal(run.blocks[3].epoch, 2);
}

static void a_block_that_cannot_be_computed_has_a_reason(void **state) {
        static const struct {
                const char *epoch, *stats, *reason;
        } cases[] = {
                { "{\"proc\":{\"b\":[1,1]},\"load\":{\"b\":[1,1]}}", "{}", "no list of compute times" },
                { "{\"proc\":{\"b\":[1,1]},\"load\":{\"b\":[1]},\"compute\":{\"b\":[1,1]}}", "{}", "1 load times for 2 steps" },
                { "{\"proc\":{\"b\":[1]},\"load\":{\"b\":[1]},\"compute\":{\"b\":[1]}}", "{}", "too few steps: 1" },
                { "{\"proc\":{\"b\":[]},\"load\":{\"b\":[]},\"compute\":{\"b\":[]}}", "{}", "too few steps: 0" },
                { "{\"proc\":{\"b\":[1,-1]},\"load\":{\"b\":[1,1]},\"compute\":{\"b\":[1,1]}}", "{}", "proc[1] is not a time in seconds" },
                { "{\"proc\":{\"b\":[1,1]},\"load\":{\"b\":[1,1]},\"compute\":{\"b\":[1,\"1\"]}}", "{}",
                  "compute[1] is not a time in seconds" },
                { "{\"proc\":{\"b\":[1,1]},\"load\":{\"b\":[0,0]},\"compute\":{\"b\":[1,1]}}", "{}", "no duration in per_epoch_stats.json" },
                { "{\"proc\":{\"b\":[1,1]},\"load\":{\"b\":[0,0]},\"compute\":{\"b\":[1,1]}}", "{\"b\":{\"duration\":\"x\"}}",
                  "no duration in per_epoch_stats.json" },
                { "{\"proc\":{\"b\":[2,1]},\"load\":{\"b\":[0,0]},\"compute\":{\"b\":[1,1]}}", "{\"b\":{\"duration\":2}}",
                  "the first step took as long as the block" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                MlperfBlock block = compute(cases[i].epoch, cases[i].stats);

                assert_string_equal(block.reason, cases[i].reason);
                assert_true(isnan(block.utilization) && isnan(block.loading) && isnan(block.other) && isnan(block.outside));
        }
}

static void a_rank_without_a_number_is_not_in_the_spread(void **state) {
        scoped(mlperf_run_deinit) MlperfRun run = {};
        scoped(freep) MlperfSpread *spreads = NULL;
        size_t n;

        (void)state;
        assert_int_equal(mlperf_run_read(&run, RUN), EXIT_DONE);
        assert_string_equal(run.blocks[1].reason, "2 load times for 3 steps");
        assert_int_equal(mlperf_run_spreads(&run, &spreads, &n), 0);

        assert_int_equal(n, 2);
        assert_int_equal(spreads[0].n_ranks, 2);
        assert_near(spreads[0].min, 30);
        assert_near(spreads[0].mean, 33.75);
        assert_near(spreads[0].max, 37.5);
        assert_int_equal(spreads[0].min_rank, 1);
        assert_int_equal(spreads[1].epoch, 2);
        assert_int_equal(spreads[1].n_ranks, 1);
        assert_near(spreads[1].mean, 50);
}

static void other_directories_are_refused(void **state) {
        scoped(mlperf_run_deinit) MlperfRun run = {};

        (void)state;
        assert_int_equal(mlperf_run_read(&run, "tests/data"), EXIT_FAILED);
        assert_int_equal(mlperf_run_read(&run, "tests/data/no-such-directory"), EXIT_FAILED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_shares_add_up),
                cmocka_unit_test(a_block_that_cannot_be_computed_has_a_reason),
                cmocka_unit_test(a_rank_without_a_number_is_not_in_the_spread),
                cmocka_unit_test(other_directories_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
