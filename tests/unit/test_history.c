/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kpi/history.h"
#include "util/scoped.h"

static const HistoryQuestion lower = {
        .judge = { .direction = JUDGE_LOWER, .hunter = HUNTER_DEFAULTS, .shift = SHIFT_DEFAULTS }
};

#define RUNS_MAX 800U

typedef struct Runs {
        HistoryRun items[RUNS_MAX];
        char versions[RUNS_MAX][24];
        size_t n;
} Runs;

/* Adds n runs of a version around a level, with a noise of about 1 %. */
static void add(Runs *runs, const char *version, size_t n, double level) {
        static const double noise[] = { 0.002, -0.007, 0.011, -0.004, 0.008, -0.01, 0.001, 0.005, -0.003 };

        for (size_t i = 0; i < n; i++, runs->n++) {
                (void)snprintf(runs->versions[runs->n], sizeof(runs->versions[0]), "%s", version);
                runs->items[runs->n] = (HistoryRun){ .value = level * (1 + noise[runs->n % 9]),
                                                     .time_ms = 1000 + runs->n, .version = runs->versions[runs->n],
                                                     .result = (int64_t)runs->n };
        }
}

static HistoryVerdict judge(Runs *runs, const HistoryQuestion *question) {
        HistoryVerdict verdict;

        assert_int_equal(history_judge(runs->items, runs->n, question, &verdict), 0);
        return verdict;
}

/* Keeps the runs, of which history_judge() leaves those that it judged. */
static HistoryVerdict judge_copy(const Runs *runs, const HistoryQuestion *question) {
        Runs copy = *runs;

        return judge(&copy, question);
}

static void all_changes_are_told_with_their_levels(void **state) {
        Runs runs = {};
        HistoryChanges changes = { .n = 7 };
        HistoryQuestion question = lower;

        (void)state;
        question.changes = &changes;
        for (unsigned i = 1; i <= 18; i++) {
                char version[16];

                (void)snprintf(version, sizeof(version), "1.%u.0", i);
                add(&runs, version, 3, i <= 6 ? 100 : i <= 12 ? 150 : 120);
        }
        (void)judge_copy(&runs, &question);
        assert_int_equal(changes.n, 2);
        assert_string_equal(changes.items[0].first.version, "1.7.0");
        assert_string_equal(changes.items[1].first.version, "1.13.0");
        assert_true(fabs(changes.items[0].before - 100) < 1 && fabs(changes.items[0].after - 150) < 1.5);
        assert_true(changes.items[0].low < 0.5 && 0.5 < changes.items[0].high && changes.items[0].low > 0.45);
        assert_true(changes.items[1].relative < -0.15 && changes.items[1].high < -0.15);
        assert_true(changes.items[1].p_value < 0.01);
        assert_true(changes.items[1].sd_after > 0.1 && changes.items[1].sd_after < 3);

        runs.n = 3;
        (void)judge_copy(&runs, &question);
        assert_int_equal(changes.n, 0);
}

static void a_regression_has_the_version_since_which_it_is_there(void **state) {
        Runs runs = {};
        HistoryVerdict verdict;

        (void)state;
        add(&runs, "2.10.0", 4, 110);
        for (unsigned i = 0; i < 10; i++) {
                char version[16];

                (void)snprintf(version, sizeof(version), "2.%u.0", i);
                add(&runs, version, 2, 100);
        }
        verdict = judge(&runs, &(HistoryQuestion){ .current = "2.10.0", .judge = lower.judge });
        assert_int_equal(verdict.verdict, JUDGE_REGRESSION);
        assert_int_equal(verdict.order, HISTORY_BY_SEMVER);
        assert_string_equal(verdict.first.version, "2.10.0");
        assert_string_equal(verdict.judged.version, "2.10.0");
        assert_true(fabs(verdict.relative - 0.1) < 0.02);
        assert_true(verdict.low > 0.05 && verdict.low <= verdict.relative && verdict.relative <= verdict.high &&
                    verdict.high < 0.15);
        assert_true(verdict.smallest >= 0.1 && verdict.smallest < 0.3); /* after four runs */
        assert_true(verdict.n == 24 && verdict.of.n_versions == 11 && verdict.excluded.n_later == 0 &&
                    verdict.n_needed == 0);
}

