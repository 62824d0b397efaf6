/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/compare/comparison.c client/compare/compare_report.c client/compare/compare_stored.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/compare/compare_report.h"
#include "client/compare/compare_stored.h"

#define N_PAIRS 40U

typedef struct Fixture {
        PairedRuns runs;
        CompareFacts facts;
        ComparisonRow row; /* the decisive one */
        Buffer out;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        if (!f)
                return -1;
        f->facts = (CompareFacts){ .names = { "old", "new" }, .within = 0.01, .has_perfd = true };
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        buffer_deinit(&f->out);
        free(f);
        return 0;
}

/* A small change that differs from run to run, and repeats. */
static double wobble(size_t i) {
        return 1 + 0.002 * (double)(i * 7 % 5);
}

static void put_runs(Fixture *f, ComparisonSide side, double wall_s, double bytes) {
        for (size_t i = 0; i < N_PAIRS; i++) {
                const double resources[N_COMPARISON_RESOURCES] = {
                        wall_s * wobble(i + 2 * (size_t)side * (i % 2)), wall_s / 2, 1048576, NAN, 0, bytes
                };

                comparison_put_resources(&f->runs, i, side, resources);
        }
        f->runs.n_pairs = N_PAIRS;
}

/* Judges by a number, and returns the report as text. */
static const char *report(Fixture *f, const char *objective) {
        const ComparisonSeries *decisive = comparison_find(&f->runs, objective);
        Screen screen = { .out = &f->out, .width = 200 };

        assert_non_null(decisive);
        buffer_clear(&f->out);
        f->row = comparison_judge(&f->runs, decisive, COMPARISON_B, f->facts.within);
        assert_int_equal(compare_report_write(&f->runs, &f->row, &f->facts, &screen), 0);
        return f->out.text;
}

static void slower_is_said_with_its_interval(void **state) {
        Fixture *f = *state;

        put_runs(f, COMPARISON_A, 1, 0);
        put_runs(f, COMPARISON_B, 1.1, 0);
        assert_non_null(strstr(report(f, "wall time"), " % slower ("));
        assert_int_equal(f->row.verdict, PAIRED_MORE);
        assert_true(fabs(expm1(f->row.interval.estimate) - 0.1) < 0.01);
        assert_non_null(strstr(f->out.text, "\nbytes read "));
        assert_null(strstr(f->out.text, "of the job"));
}

static void faster_is_a_share_of_the_time_of_a(void **state) {
        Fixture *f = *state;

        put_runs(f, COMPARISON_A, 2, 0);
        put_runs(f, COMPARISON_B, 1, 0);
        assert_non_null(strstr(report(f, "wall time"), " % faster ("));
        assert_non_null(strstr(report(f, "cpu TIME"), "\nCPU time of B against A: 50.00 % less (50.00 to 50.00), "));
}

static void same_is_within_the_margin(void **state) {
        Fixture *f = *state;

        put_runs(f, COMPARISON_A, 1, 0);
        put_runs(f, COMPARISON_B, 1, 0);
        assert_non_null(strstr(report(f, "wall time"), "\nwall time of B against A: same ("));
        assert_non_null(strstr(f->out.text, "), within 1 %, after 40 pairs\n"));

        f->facts.is_stored = true;
        assert_non_null(strstr(report(f, "wall time"), "\nstored runs are paired in their order: if they were not "));
        assert_non_null(strstr(f->out.text, "0 B"));
}

static void numbers_that_may_be_zero_have_differences(void **state) {
        Fixture *f = *state;

        put_runs(f, COMPARISON_A, 1, 0);
        put_runs(f, COMPARISON_B, 1, 4096);
        assert_non_null(strstr(report(f, "bytes written"), " of B against A: 4.00 KiB more (4.00 KiB to 4.00 KiB)"));
        assert_false(f->row.is_ratio);
}

static void equal_numbers_that_may_be_zero_are_the_same(void **state) {
        Fixture *f = *state;

        for (size_t i = 0; i < N_PAIRS; i++)
                for (ComparisonSide side = COMPARISON_A; side <= COMPARISON_B; side++)
                        comparison_put(&f->runs, i, side, "Heat change", NULL, -5);
        f->runs.n_pairs = N_PAIRS;
        assert_non_null(strstr(report(f, "change"), " of B against A: same (0 to 0), after 40 pairs\n"));
}

static void a_number_is_found_without_the_name_of_its_indicator(void **state) {
        Fixture *f = *state;

        comparison_put(&f->runs, 0, COMPARISON_A, "Copy rate", NULL, 1);
        assert_non_null(comparison_find(&f->runs, "rate"));
        assert_non_null(comparison_find(&f->runs, "copy rate"));
        assert_null(comparison_find(&f->runs, "at"));
}

