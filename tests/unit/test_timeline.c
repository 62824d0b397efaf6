/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/recording.h"
#include "observation_fixture.h"
#include "series/timeline.h"
#include "util/parse.h"

static Timeline recorded(Recording *recording) {
        Timeline timeline;

        assert_int_equal(recording_timeline(recording, &timeline), 0);
        recording_deinit(recording);
        return timeline;
}

/* --- text ----------------------------------------------------------------------------------- */

static Timeline through_text(const Timeline *t, size_t *ret_n) {
        Timeline again;
        char *text = NULL;

        assert_int_equal(timeline_format(t, &text), 0);
        assert_int_equal(timeline_parse(text, &again), 0);
        *ret_n = strlen(text);
        free(text);
        return again;
}

static void an_empty_timeline_goes_through_text(void **state) {
        Recording r;
        Timeline t, again;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        t = recorded(&r);
        again = through_text(&t, &n);
        assert_int_equal(again.n, 0);
        assert_int_equal(again.begin_boottime_ns, BEGIN);
        assert_int_equal(again.begin_realtime_ns, REALTIME);
        assert_int_equal(again.interval_ns, SECOND);
        timeline_deinit(&again);
        timeline_deinit(&t);
}

static void one_point_is_small_and_keeps_six_digits(void **state) {
        Recording r;
        Timeline t, again;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, 10 * SECOND, 2);
        add(&r, 0, 10000, 0.592875);
        t = recorded(&r);
        again = through_text(&t, &n);
        assert_true(n <= 230);
        assert_int_equal(again.n, 1);
        assert_near(again.points[0].series[SERIES_CPU].mean, 0.592875, 1e-6);
        assert_near(again.points[0].series[SERIES_MEMORY].min, 0.25, 1e-6);
        assert_near(again.points[0].series[SERIES_DISK_READ].max, 592875000, 1e-6);
        assert_true(again.points[0].series[SERIES_DISK_WRITE].mean == 0);
        assert_int_equal(again.points[0].observed_ns, 10 * SECOND);
        timeline_deinit(&again);
        timeline_deinit(&t);
}

static void holes_unknown_series_and_part_points_go_through_text(void **state) {
        Recording r;
        Timeline t, again;
        Observation o = span(5000, 6000, 0.75);
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        add(&r, 0, 1000, 0.5);
        add(&r, 3000, 3001, 0.25); /* an observed thousandth of a point is not a gap */
        add(&r, 4000, 4500, 0.25);
        o.has_memory = false;
        assert_int_equal(recording_add(&r, &o), 0);
        t = recorded(&r);
        again = through_text(&t, &n);

        assert_int_equal(again.n, 6);
        assert_int_equal(again.points[1].observed_ns, 0);
        assert_true(isnan(again.points[2].series[SERIES_CPU].mean));
        assert_true(again.points[3].observed_ns > 0);
        assert_near((double)again.points[4].observed_ns, 0.5 * SECOND, 0.02);
        assert_near(again.points[5].series[SERIES_CPU].mean, 0.75, 1e-5);
        assert_near(again.points[4].series[SERIES_CPU].mean, 0.25, 1e-5);
        assert_true(isnan(again.points[5].series[SERIES_MEMORY].mean));
        assert_near(again.points[4].series[SERIES_MEMORY].mean, 0.25, 1e-5);
        timeline_deinit(&again);
        timeline_deinit(&t);
}

/* Returns pseudo-random numbers, 0…1. */
static double draw(uint32_t *seed) {
        *seed = *seed * 1664525U + 1013904223U;
        return (*seed >> 8) / 16777216.0;
}

/*
 * Simulates training: steps with a dip every minute, slowly growing memory, data read at the start, checkpoints,
 * constant traffic.
 */