static void runs_of_later_versions_are_excluded(void **state) {
        Runs runs = {};
        HistoryVerdict verdict;

        (void)state;
        for (unsigned i = 0; i < 8; i++) {
                char version[16];

                (void)snprintf(version, sizeof(version), "1.%u.0", i + 5);
                add(&runs, version, 2, i < 6 ? 100 : 150);
        }
        verdict = judge(&runs, &(HistoryQuestion){ .current = "1.10.0", .judge = lower.judge });
        assert_int_equal(verdict.verdict, JUDGE_NO_CHANGE);
        assert_true(verdict.n == 12 && verdict.excluded.n_later == 4 && verdict.of.n_versions == 6);
        assert_int_equal(history_judge(runs.items, runs.n,
                                       &(HistoryQuestion){ .current = "9.0.0", .judge = lower.judge }, &verdict),
                         HISTORY_NO_CURRENT);
}

static void a_change_lies_between_two_versions_only(void **state) {
        Runs runs = {};
        HistoryVerdict verdict;

        (void)state;
        add(&runs, "1.0.0", 8, 100);
        add(&runs, "1.1.0", 2, 100);
        add(&runs, "1.1.0", 8, 150);
        verdict = judge(&runs, &lower);
        /* The version is not what changed. */
        assert_true(verdict.verdict == JUDGE_UNKNOWN && verdict.first.time_ms == 1010 && verdict.n_before == 10 &&
                    verdict.n_needed == 0 && fabs(verdict.relative - 0.5) < 0.03 && verdict.low > 0.4);
        add(&runs, "1.2.0", 5, 150);
        assert_int_equal(judge(&runs, &lower).verdict, JUDGE_NO_CHANGE);

        /* With one version, the time tells where. */
        memset(&runs, 0, sizeof(runs));
        add(&runs, "1.0.0", 10, 100);
        add(&runs, "1.0.0", 8, 150);
        verdict = judge(&runs, &lower);
        assert_int_equal(verdict.verdict, JUDGE_REGRESSION);
        assert_true(verdict.first.time_ms == 1010 && !verdict.first.version);
}

static void one_version_that_is_none_orders_all_by_time(void **state) {
        Runs runs = {};

        (void)state;
        add(&runs, "1.0.0", 3, 100);
        add(&runs, "nightly", 3, 100);
        assert_int_equal(judge(&runs, &lower).order, HISTORY_BY_TIME);
        assert_int_equal(judge(&runs, &(HistoryQuestion){ .order = HISTORY_BY_NUMBER, .judge = lower.judge }).order,
                         HISTORY_BY_TIME);
        runs.items[0].version = NULL;
        assert_int_equal(judge(&runs, &lower).order, HISTORY_BY_TIME);

        memset(&runs, 0, sizeof(runs));
        add(&runs, "10", 5, 200);
        add(&runs, "9", 8, 100);
        assert_int_equal(
                judge(&runs, &(HistoryQuestion){ .order = HISTORY_BY_NUMBER, .current = "10", .judge = lower.judge })
                        .verdict,
                JUDGE_REGRESSION);
}