static void numbers_beyond_the_limit_are_left_out(void **state) {
        Fixture *f = *state;
        char name[16];

        for (size_t i = 0; i < COMPARISON_SERIES_MAX + 3; i++) {
                (void)snprintf(name, sizeof(name), "n%zu", i);
                comparison_put(&f->runs, 0, COMPARISON_A, name, NULL, 1);
        }
        assert_int_equal(f->runs.n_series, COMPARISON_SERIES_MAX);
}

static void a_drift_of_one_side_is_said(void **state) {
        Fixture *f = *state;

        put_runs(f, COMPARISON_A, 1, 0);
        for (size_t i = 0; i < N_PAIRS; i++)
                comparison_put(&f->runs, i, COMPARISON_B, "wall time", "s", wobble(i) * (1 + 0.02 * (double)i));
        assert_non_null(strstr(report(f, "wall time"), "\ndrift: wall time of B changed by +"));
        assert_null(strstr(f->out.text, "drift: wall time of A"));

        /* The fewest pairs with a verdict show it, too. */
        f->runs.n_pairs = PAIRED_PAIRS_MIN;
        assert_non_null(strstr(report(f, "wall time"), "\ndrift: wall time of B changed by +"));
}

static void shares_are_parts_of_the_time(void **state) {
        const NodeNoise begin = {}, end = { .values = { [NOISE_CPU] = 4, [NOISE_IO] = 0.25 } };
        NoiseHistory history = {};
        NodeNoise shares = {};

        (void)state;
        comparison_add_noise_run(&shares, &begin, &end, 1, 0, &history);
        assert_true(shares.values[NOISE_CPU] == 1 && shares.values[NOISE_IO] == 0.25);
}

static void too_few_pairs_are_unknown_with_the_reasons(void **state) {
        Fixture *f = *state;
        const NodeNoise busy[2] = { { .values = { [NOISE_CPU] = 0.5 } } };

        put_runs(f, COMPARISON_A, 1, 0);
        put_runs(f, COMPARISON_B, 1, 0);
        f->runs.n_pairs = 3;
        f->facts.n_failed = 2;
        for (size_t i = 0; i < 5; i++)
                assert_false(comparison_add_noise_pair(&f->facts.noise, busy));
        assert_non_null(strstr(report(f, "wall time"), "\nwall time of B against A: unknown after 3 pairs\n"));
        assert_non_null(strstr(f->out.text, "\na verdict needs at least 10 pairs\n"));
        assert_null(strstr(f->out.text, "do not tell"));
        assert_non_null(strstr(f->out.text, "the machine was not quiet: waiting for CPUs, 50 % of the time"));
        assert_non_null(strstr(f->out.text, "left out: 2 pairs: 2 failed, 0 timed out, 0 disturbed\n"));
}

/* B writes much in some of its runs: these pairs are left out, and the rest says nothing about such runs. */
static void a_command_that_disturbs_itself_is_named(void **state) {
        const NodeNoise quiet[2] = {}, by_b[2] = { {}, { .values = { [NOISE_IO] = 0.9 } } };
        NodeNoise by_a[2] = { by_b[1], {} };
        Fixture *f = *state;

        put_runs(f, COMPARISON_A, 1, 0);
        put_runs(f, COMPARISON_B, 1, 0);
        for (size_t i = 0; i < 36; i++)
                f->facts.n_disturbed += comparison_add_noise_pair(&f->facts.noise, i % 4 == 3 ? by_b : quiet);
        assert_int_equal(f->facts.n_disturbed, 9);
        assert_non_null(strstr(report(f, "wall time"), "for I/O 9, all in runs of B, which may do that itself\n"));
        f->facts.n_disturbed += comparison_add_noise_pair(&f->facts.noise, by_a);
        assert_non_null(strstr(report(f, "wall time"), "waiting for I/O 10\n"));
}

static void an_unknown_verdict_says_what_is_known(void **state) {
        Fixture *f = *state;

        put_runs(f, COMPARISON_A, 1, 0);
        put_runs(f, COMPARISON_B, 1, 0);
        f->runs.n_pairs = 12;
        f->facts.within = 1e-4;
        f->facts.n_left[1] = 2;
        assert_non_null(strstr(report(f, "wall time"), "unknown after 12 pairs, at most 0."));
        assert_non_null(strstr(f->out.text, " % faster or 0."));
        assert_non_null(strstr(f->out.text, "\n12 pairs do not tell whether they are the same within 0.01 %; "));
        assert_non_null(strstr(f->out.text, " if B stays 0."));
        assert_non_null(strstr(f->out.text, "\n2 runs of B left processes running, which may delay later runs\n"));
}