static void fill_training(Recording *recording, unsigned n, uint32_t seed) {
        for (unsigned i = 0; i < n; i++) {
                Observation o = span(i * 1000ULL, i * 1000ULL + 1000, 0);

                o.cpu_mean = i % 60 < 4 ? 0.1 + 0.1 * draw(&seed) : 0.8 + 0.05 * draw(&seed);
                o.memory = 0.3 + 0.1 * i / n + 0.002 * draw(&seed);
                o.disk_read_rate = i * 20 < n ? 5e8 * draw(&seed) : 0;
                o.disk_written_rate = i % 300 == 0 ? 2e9 : 4096 * floor(4 * draw(&seed));
                o.network_sent_rate = 1e5 * (1 + 0.2 * draw(&seed));
                o.network_received_rate = 1e7 * (1 + 0.5 * draw(&seed));
                assert_int_equal(recording_add(recording, &o), 0);
        }
}

/* Compares shares with an absolute, rates with a relative tolerance (below 1 byte/s an absolute one). */
static bool is_like(Series series, float got, float wanted, double tolerance) {
        bool is_ratio = strcmp(timeline_series_unit(series), "ratio") == 0;

        return fabs(got - (double)wanted) <= tolerance * (is_ratio ? 1 : (double)wanted + 1);
}

/* A min may be inaccurate by 4 % of its distance, which is logarithmic for rates. */
static bool is_min_like(Series series, const TimelineValue *got, const TimelineValue *wanted, double tolerance) {
        bool is_ratio = strcmp(timeline_series_unit(series), "ratio") == 0;
        double a = is_ratio ? (double)got->min : log1p(got->min), b = is_ratio ? (double)wanted->min : log1p(wanted->min);
        double mean = is_ratio ? (double)wanted->mean : log1p(wanted->mean);

        return fabs(a - b) <= tolerance + 0.045 * (mean - b);
}

static void assert_like(const Timeline *got, const Timeline *wanted, double tolerance) {
        assert_int_equal(got->n, wanted->n);
        for (size_t i = 0; i < wanted->n; i++)
                for (Series s = 0; s < N_SERIES; s++) {
                        const TimelineValue *a = &got->points[i].series[s], *b = &wanted->points[i].series[s];

                        assert_true(is_like(s, a->mean, b->mean, tolerance));
                        assert_true(is_like(s, a->max, b->max, tolerance));
                        assert_true(is_min_like(s, a, b, tolerance));
                        assert_true(a->min <= a->mean && a->mean <= a->max);
                }
}

static void a_typical_job_takes_two_and_a_half_kib(void **state) {
        Recording r;
        Timeline t, again;
        size_t n;

        (void)state;
        for (unsigned length = 100; length <= 100000; length *= 10) {
                recording_init(&r, BEGIN, REALTIME, SECOND, 120);
                fill_training(&r, length, length);
                t = recorded(&r);
                again = through_text(&t, &n);
                assert_true(n <= 2560);
                assert_like(&again, &t, 0.04);
                assert_true(again.interval_ns == t.interval_ns);
                timeline_deinit(&again);
                timeline_deinit(&t);
        }
}

static void pure_noise_is_stored_in_coarser_steps_and_fits(void **state) {
        Recording r;
        Timeline t, again;
        uint32_t seed = 1;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 120);
        for (unsigned i = 0; i < 120 * 4; i++) {
                Observation o = span(i * 1000ULL, i * 1000ULL + 1000, draw(&seed));

                o.memory = draw(&seed);
                o.disk_read_rate = exp(25 * draw(&seed));
                o.disk_written_rate = exp(25 * draw(&seed));
                o.network_sent_rate = exp(25 * draw(&seed));
                o.network_received_rate = exp(25 * draw(&seed));
                assert_int_equal(recording_add(&r, &o), 0);
        }
        t = recorded(&r);
        again = through_text(&t, &n);
        assert_true(n <= 3584);
        assert_like(&again, &t, 0.3);
        timeline_deinit(&again);
        timeline_deinit(&t);
}