/* Runs of two versions alternate: only the order of the versions shows the change. */
static void runs_of_two_versions_are_never_mixed(void **state) {
        static const struct {
                const char *old, *new;
                HistoryOrder order;
        } pairs[] = { { "1.0.0", "2.0.0", HISTORY_BY_SEMVER }, { "1.0", "2.0", HISTORY_BY_VERSION },
                      { "2.13-rc1", "v2.13", HISTORY_BY_VERSION }, { "2026-11-09", "2026-11-27", HISTORY_BY_VERSION },
                      { "build 998", "build 1834", HISTORY_BY_VERSION },
                      { "1.2.0", "1.2.0-14-g1c2d3e4", HISTORY_BY_VERSION }, { "1.2.0-9-ga", "1.2.0-14-gb", HISTORY_BY_VERSION },
                      { "1.2.0-14-gfedcba9", "1.2.0-14-gabcdef0", HISTORY_BY_VERSION }, { "9f3c2ab", "1c2d3e4", HISTORY_BY_TIME },
                      { "stable", "nightly", HISTORY_BY_TIME }, { "build 7", "1.0", HISTORY_BY_TIME } };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(pairs); i++) {
                HistoryVerdict verdict;
                Runs runs = {};

                for (unsigned k = 0; k < 8; k++) {
                        add(&runs, pairs[i].old, 1, 100);
                        add(&runs, pairs[i].new, 1, 110);
                }
                verdict = judge(&runs, &lower);
                assert_int_equal(verdict.verdict, JUDGE_REGRESSION);
                assert_int_equal(verdict.order, pairs[i].order);
                assert_string_equal(verdict.first.version, pairs[i].new);
                assert_int_equal(verdict.n, 16);
        }
}

/* The numbers of runs that a verdict names, and the level that came back. */
static void a_verdict_says_what_it_knows_and_what_it_needs(void **state) {
        HistoryQuestion higher = lower;
        HistoryVerdict verdict;
        Runs runs = {};

        (void)state;
        add(&runs, "1.0", 20, 100);
        add(&runs, "1.1", 2, 150);
        verdict = judge_copy(&runs, &lower);
        assert_true(verdict.verdict == JUDGE_RUN_AGAIN && verdict.n_needed == 1 && verdict.n_before == 20);
        assert_string_equal(verdict.first.version, "1.1");
        assert_true(verdict.smallest > 0.01 && verdict.n_smallest == 3);
        add(&runs, "1.1", 6, 150);
        assert_int_equal(judge_copy(&runs, &lower).verdict, JUDGE_REGRESSION);
        add(&runs, "1.2", 5, 100);
        verdict = judge_copy(&runs, &lower);
        assert_int_equal(verdict.verdict, JUDGE_RETURNED);
        assert_string_equal(verdict.back_to.version, "1.0");
        higher.judge.direction = JUDGE_HIGHER;
        verdict = judge_copy(&runs, &higher);
        assert_int_equal(verdict.verdict, JUDGE_REGRESSION);
        assert_string_equal(verdict.back_to.version, "1.0");

        memset(&runs, 0, sizeof(runs));
        add(&runs, "1.0", 3, 100);
        add(&runs, "1.1", 2, 150);
        verdict = judge_copy(&runs, &lower);
        assert_true(verdict.verdict == JUDGE_UNKNOWN && verdict.n_before == 3 && verdict.n_needed == 5);
        add(&runs, "1.1", 5, 150);
        assert_int_equal(judge_copy(&runs, &lower).verdict, JUDGE_REGRESSION);
}

/* One run of the version before is no level to compare with. */
static void a_single_run_before_a_version_is_no_level(void **state) {
        HistoryVerdict verdict;
        Runs runs = {};

        (void)state;
        add(&runs, "1.0", 1, 100);
        for (unsigned n = 2; n <= 20; n++) {
                add(&runs, "1.1", 1, 150);
                verdict = judge_copy(&runs, &lower);
                assert_int_equal(verdict.verdict, JUDGE_UNKNOWN);
                if (n < SHIFT_POINTS_MIN)
                        continue;
                assert_true(verdict.n_before == 1 && verdict.n_needed == 4 && verdict.since == 1);
                assert_true(fabs(verdict.relative - 0.5) < 0.03);
        }
        add(&runs, "1.0", 4, 100);
        verdict = judge_copy(&runs, &(HistoryQuestion){ .current = "1.1", .judge = lower.judge });
        assert_int_equal(verdict.verdict, JUDGE_REGRESSION);

        memset(&runs, 0, sizeof(runs));
        add(&runs, "1.0", 1, 100);
        add(&runs, "1.1", 8, 100);
        assert_int_equal(judge_copy(&runs, &lower).verdict, JUDGE_NO_CHANGE);
        runs.items[0].value = 150; /* a spike among several versions */
        add(&runs, "1.2", 3, 100);
        assert_int_equal(judge_copy(&runs, &lower).verdict, JUDGE_NO_CHANGE);
}