static void a_compared_with_itself_is_the_floor(void **state) {
        Fixture *f = *state;

        put_runs(f, COMPARISON_A, 1, 0);
        put_runs(f, COMPARISON_B, 2, 0);
        put_runs(f, COMPARISON_A_AGAIN, 1, 0);
        f->facts.has_floor = true;
        assert_non_null(strstr(report(f, "wall time"), "\nnoise floor, A against A: same ("));
}

static void json_has_the_verdict_and_all_rows(void **state) {
        Fixture *f = *state;

        put_runs(f, COMPARISON_A, 1, 0);
        put_runs(f, COMPARISON_B, 1.1, 0);
        (void)report(f, "wall time");
        buffer_clear(&f->out);
        assert_int_equal(compare_report_write_json(&f->runs, &f->row, &f->facts, &f->out), 0);
        assert_non_null(strstr(f->out.text, "\"verdict\":\"more\",\"sentence\":\"B is "));
        assert_non_null(strstr(f->out.text, "\"failed\":0,\"timed_out\":0,\"disturbed\":0"));
        assert_non_null(strstr(f->out.text, "\"bytes read\",\"unit\":\"bytes\",\"verdict\":\"same\",\"pairs\":40"));
}

static void a_file_has_the_runs_of_a_side(void **state) {
        static const char text[] = "{\"results\":["
                                   "{\"component\":\"command\",\"result\":\"user_time\",\"values\":[1,2]},"
                                   "{\"component\":\"command\",\"result\":\"system_time\",\"values\":[0.5,0.25]},"
                                   "{\"component\":\"command\",\"result\":\"elapsed\",\"values\":[3,4]},"
                                   "{\"component\":\"c\",\"indicator\":\"Copy\",\"result\":\"rate\",\"values\":[7]}]}";
        char path[] = "/tmp/perfd-comparison-XXXXXX", empty[] = "/tmp/perfd-comparison-XXXXXX";
        int fd = mkstemp(path), empty_fd = mkstemp(empty);
        Fixture *f = *state;

        assert_true(fd >= 0 && empty_fd >= 0);
        assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
        assert_int_equal(write(empty_fd, "{}", 2), 2);
        assert_int_equal(compare_stored_read(&f->runs, COMPARISON_B, path, &(GlobalOptions){}), EXIT_DONE);
        assert_int_equal(compare_stored_read(&f->runs, COMPARISON_A, empty, &(GlobalOptions){}), EXIT_FAILED);
        assert_int_equal(f->runs.n_pairs, 2);
        assert_true(comparison_find(&f->runs, "CPU time")->values[1][COMPARISON_B] == 2.25);
        assert_true(comparison_find(&f->runs, "wall time")->values[0][COMPARISON_B] == 3);
        assert_true(comparison_find(&f->runs, "Copy rate")->values[0][COMPARISON_B] == 7);
        assert_true(isnan(comparison_find(&f->runs, "rate")->values[1][COMPARISON_B]));
        (void)close(fd);
        (void)close(empty_fd);
        (void)unlink(path);
        (void)unlink(empty);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(slower_is_said_with_its_interval, set_up, tear_down),
                cmocka_unit_test_setup_teardown(faster_is_a_share_of_the_time_of_a, set_up, tear_down),
                cmocka_unit_test_setup_teardown(same_is_within_the_margin, set_up, tear_down),
                cmocka_unit_test_setup_teardown(numbers_that_may_be_zero_have_differences, set_up, tear_down),
                cmocka_unit_test_setup_teardown(equal_numbers_that_may_be_zero_are_the_same, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_number_is_found_without_the_name_of_its_indicator, set_up, tear_down),
                cmocka_unit_test_setup_teardown(numbers_beyond_the_limit_are_left_out, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_drift_of_one_side_is_said, set_up, tear_down),
                cmocka_unit_test(shares_are_parts_of_the_time),
                cmocka_unit_test_setup_teardown(too_few_pairs_are_unknown_with_the_reasons, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_command_that_disturbs_itself_is_named, set_up, tear_down),
                cmocka_unit_test_setup_teardown(an_unknown_verdict_says_what_is_known, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_compared_with_itself_is_the_floor, set_up, tear_down),
                cmocka_unit_test_setup_teardown(json_has_the_verdict_and_all_rows, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_file_has_the_runs_of_a_side, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