static void a_thousand_points_go_through_text(void **state) {
        Recording r;
        Timeline t, again;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 1000);
        fill_training(&r, 10000, 3);
        t = recorded(&r);
        again = through_text(&t, &n);
        assert_true(n <= 22000);
        assert_like(&again, &t, 0.04);
        timeline_deinit(&again);
        timeline_deinit(&t);
}

static void text_read_back_and_written_again_is_the_same_plot(void **state) {
        Recording r;
        Timeline t, once, twice;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 120);
        fill_training(&r, 1000, 9);
        t = recorded(&r);
        once = through_text(&t, &n);
        twice = through_text(&once, &n);
        assert_like(&twice, &once, 0.01);
        timeline_deinit(&twice);
        timeline_deinit(&once);
        timeline_deinit(&t);
}

static void an_invalid_timeline_is_refused(void **state) {
        static const char *const texts[] = {
                "",
                "[]",
                "{\"series\":{}", /* truncated */
                "{\"n\":1,\"series\":{}}", /* interval missing */
                "{\"n\":10001,\"step_ns\":1000,\"series\":{}}",
                "{\"n\":99999999999999,\"step_ns\":1000,\"series\":{}}",
                "{\"n\":-1,\"step_ns\":1000,\"series\":{}}",
                "{\"n\":2,\"step_ns\":18446744073709551615,\"series\":{}}",
                "{\"n\":2,\"step_ns\":1000,\"boot_ns\":18446744073709551615,\"series\":{}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":[]}",
                "{\"n\":2,\"step_ns\":1000,\"observed\":\"!\",\"series\":{}}", /* too few points */
                "{\"n\":2,\"step_ns\":1000,\"observed\":\"!!!\",\"series\":{}}", /* too many points */
                "{\"n\":2,\"step_ns\":1000,\"observed\":\"!~\",\"series\":{}}",
                "{\"n\":2,\"step_ns\":1000,\"observed\":\"\",\"series\":{}}",
                "{\"n\":2,\"step_ns\":1000,\"observed\":1,\"series\":{}}",
                /* too few points */
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1,\"mean\":\"!\"}}}",
                /* too many points */
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1,\"mean\":\"!!!\"}}}",
                /* below the lowest value */
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1,\"mean\":\"##\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1,\"range\":\"!#!!!!!\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1,\"range\":\"!!\"}}}",
                /* a run of 90 points */
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1,\"mean\":\"~|\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1,\"mean\":\"!~\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1,\"mean\":\"\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1,\"mean\":\"\xff\xff\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":1,\"hi\":1,\"mean\":\"!!\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":4001,\"hi\":1,\"mean\":\"!!\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"hi\":1,\"mean\":\"!!\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"lo\":2,\"hi\":1,\"mean\":\"!!\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"lo\":-1,\"hi\":1,\"mean\":\"!!\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":1e99,\"mean\":\"!!\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"levels\":60,\"hi\":nan,\"mean\":\"!!\"}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"lo\":-1}}}",
                "{\"n\":2,\"step_ns\":1000,\"series\":{\"c\":{\"lo\":1e31}}}",
        };
        Timeline t = { .n = 42 };

        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_int_equal(timeline_parse(texts[i], &t), PARSE_MALFORMED);
        assert_int_equal(t.n, 42);
}

static void a_timeline_of_a_later_version_is_read(void **state) {
        Timeline t;

        (void)state;
        assert_int_equal(timeline_parse("{\"n\":2,\"step_ns\":1000,\"zone\":\"UTC\",\"series\":{"
                                        "\"gpu\":{\"levels\":5,\"mean\":\"???\"},"
                                        "\"c\":{\"levels\":3,\"hi\":1,\"shape\":\"round\",\"mean\":\"&%\"}}}", &t), 0);
        assert_int_equal(t.n, 2);
        assert_true(t.points[0].series[SERIES_CPU].mean == 1); /* step 2 of 0…2 */
        assert_true(t.points[1].series[SERIES_CPU].mean == 0); /* 2 steps down */
        assert_true(isnan(t.points[0].series[SERIES_MEMORY].mean));
        timeline_deinit(&t);
}