/* A level of which only a change of more than 100 % could be seen is not known to be unchanged. */
static void runs_that_vary_too_much_have_no_verdict(void **state) {
        HistoryVerdict verdict;
        Runs runs = {};

        (void)state;
        for (unsigned i = 0; i < 9; i++)
                add(&runs, "1.0", 1, i % 2 ? 200 : 100);
        verdict = judge_copy(&runs, &lower);
        assert_true(verdict.verdict == JUDGE_UNKNOWN && verdict.smallest > 1 && verdict.n_needed == 0);

        /* More runs are enough for less noise. */
        memset(&runs, 0, sizeof(runs));
        for (unsigned i = 0; i < 5; i++)
                add(&runs, "1.0", 1, i % 2 ? 112 : 100);
        while ((verdict = judge_copy(&runs, &lower)).verdict == JUDGE_UNKNOWN) {
                assert_true(verdict.smallest > 1 && verdict.n_needed > 0);
                add(&runs, "1.0", 1, runs.n % 2 ? 112 : 100);
        }
        assert_int_equal(verdict.verdict, JUDGE_NO_CHANGE);
        assert_true(verdict.smallest < 1 && runs.n > 6 && runs.n < 12);
}

static void runs_at_the_same_time_have_the_order_of_their_results(void **state) {
        Runs runs = {};
        HistoryVerdict verdict;

        (void)state;
        for (unsigned i = 0; i < 15; i++) {
                char version[16];

                (void)snprintf(version, sizeof(version), "v%u", i);
                add(&runs, version, 1, i < 10 ? 100 : 140);
                runs.items[i].time_ms = 1000;
        }
        for (size_t i = 0; i < 7; i++) {
                HistoryRun run = runs.items[i];

                runs.items[i] = runs.items[14 - i];
                runs.items[14 - i] = run;
        }
        verdict = judge(&runs, &(HistoryQuestion){ .order = HISTORY_BY_TIME, .judge = lower.judge });
        assert_int_equal(verdict.verdict, JUDGE_REGRESSION);
        assert_string_equal(verdict.judged.version, "v14");
        assert_string_equal(verdict.first.version, "v10");
        assert_int_equal(verdict.since, 10);
}

static void the_runs_of_a_batch_count_as_their_median(void **state) {
        Runs runs = {};
        HistoryVerdict verdict;

        (void)state;
        for (unsigned i = 0; i < 8; i++) {
                char version[16];

                (void)snprintf(version, sizeof(version), "1.%u.0", i);
                add(&runs, version, 4, 100);
                for (size_t k = runs.n - 4; k < runs.n; k++)
                        runs.items[k].batch = i + 1;
                runs.items[runs.n - 1].value = 1e6; /* an outlier, which a median does not follow */
        }
        verdict = judge(&runs, &lower);
        assert_int_equal(verdict.verdict, JUDGE_NO_CHANGE);
        assert_true(verdict.n == 8 && verdict.excluded.n_batched == 24 && verdict.of.n_versions == 8);
        assert_int_equal(verdict.of.n_repeats, 32);
}

static void versions_are_selected_as_the_original_does(void **state) {
        HistoryQuestion question = { .is_compat = true, .judge = lower.judge };
        Runs runs = {};
        HistoryVerdict verdict;

        (void)state;
        question.judge.method = JUDGE_HUNTER;
        question.judge.direction = JUDGE_NEITHER; /* as higher */
        add(&runs, "2.10.0", 1, 100);
        add(&runs, "2.9.0", 3, 100);
        for (unsigned i = 0; i < 8; i++) {
                char version[16];

                (void)snprintf(version, sizeof(version), "2.1%u.0", i + 1);
                add(&runs, version, 2, 100);
        }
        add(&runs, "2.2.0", 1, 130);
        add(&runs, "2.2.0", 1, 70);
        verdict = judge(&runs, &question);
        assert_true(verdict.n == 11 && verdict.excluded.n_repeated == 11 && verdict.excluded.n_later == 0);
        assert_string_equal(verdict.status.description, "Regression");
        assert_true(verdict.status.is_accepted == BASELINE_FALSE && verdict.status.is_improved == BASELINE_FALSE);
        assert_int_equal(verdict.verdict, JUDGE_REGRESSION);
        assert_string_equal(runs.items[0].version, "2.10.0");
        assert_string_equal(runs.items[9].version, "2.9.0");
}

