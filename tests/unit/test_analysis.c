/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/judge.h"
#include "analysis/shift.h"
#include "analysis/student.h"
#include "util/scoped.h"

static bool is_near(double got, double expected, double tolerance) {
        return isnan(expected) ? isnan(got)
                               : got == expected || fabs(got - expected) <= tolerance * fmax(fabs(expected), 1e-9);
}

static void assert_near(double got, double expected, double tolerance) {
        if (!is_near(got, expected, tolerance))
                fail_msg("got %.17g, expected %.17g", got, expected);
}

/* Captured files that the project does not carry are below PERFD_FIXTURES or beside the source. NULL: not there. */
static json_t *load(const char *directory, const char *name) {
        const char *fixtures = getenv("PERFD_FIXTURES");
        char path[4096];

        if (fixtures && strcmp(directory, "../shared/fixtures") == 0)
                directory = fixtures;
        (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
        return json_load_file(path, 0, NULL);
}

/* "inf" and "nan" stand as texts. */
static double number_of(const json_t *value) {
        if (json_is_null(value))
                return NAN;
        return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

static double *numbers_of(const json_t *list, size_t more) {
        double *ret = calloc(json_array_size(list) + more + 1, sizeof(*ret));

        for (size_t i = 0; i < json_array_size(list); i++)
                ret[i] = number_of(json_array_get(list, i));
        return ret;
}

/* --- parts ---------------------------------------------------------------------------------------- */

static void probabilities_are_those_of_the_tables(void **state) {
        (void)state;
        assert_near(student_two_sided(12.706204736432095, 1), 0.05, 1e-10);
        assert_near(student_two_sided(-2.2281388519649385, 10), 0.05, 1e-10);
        assert_near(student_two_sided(3.6460, 30), 0.0010000, 1e-3);
        assert_near(student_two_sided(636.61924876, 1), 0.001, 1e-8);
        assert_near(student_two_sided(0, 4), 1, 1e-15);
        assert_near(student_two_sided(INFINITY, 4), 0, 0);
        assert_near(student_normal_above(1.959963984540054), 0.025, 1e-10);
}

/* The cost of each partition of a short series, computed directly. */
static double cost_of(const double *series, size_t begin, size_t end) {
        double best = INFINITY;

        for (size_t m = begin; m < end; m++) {
                double sum = 0;

                for (size_t i = begin; i < end; i++)
                        sum += fabs(series[i] - series[m]);
                best = fmin(best, sum);
        }
        return best;
}

static double try_all(const double *series, size_t begin, size_t n, double penalty) {
        double best = n - begin >= 2 ? cost_of(series, begin, n) : INFINITY;

        for (size_t at = begin + (begin == 0 ? 4 : 3); at < n; at++)
                best = fmin(best, cost_of(series, begin, at) + penalty + try_all(series, at, n, penalty));
        return best;
}

static void a_partition_has_the_lowest_cost_of_all(void **state) {
        uint32_t seed = 5;

        (void)state;
        for (size_t round = 0; round < 60; round++) {
                const PartitionSettings settings = { .penalty = 2.5, .n_min = 3, .n_min_first = 4, .n_min_last = 2 };
                double series[14], sum = 0;
                size_t begins[14], n, n_values = 4 + round % 11, begin = 0;

                for (size_t i = 0; i < n_values; i++) {
                        seed = seed * 1103515245 + 12345;
                        series[i] = (double)(seed >> 24) / (round % 2 ? 64 : 32) - (double)(round % 3); /* with ties */
                        if (round % 4 == 0)
                                series[i] = floor(series[i]);
                }
                assert_int_equal(shift_find_partition(series, n_values, &settings, begins, &n), 0);
                for (size_t i = 0; i <= n; i++) {
                        size_t end = i < n ? begins[i] : n_values;

                        sum += cost_of(series, begin, end) + (i > 0 ? settings.penalty : 0);
                        begin = end;
                }
                assert_near(sum, try_all(series, 0, n_values, settings.penalty), 1e-9);
        }
}

/* --- long series ---------------------------------------------------------------------------------- */

/* Levels that begin where the windows of the search begin and end, and elsewhere. */
static void changes_of_a_long_series_are_those_of_its_windows(void **state) {
        static const size_t steps[] = { 900, 1024, 1540, 2048, 3000, 4100, 7000, 12000, 19994, 20000 };
        scoped(freep) double *series = calloc(20000, sizeof(*series));
        scoped(freep) ChangePoint *points = NULL;
        uint32_t seed = 7;
        size_t n;

        (void)state;
        for (size_t i = 0, level = 0; i < 20000; i++) {
                level += i == steps[level];
                seed = seed * 1103515245 + 12345;
                series[i] = (level % 2 ? 100 : 103) + (double)(seed >> 24) / 256;
        }
        assert_int_equal(shift_find(series, 20000, &SHIFT_DEFAULTS, &points, &n), 0);
        assert_int_equal(n, 9);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(points[i].index, steps[i]);
}

/* --- own series ----------------------------------------------------------------------------------- */

static JudgeSettings settings_of(JudgeMethod method, JudgeDirection direction) {
        return (JudgeSettings){ method, direction, HUNTER_DEFAULTS, SHIFT_DEFAULTS };
}

static void steps_are_found_and_noise_is_not(void **state) {
        json_t *cases = load("tests/data/series", "steps.json"), *one, *at;
        size_t i, k;

        (void)state;
        assert_true(json_array_size(cases) >= 8);
        json_array_foreach(cases, i, one) {
                const json_t *expected = json_object_get(one, "change_points");
                scoped(freep) double *series = numbers_of(json_object_get(one, "values"), 0);
                scoped(freep) ChangePoint *points = NULL;
                size_t n;

                assert_int_equal(shift_find(series, json_array_size(json_object_get(one, "values")), &SHIFT_DEFAULTS,
                                            &points, &n),
                                 0);
                if (n != json_array_size(expected))
                        fail_msg("%s: %zu points", json_string_value(json_object_get(one, "name")), n);
                json_array_foreach(expected, k, at)
                        assert_int_equal(points[k].index, json_integer_value(at));
        }
        json_decref(cases);
}

static JudgeVerdict verdict_of(JudgeMethod method, JudgeDirection direction, const double *series, size_t n) {
        JudgeSettings settings = settings_of(method, direction);
        scoped(judge_deinit) JudgeResult judgement = {};

        assert_int_equal(judge_series(series, n, &settings, &judgement), 0);
        return judgement.verdict;
}

static void a_verdict_has_the_direction(void **state) {
        static const double up[] = { 10, 10.1, 9.9, 10, 10.1, 9.9, 10, 10.05, 12, 12.1, 11.9, 12 };
        static const double last[] = { 10, 10.1, 9.9, 10, 10.1, 9.9, 10, 10.05, 10, 10.1, 9.9, 12 };

        (void)state;
        assert_int_equal(verdict_of(JUDGE_PERFD, JUDGE_LOWER, up, 12), JUDGE_REGRESSION);
        assert_int_equal(verdict_of(JUDGE_PERFD, JUDGE_HIGHER, up, 12), JUDGE_IMPROVEMENT);
        assert_int_equal(verdict_of(JUDGE_PERFD, JUDGE_NEITHER, up, 12), JUDGE_CHANGED);
        assert_int_equal(verdict_of(JUDGE_PERFD, JUDGE_LOWER, last, 12), JUDGE_RUN_AGAIN);
        assert_int_equal(verdict_of(JUDGE_PERFD, JUDGE_LOWER, last, 11), JUDGE_NO_CHANGE);
        assert_int_equal(verdict_of(JUDGE_PERFD, JUDGE_LOWER, last, 4), JUDGE_UNKNOWN);
        for (JudgeMethod method = JUDGE_HUNTER; method < N_JUDGE_METHODS; method++) {
                assert_int_equal(verdict_of(method, JUDGE_LOWER, last, 12), JUDGE_REGRESSION);
                assert_int_equal(verdict_of(method, JUDGE_HIGHER, last, 12), JUDGE_IMPROVEMENT);
                assert_int_equal(verdict_of(method, JUDGE_NEITHER, last, 11), JUDGE_NO_CHANGE);
                assert_int_equal(verdict_of(method, JUDGE_NEITHER, last, 1), JUDGE_UNKNOWN);
                assert_int_equal(verdict_of(method, JUDGE_NEITHER, last, 0), JUDGE_UNKNOWN);
        }
}

/* Constant, zero, negative and quantised values of any length divide by nothing. */
static void strange_series_have_a_verdict(void **state) {
        (void)state;
        for (size_t kind = 0; kind < 6; kind++)
                for (size_t n = 0; n < 130; n += n < 12 ? 1 : 29) {
                        double series[130];

                        for (size_t i = 0; i < n; i++)
                                series[i] = kind == 0   ? 0
                                            : kind == 1 ? -3
                                            : kind == 2 ? (double)(i % 2)
                                            : kind == 3 ? (double)(i + 1 == n)
                                            : kind == 4 ? (i > n / 2 ? 1e300 : 1e-300)
                                                        : (double)i - 60;
                        for (JudgeMethod method = 0; method < N_JUDGE_METHODS; method++) {
                                JudgeVerdict verdict = verdict_of(method, JUDGE_HIGHER, series, n);

                                assert_true(verdict < N_JUDGE_VERDICTS);
                                assert_true(kind > 1 || verdict == JUDGE_NO_CHANGE || n < 5);
                        }
                }
}

/* --- captured cases ------------------------------------------------------------------------------- */

static void assert_hunter_point(const ChangePoint *got, const json_t *expected) {
        double p = number_of(json_object_get(expected, "pvalue"));

        assert_int_equal(got->index, json_integer_value(json_object_get(expected, "index")));
        assert_near(got->mean_before, number_of(json_object_get(expected, "mean_1")), 1e-12);
        assert_near(got->mean_after, number_of(json_object_get(expected, "mean_2")), 1e-12);
        assert_near(got->sd_before, number_of(json_object_get(expected, "std_1")), 1e-12);
        assert_near(got->sd_after, number_of(json_object_get(expected, "std_2")), 1e-12);
        assert_near(got->relative, number_of(json_object_get(expected, "forward_rel_change")), 1e-10);
        if (p < 1e-15)
                assert_true(got->p_value < 1e-12);
        else
                assert_near(got->p_value, p, 1e-6);
}

static void hunters_points_are_those_of_the_original(void **state) {
        json_t *all = load("../shared/fixtures", "hunter/hunter_golden.json"), *one, *point;
        const json_t *series = NULL;
        size_t i, k;

        (void)state;
        if (!all)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        json_array_foreach(json_object_get(all, "cases"), i, one) {
                const HunterSettings settings = {
                        .window = (size_t)json_integer_value(json_object_get(one, "window_len")),
                        .p_value_max = number_of(json_object_get(one, "max_pvalue")),
                        .magnitude_min = number_of(json_object_get(one, "min_magnitude")),
                };
                const json_t *expected = json_object_get(one, "change_points");
                scoped(freep) double *values = NULL;
                scoped(freep) ChangePoint *points = NULL;
                size_t n;

                if (!json_is_null(json_object_get(one, "series"))) /* null: that of the case before */
                        series = json_object_get(one, "series");
                values = numbers_of(series, 0);
                assert_int_equal(hunter_find(values, json_array_size(series), &settings, &points, &n), 0);
                assert_int_equal(n, json_array_size(expected));
                json_array_foreach(expected, k, point)
                        assert_hunter_point(&points[k], point);
        }
        assert_true(i > 50);
        json_decref(all);
}

static void distances_are_those_of_the_original(void **state) {
        json_t *all = load("../shared/fixtures", "hunter/qhat_golden.json"), *one;
        const char *name;

        (void)state;
        if (!all)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        json_object_foreach(all, name, one) {
                const json_t *list = json_object_get(one, "series");
                scoped(freep) double *series = numbers_of(list, 0),
                                     *expected = numbers_of(json_object_get(one, "qhat"), 0);
                scoped(freep) double *distances = calloc(json_array_size(list) + 1, sizeof(*distances));

                hunter_distances(series, json_array_size(list), distances);
                for (size_t i = 0; i < json_array_size(list); i++)
                        assert_true(fabs(distances[i] - expected[i]) <= 1e-9 * fmax(1, fabs(expected[i])));
        }
        json_decref(all);
}

static BaselineBool bool_of(const json_t *value) {
        return json_is_null(value) ? BASELINE_NONE : json_is_true(value) ? BASELINE_TRUE : BASELINE_FALSE;
}

static void statuses_are_those_of_matrix_benchmarking(void **state) {
        static const JudgeDirection directions[] = {
                [BASELINE_NONE] = JUDGE_NEITHER, [BASELINE_TRUE] = JUDGE_LOWER, [BASELINE_FALSE] = JUDGE_HIGHER,
        };
        json_t *all = load("../shared/fixtures", "topsail/regression_status_golden.json"), *one;
        size_t i;

        (void)state;
        if (!all)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        json_array_foreach(all, i, one) {
                const char *method = json_string_value(json_object_get(one, "method"));
                const json_t *history = json_object_get(one, "historical_values");
                JudgeSettings settings = settings_of(JUDGE_PERFD,
                                                     directions[bool_of(json_object_get(one, "lower_better"))]);
                size_t n = json_array_size(history) + 1;
                scoped(freep) double *series = numbers_of(history, 1);
                scoped(judge_deinit) JudgeResult judgement = {};
                BaselineStatus status;

                while (strcmp(judge_method_names[settings.method], method) != 0)
                        settings.method++;
                series[n - 1] = number_of(json_object_get(one, "current"));
                assert_int_equal(judge_series(series, n, &settings, &judgement), 0);
                status = judge_compat_status(series, n, &settings, &judgement);
                assert_int_equal(status.is_accepted, bool_of(json_object_get(one, "accepted")));
                assert_int_equal(status.is_improved, bool_of(json_object_get(one, "improved")));
                assert_near(status.rating, number_of(json_object_get(one, "rating")), 1e-12);
                assert_string_equal(status.description, json_string_value(json_object_get(one, "description")));
        }
        assert_int_equal(i, 162);
        json_decref(all);
}

static bool has_places(const ChangePoint *points, size_t n, const json_t *places) {
        if (n != json_array_size(places))
                return false;
        for (size_t i = 0; i < n; i++)
                if (points[i].index != (size_t)json_integer_value(json_array_get(places, i)))
                        return false;
        return true;
}

static bool has_points(const json_t *series, const ShiftSettings *settings, const json_t *expected) {
        scoped(freep) double *values = numbers_of(series, 0);
        scoped(freep) ChangePoint *points = NULL;
        size_t n;

        assert_int_equal(shift_find(values, json_array_size(series), settings, &points, &n), 0);
        return has_places(points, n, expected);
}

static void perfds_method_agrees_with_its_reference(void **state) {
        json_t *all = load("../shared/regression/data/dev", "pseg_golden.json"), *one;
        size_t i, n_same = 0;

        (void)state;
        if (!all)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        json_array_foreach(json_object_get(all, "cases"), i, one) {
                n_same += has_points(json_object_get(one, "x"), &SHIFT_DEFAULTS, json_object_get(one, "change_points"));
                n_same += has_points(json_object_get(one, "x"), &SHIFT_SENSITIVE, json_object_get(one, "sensitive"));
        }
        assert_true(i > 200 && (double)n_same >= 0.995 * 2 * (double)i);
        json_decref(all);
}

/* --- verdicts ------------------------------------------------------------------------------------- */

static size_t index_of(const json_t *value, size_t none) {
        return json_is_null(value) ? none : (size_t)json_integer_value(value);
}

static JudgeDirection direction_of(const json_t *one) {
        JudgeDirection direction = JUDGE_NEITHER;

        while (strcmp(judge_direction_names[direction], json_string_value(json_object_get(one, "direction"))) != 0)
                direction++;
        return direction;
}

/* The words of the reference, which is not perfd's output. */
static JudgeVerdict verdict_named(const char *name) {
        static const char *const names[] = {
                [JUDGE_NO_CHANGE] = "inline", [JUDGE_REGRESSION] = "regression", [JUDGE_IMPROVEMENT] = "improvement",
                [JUDGE_RETURNED] = "returned", [JUDGE_CHANGED] = "changed", [JUDGE_RUN_AGAIN] = "rerun",
                [JUDGE_UNKNOWN] = "unknown",
        };
        JudgeVerdict verdict = 0;

        while (strcmp(names[verdict], name) != 0)
                verdict++;
        return verdict;
}

static bool has_verdict(const json_t *one, size_t number) {
        const json_t *x = json_object_get(one, "x");
        size_t n = json_array_size(x);
        JudgeSettings settings = settings_of(JUDGE_PERFD, direction_of(one));
        scoped(freep) double *series = numbers_of(x, 0);
        scoped(judge_deinit) JudgeResult got = {};

        assert_int_equal(judge_series(series, n, &settings, &got), 0);
        if (got.verdict == verdict_named(json_string_value(json_object_get(one, "verdict"))) &&
            got.since == index_of(json_object_get(one, "change"), n) &&
            got.back_to == index_of(json_object_get(one, "back_to"), n) &&
            got.n_needed == index_of(json_object_get(one, "needed"), 0) &&
            got.smallest.n_after == index_of(json_object_get(one, "smallest_runs"), 0) &&
            has_places(got.points, got.n_points, json_object_get(one, "change_points")) &&
            is_near(got.smallest.change, number_of(json_object_get(one, "smallest")), 1e-3))
                return true;
        print_message("case %zu (%s): %s since %zu, back to %zu, needs %zu, %zu change points\n", number,
                      json_string_value(json_object_get(one, "group")), judge_verdict_names[got.verdict], got.since,
                      got.back_to, got.n_needed, got.n_points);
        return false;
}

static void assert_verdicts(json_t *all, size_t n_least, double share) {
        size_t i, n_same = 0;
        json_t *one;

        json_array_foreach(json_object_get(all, "cases"), i, one)
                n_same += has_verdict(one, i);
        json_decref(all);
        assert_true(i >= n_least && (double)n_same >= share * (double)i);
}

static void verdicts_about_typical_series_are_those_of_the_rules(void **state) {
        (void)state;
        assert_verdicts(load("tests/data/series", "verdicts.json"), 30, 1);
}

static void verdicts_agree_with_the_reference(void **state) {
        json_t *all = load("../shared/regression/data/dev", "verdict_golden.json");

        (void)state;
        if (!all)
                skip(); /* captured files are not there (PERFD_FIXTURES) */
        assert_verdicts(all, 300, 0.99);
}

/* What is not allowed to begin a level is no suspect either, except the newest value alone. */
static void suspects_begin_where_a_level_may_begin(void **state) {
        static const double series[] = { 10, 10.1, 9.9, 10, 10.1, 9.9, 10, 10.05, 15.1, 15 };
        bool allowed[10] = {};
        JudgeSettings settings = settings_of(JUDGE_PERFD, JUDGE_LOWER);
        scoped(judge_deinit) JudgeResult judgement = {};

        (void)state;
        settings.shift.allowed = allowed;
        assert_int_equal(judge_series(series, 10, &settings, &judgement), 0);
        assert_int_equal(judgement.verdict, JUDGE_NO_CHANGE);
        judge_deinit(&judgement);
        allowed[8] = true;
        assert_int_equal(judge_series(series, 10, &settings, &judgement), 0);
        assert_int_equal(judgement.verdict, JUDGE_RUN_AGAIN);
        assert_int_equal(judgement.since, 8);
        assert_int_equal(judgement.n_needed, 1);
        judge_deinit(&judgement);
        allowed[8] = false;
        assert_int_equal(judge_series(series, 9, &settings, &judgement), 0);
        assert_int_equal(judgement.verdict, JUDGE_RUN_AGAIN);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(probabilities_are_those_of_the_tables),
                cmocka_unit_test(a_partition_has_the_lowest_cost_of_all),
                cmocka_unit_test(changes_of_a_long_series_are_those_of_its_windows),
                cmocka_unit_test(steps_are_found_and_noise_is_not),
                cmocka_unit_test(a_verdict_has_the_direction),
                cmocka_unit_test(strange_series_have_a_verdict),
                cmocka_unit_test(hunters_points_are_those_of_the_original),
                cmocka_unit_test(distances_are_those_of_the_original),
                cmocka_unit_test(statuses_are_those_of_matrix_benchmarking),
                cmocka_unit_test(perfds_method_agrees_with_its_reference),
                cmocka_unit_test(verdicts_about_typical_series_are_those_of_the_rules),
                cmocka_unit_test(verdicts_agree_with_the_reference),
                cmocka_unit_test(suspects_begin_where_a_level_may_begin),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