static void a_text_cut_or_changed_anywhere_does_no_harm(void **state) {
        Recording r;
        Timeline t, again;
        char *text = NULL, *copy;
        uint32_t seed = 5;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 16);
        fill_training(&r, 50, 1);
        add(&r, 60000, 60500, 0.5);
        t = recorded(&r);
        assert_int_equal(timeline_format(&t, &text), 0);
        n = strlen(text);
        copy = malloc(n + 1);
        assert_non_null(copy);

        for (size_t cut = 0; cut < n; cut++) {
                memcpy(copy, text, cut);
                copy[cut] = '\0';
                assert_int_equal(timeline_parse(copy, &again), PARSE_MALFORMED);
        }

        for (unsigned i = 0; i < 5000; i++) {
                memcpy(copy, text, n + 1);
                copy[(size_t)(draw(&seed) * (double)n)] = (char)(1 + draw(&seed) * 254);
                if (timeline_parse(copy, &again) != 0)
                        continue;
                for (size_t k = 0; k < again.n; k++)
                        for (Series s = 0; s < N_SERIES; s++) {
                                const TimelineValue *v = &again.points[k].series[s];

                                assert_true(isnan(v->mean) || (v->min <= v->mean && v->mean <= v->max));
                        }
                timeline_deinit(&again);
        }
        free(copy);
        free(text);
        timeline_deinit(&t);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void json_has_every_series_and_null_for_holes(void **state) {
        Recording r;
        Timeline t;
        Buffer text = {};
        json_t *root, *series;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        add(&r, 0, 500, 0.25);
        add(&r, 500, 1000, 0.75);
        add(&r, 2000, 3000, 1);
        t = recorded(&r);
        timeline_json(&t, &text);
        assert_int_equal(buffer_error(&text), 0);

        root = json_loads(text.text, 0, NULL);
        assert_non_null(root);
        assert_int_equal(json_integer_value(json_object_get(root, "begin_ms")), 1700000000123);
        assert_int_equal(json_integer_value(json_object_get(root, "interval_ms")), 1000);
        series = json_object_get(root, "series");
        assert_int_equal(json_object_size(series), N_SERIES);
        for (Series s = 0; s < N_SERIES; s++) {
                json_t *one = json_object_get(series, timeline_series_name(s));

                assert_string_equal(json_string_value(json_object_get(one, "unit")), timeline_series_unit(s));
                assert_int_equal(json_array_size(json_object_get(one, "mean")), 3);
                assert_int_equal(json_array_size(json_object_get(one, "min")), 3);
                assert_true(json_is_null(json_array_get(json_object_get(one, "max"), 1)));
        }
        series = json_object_get(series, "cpu");
        assert_true(json_number_value(json_array_get(json_object_get(series, "mean"), 0)) == 0.5);
        assert_true(json_number_value(json_array_get(json_object_get(series, "min"), 0)) == 0.25);
        assert_true(json_number_value(json_array_get(json_object_get(series, "max"), 0)) == 0.75);
        json_decref(root);
        buffer_deinit(&text);
        timeline_deinit(&t);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_empty_timeline_goes_through_text),
                cmocka_unit_test(one_point_is_small_and_keeps_six_digits),
                cmocka_unit_test(holes_unknown_series_and_part_points_go_through_text),
                cmocka_unit_test(a_typical_job_takes_two_and_a_half_kib),
                cmocka_unit_test(pure_noise_is_stored_in_coarser_steps_and_fits),
                cmocka_unit_test(a_thousand_points_go_through_text),
                cmocka_unit_test(text_read_back_and_written_again_is_the_same_plot),
                cmocka_unit_test(an_invalid_timeline_is_refused),
                cmocka_unit_test(a_timeline_of_a_later_version_is_read),
                cmocka_unit_test(a_text_cut_or_changed_anywhere_does_no_harm),
                cmocka_unit_test(json_has_every_series_and_null_for_holes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