static void odd_series_have_a_verdict(void **state) {
        Runs runs = {};
        HistoryVerdict verdict;

        (void)state;
        assert_int_equal(history_judge(runs.items, 0, &lower, &verdict), HISTORY_NO_CURRENT);
        add(&runs, "1.0.0", 1, 100);
        verdict = judge(&runs, &lower);
        assert_true(verdict.verdict == JUDGE_UNKNOWN && verdict.n_needed == SHIFT_POINTS_MIN - 1 &&
                    isnan(verdict.smallest));
        memset(&runs, 0, sizeof(runs));
        add(&runs, "1.0.0", 20, 0);
        assert_int_equal(judge(&runs, &lower).verdict, JUDGE_NO_CHANGE);
        add(&runs, "1.1.0", 10, 0);
        for (size_t i = 20; i < runs.n; i++)
                runs.items[i].value = -1;
        assert_int_equal(judge(&runs, &lower).verdict, JUDGE_IMPROVEMENT);

        memset(&runs, 0, sizeof(runs));
        add(&runs, "1.0.0", RUNS_MAX, 7);
        verdict = judge(&runs, &lower);
        assert_true(verdict.n == HISTORY_RUNS_MAX && verdict.excluded.n_older == RUNS_MAX - HISTORY_RUNS_MAX);
}

static void an_accepted_level_is_what_runs_are_compared_with(void **state) {
        HistoryQuestion question = { .judge = lower.judge };
        HistoryVerdict verdict;
        Runs runs = {};

        (void)state;
        for (unsigned i = 0; i < 8; i++) {
                char version[16];

                (void)snprintf(version, sizeof(version), "2.%u.0", i);
                add(&runs, version, 3, 100);
        }
        add(&runs, "2.8.0", 6, 120);
        verdict = judge_copy(&runs, &question);
        assert_int_equal(verdict.verdict, JUDGE_REGRESSION);
        assert_int_equal(verdict.accepted.time_ms, 0);

        /* The level began six runs before the run that was accepted. */
        question.accepted_ms = 1000 + 29;
        verdict = judge_copy(&runs, &question);
        assert_int_equal(verdict.verdict, JUDGE_NO_CHANGE);
        assert_int_equal(verdict.excluded.n_accepted, 24);
        assert_int_equal(verdict.n, 6);
        assert_int_equal(verdict.accepted.time_ms, 1000 + 29);
        assert_string_equal(verdict.accepted.version, "2.8.0");

        /* A run of an old version that comes later is before the level. */
        add(&runs, "2.3.0", 1, 100);
        add(&runs, "2.9.0", 4, 120);
        verdict = judge_copy(&runs, &question);
        assert_int_equal(verdict.verdict, JUDGE_NO_CHANGE);
        assert_int_equal(verdict.excluded.n_accepted, 25);
        add(&runs, "2.10.0", 6, 140);
        verdict = judge_copy(&runs, &question);
        assert_int_equal(verdict.verdict, JUDGE_REGRESSION);
        assert_string_equal(verdict.first.version, "2.10.0");
        assert_true(fabs(verdict.relative - 1.0 / 6) < 0.02);

        /* An earlier version is judged as before. */
        question.current = "2.7.0";
        verdict = judge_copy(&runs, &question);
        assert_int_equal(verdict.accepted.time_ms, 0);
        assert_int_equal(verdict.excluded.n_accepted, 0);
}

