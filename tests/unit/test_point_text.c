/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "series/timeline.h"
#include "util/clock.h"
#include "util/parse.h"

#define INTERVAL_NS (20 * NS_PER_S)

static Timeline one_point(TimelinePoint *point) {
        return (Timeline){ .interval_ns = INTERVAL_NS, .n = 1, .n_allocated = 1, .points = point };
}

static Timeline through_text(const Timeline *timeline, size_t *ret_n) {
        Timeline again;
        char *text;

        assert_int_equal(timeline_format(timeline, &text), 0);
        assert_int_equal(timeline_parse(text, &again), 0);
        *ret_n = strlen(text);
        free(text);
        return again;
}

static void assert_near(float is, double wanted) {
        assert_true(fabs(is - wanted) <= 1e-6 * wanted);
}

static void values_of_any_size_keep_six_digits_in_two_hundred_bytes(void **state) {
        TimelinePoint point = {
                .observed_ns = 10 * NS_PER_S,
                .series = {
                        [SERIES_CPU] = { 0.0123456F, 1e-6F, 0.999999F },
                        [SERIES_MEMORY] = { 0.5F, 0.25F, 1 },
                        [SERIES_DISK_READ] = { 1, 0, 123456792 },
                        [SERIES_DISK_WRITE] = { 3e12F, 2e12F, 4e12F },
                        [SERIES_NET_SENT] = { 1234567, 1234566, 1234568 },
                        [SERIES_NET_RECEIVED] = { 17, 16, 18 },
                },
        };
        Timeline timeline = one_point(&point), again;
        size_t n;

        (void)state;
        again = through_text(&timeline, &n);
        assert_true(n <= 200);
        assert_int_equal(again.n, 1);
        assert_int_equal(again.interval_ns, INTERVAL_NS);
        assert_int_equal(again.points[0].observed_ns, 10 * NS_PER_S);
        for (Series series = 0; series < N_SERIES; series++) {
                const TimelineValue *is = &again.points[0].series[series], *wanted = &point.series[series];

                assert_near(is->mean, wanted->mean);
                assert_near(is->min, wanted->min);
                assert_near(is->max, wanted->max);
        }
        timeline_deinit(&again);
}

static void zero_stays_zero_and_unknown_stays_unknown(void **state) {
        TimelinePoint point = { .observed_ns = INTERVAL_NS };
        Timeline timeline = one_point(&point), again;
        size_t n;

        (void)state;
        point.series[SERIES_MEMORY] = (TimelineValue){ NAN, NAN, NAN };
        again = through_text(&timeline, &n);
        assert_true(again.points[0].series[SERIES_CPU].max == 0);
        assert_true(isnan(again.points[0].series[SERIES_MEMORY].mean));
        assert_true(again.points[0].series[SERIES_NET_SENT].mean == 0);
        timeline_deinit(&again);
}

static void a_point_nobody_observed_stays_a_hole(void **state) {
        TimelinePoint point = {};
        Timeline timeline = one_point(&point), again;
        size_t n;

        (void)state;
        again = through_text(&timeline, &n);
        assert_int_equal(again.points[0].observed_ns, 0);
        assert_true(isnan(again.points[0].series[SERIES_CPU].mean));
        timeline_deinit(&again);
}

static void what_comes_back_is_told_the_same_again(void **state) {
        TimelinePoint point = { .observed_ns = 7, .series[SERIES_CPU] = { 0.3F, 0.1F, 0.7F } };
        Timeline timeline = one_point(&point), again;
        char *once, *twice;
        size_t n;

        (void)state;
        again = through_text(&timeline, &n);
        assert_int_equal(timeline_format(&timeline, &once), 0);
        assert_int_equal(timeline_format(&again, &twice), 0);
        assert_string_equal(once, twice);
        free(once);
        free(twice);
        timeline_deinit(&again);
}

static void a_member_of_a_later_version_is_skipped(void **state) {
        Timeline timeline;

        (void)state;
        assert_int_equal(timeline_parse("{\"step_ns\":1000,\"gpu\":[1],\"c\":\"!!!!\"}", &timeline), 0);
        assert_true(timeline.points[0].series[SERIES_CPU].mean == 0);
        timeline_deinit(&timeline);
}

static void broken_texts_are_refused(void **state) {
        static const char *const texts[] = {
                "{}",
                "{\"step_ns\":1000,\"c\":\"!!!!\"", /* truncated */
                "{\"step_ns\":1000,\"c\":\"!!!\"}", /* only three characters */
                "{\"step_ns\":1000,\"c\":\"!!!!!!!!\"}", /* max missing */
                "{\"step_ns\":1000,\"c\":\"!!!!!!!!!!!!!\"}",
                "{\"step_ns\":1000,\"c\":\"!!!!!!!~!!!!\"}", /* invalid digit */
                "{\"step_ns\":1000,\"c\":\"!!!!####$$$$\"}", /* min above the mean */
                "{\"step_ns\":1000,\"c\":4}",
                "{\"step_ns\":1000,\"unobserved_ns\":1000,\"c\":\"!!!!\"}", /* without observed time */
                "{\"c\":\"!!!!\"}",
                "{\"step_ns\":1000,\"unobserved_ns\":1001,\"c\":\"!!!!\"}",
                "{\"step_ns\":18446744073709551615,\"c\":\"!!!!\"}",
                "{\"step_ns\":1000,\"unobserved_ns\":1e3,\"c\":\"!!!!\"}",
                "{\"step_ns\":1000,\"real_ns\":18446744073709551615}",
        };
        Timeline timeline = { .n = 42 };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                assert_int_equal(timeline_parse(texts[i], &timeline), PARSE_MALFORMED);
        assert_int_equal(timeline.n, 42);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(values_of_any_size_keep_six_digits_in_two_hundred_bytes),
                cmocka_unit_test(zero_stays_zero_and_unknown_stays_unknown),
                cmocka_unit_test(a_point_nobody_observed_stays_a_hole),
                cmocka_unit_test(what_comes_back_is_told_the_same_again),
                cmocka_unit_test(a_member_of_a_later_version_is_skipped),
                cmocka_unit_test(broken_texts_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