static void a_level_that_is_not_certain_yet_is_accepted_whole(void **state) {
        HistoryQuestion question = { .judge = lower.judge, .accepted_ms = 1000 + 21 };
        HistoryVerdict verdict;
        Runs runs = {};

        (void)state;
        add(&runs, "2.1.0", 20, 100);
        add(&runs, "2.2.0", 2, 150);
        assert_int_equal(judge_copy(&runs, &lower).verdict, JUDGE_RUN_AGAIN);
        verdict = judge_copy(&runs, &question);
        assert_true(verdict.n == 2 && verdict.excluded.n_accepted == 20);
}

static void an_unchanged_history_has_no_level_to_accept(void **state) {
        HistoryQuestion question = { .judge = lower.judge, .accepted_ms = 1000 + 9 };
        HistoryVerdict verdict;
        Runs runs = {};

        (void)state;
        add(&runs, "2.1.0", 12, 100);
        verdict = judge_copy(&runs, &question);
        assert_int_equal(verdict.n, 12);
        assert_int_equal(verdict.accepted.time_ms, 0);
        question.accepted_ms = 1000 + 3; /* there are too few runs up to here: the level begins with the last of them */
        verdict = judge_copy(&runs, &question);
        assert_int_equal(verdict.excluded.n_accepted, 3);
        assert_int_equal(verdict.n, 9);
        question.accepted_ms = 999; /* before all runs */
        verdict = judge_copy(&runs, &question);
        assert_int_equal(verdict.n, 12);
        assert_int_equal(verdict.accepted.time_ms, 0);
}

static void the_share_of_false_changes_is_limited(void **state) {
        HistoryVerdict verdicts[10] = {}, *list[10];

        (void)state;
        for (size_t i = 0; i < 10; i++) {
                verdicts[i] = (HistoryVerdict){ .verdict = JUDGE_NO_CHANGE, .p_value = NAN };
                list[i] = &verdicts[i];
        }
        verdicts[3] = (HistoryVerdict){ .verdict = JUDGE_REGRESSION, .p_value = 0.004 };
        verdicts[5] = (HistoryVerdict){ .verdict = JUDGE_IMPROVEMENT, .p_value = 0.009 };
        verdicts[7] = (HistoryVerdict){ .verdict = JUDGE_CHANGED, .p_value = 0.02 };
        verdicts[8] = (HistoryVerdict){ .verdict = JUDGE_REGRESSION, .p_value = NAN };
        assert_int_equal(history_limit_false_changes(list, 10, 0.05), 1);
        assert_int_equal(verdicts[3].verdict, JUDGE_REGRESSION);
        assert_int_equal(verdicts[5].verdict, JUDGE_IMPROVEMENT);
        assert_int_equal(verdicts[7].verdict, JUDGE_RUN_AGAIN);
        assert_int_equal(verdicts[8].verdict, JUDGE_REGRESSION);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_changes_are_told_with_their_levels),
                cmocka_unit_test(a_regression_has_the_version_since_which_it_is_there),
                cmocka_unit_test(runs_of_later_versions_are_excluded),
                cmocka_unit_test(a_change_lies_between_two_versions_only),
                cmocka_unit_test(one_version_that_is_none_orders_all_by_time),
                cmocka_unit_test(runs_of_two_versions_are_never_mixed),
                cmocka_unit_test(a_verdict_says_what_it_knows_and_what_it_needs),
                cmocka_unit_test(a_single_run_before_a_version_is_no_level),
                cmocka_unit_test(runs_that_vary_too_much_have_no_verdict),
                cmocka_unit_test(runs_at_the_same_time_have_the_order_of_their_results),
                cmocka_unit_test(the_runs_of_a_batch_count_as_their_median),
                cmocka_unit_test(versions_are_selected_as_the_original_does),
                cmocka_unit_test(odd_series_have_a_verdict),
                cmocka_unit_test(an_accepted_level_is_what_runs_are_compared_with),
                cmocka_unit_test(a_level_that_is_not_certain_yet_is_accepted_whole),
                cmocka_unit_test(an_unchanged_history_has_no_level_to_accept),
                cmocka_unit_test(the_share_of_false_changes_is_limited),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
