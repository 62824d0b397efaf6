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
#include "measure/timeline.h"
#include "util/parse.h"

static Timeline recorded(Recording *recording) {
        Timeline timeline;

        assert_int_equal(recording_timeline(recording, &timeline), 0);
        recording_deinit(recording);
        return timeline;
}

/* --- bytes ---------------------------------------------------------------------------------- */

static Buffer bytes_of(const Timeline *t) {
        Buffer bytes = {};

        assert_int_equal(timeline_write(t, &bytes), 0);
        return bytes;
}

/* Reads from a copy of the size, so that AddressSanitizer notices a read behind its end. */
static int read_copy(const void *bytes, size_t n, Timeline *ret) {
        scoped(freep) uint8_t *copy = malloc(n + 1);
        ColumnReader reader;

        assert_non_null(copy);
        if (n > 0)
                memcpy(copy + 1, bytes, n);
        column_reader_init(&reader, copy + 1, n);
        return timeline_read(&reader, ret);
}

static Timeline through_bytes(const Timeline *t, size_t *ret_n) {
        scoped(buffer_deinit) Buffer bytes = bytes_of(t);
        Timeline again;

        assert_int_equal(read_copy(bytes.text, bytes.n, &again), 0);
        *ret_n = bytes.n;
        return again;
}

static void an_empty_timeline_is_restored(void **state) {
        Recording r;
        Timeline t, again;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        t = recorded(&r);
        again = through_bytes(&t, &n);
        assert_int_equal(again.n, 0);
        assert_int_equal(again.begin_boottime_ns, BEGIN);
        assert_int_equal(again.begin_realtime_ns, REALTIME);
        assert_int_equal(again.interval_ns, SECOND);
        timeline_deinit(&again);
        timeline_deinit(&t);
}

static void one_point_takes_less_than_a_hundred_bytes(void **state) {
        Recording r;
        Timeline t, again;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, 10 * SECOND, 2);
        add(&r, 0, 10000, 0.592875);
        t = recorded(&r);
        again = through_bytes(&t, &n);
        assert_true(n <= 100);
        assert_int_equal(again.n, 1);
        assert_near(again.points[0].series[SERIES_CPU].mean, 0.592875, 1e-5);
        assert_near(again.points[0].series[SERIES_MEMORY].min, 0.25, 1e-5);
        assert_near(again.points[0].series[SERIES_DISK_READ].max, 592875000, 0.5 / 1024);
        assert_true(again.points[0].series[SERIES_DISK_WRITE].mean == 0);
        assert_int_equal(again.points[0].observed_ns, 10 * SECOND);
        timeline_deinit(&again);
        timeline_deinit(&t);
}

static void holes_unknown_series_and_part_points_are_restored(void **state) {
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
        again = through_bytes(&t, &n);

        assert_int_equal(again.n, 6);
        assert_int_equal(again.points[1].observed_ns, 0);
        assert_true(isnan(again.points[2].series[SERIES_CPU].mean));
        assert_true(again.points[3].observed_ns > 0);
        assert_int_equal(again.points[4].observed_ns, SECOND / 2);
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

static void assert_like(const Timeline *got, const Timeline *wanted, double tolerance) {
        assert_int_equal(got->n, wanted->n);
        for (size_t i = 0; i < wanted->n; i++)
                for (Series s = 0; s < N_JOB_SERIES; s++) {
                        const TimelineValue *a = &got->points[i].series[s], *b = &wanted->points[i].series[s];

                        assert_true(is_like(s, a->mean, b->mean, tolerance));
                        assert_true(is_like(s, a->max, b->max, tolerance));
                        assert_true(is_like(s, a->min, b->min, tolerance));
                        assert_true(a->min <= a->mean && a->mean <= a->max);
                }
}

static void a_noisy_job_takes_two_and_a_half_kib(void **state) {
        Recording r;
        Timeline t, again;
        size_t n;

        (void)state;
        for (unsigned length = 100; length <= 100000; length *= 10) {
                recording_init(&r, BEGIN, REALTIME, SECOND, 120);
                fill_training(&r, length, length);
                t = recorded(&r);
                again = through_bytes(&t, &n);
                assert_true(n <= 2560);
                assert_like(&again, &t, 0.005);
                assert_int_equal(again.begin_boottime_ns, t.begin_boottime_ns);
                assert_int_equal(again.begin_realtime_ns, t.begin_realtime_ns);
                assert_int_equal(again.interval_ns, t.interval_ns);
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
        again = through_bytes(&t, &n);
        assert_true(n <= 3000);
        assert_like(&again, &t, 0.3);
        timeline_deinit(&again);
        timeline_deinit(&t);
}

static void a_thousand_points_are_restored(void **state) {
        Recording r;
        Timeline t, again;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 1000);
        fill_training(&r, 10000, 3);
        t = recorded(&r);
        again = through_bytes(&t, &n);
        assert_true(n <= 22000);
        assert_like(&again, &t, 0.04);
        timeline_deinit(&again);
        timeline_deinit(&t);
}

/* The extremes over cores keep their extreme when points merge, and pressure its mean. */
static void the_nodes_series_keep_one_number(void **state) {
        Observation o = span(0, 1000, 0.5), later = span(1000, 4000, 0.5);
        scoped(buffer_deinit) Buffer json = {};
        Timeline t, again;
        Recording r;
        size_t n;

        (void)state;
        o.cpu_min = 0.25, o.cpu_max = 0.75, o.pressure_cpu_rate = 0.4, o.pressure_io_rate = NAN;
        later.cpu_min = 0.125, later.cpu_max = 0.625, later.pressure_cpu_rate = 0.2, later.pressure_io_rate = NAN;
        recording_init(&r, BEGIN, REALTIME, 4 * SECOND, 2);
        r.kind = TIMELINE_OF_NODE;
        assert_int_equal(recording_add(&r, &o), 0);
        assert_int_equal(recording_add(&r, &later), 0);
        t = recorded(&r);
        again = through_bytes(&t, &n);
        assert_true(n <= 110 && again.kind == TIMELINE_OF_NODE);
        assert_near(again.points[0].series[SERIES_CORE_MIN].min, 0.125, 1e-5);
        assert_near(again.points[0].series[SERIES_CORE_MAX].max, 0.75, 1e-5);
        assert_near(again.points[0].series[SERIES_PRESSURE_CPU].mean, 0.25, 1e-4);
        assert_true(isnan(again.points[0].series[SERIES_PRESSURE_IO].mean));

        timeline_json(&again, &json);
        assert_non_null(strstr(json.text, "\"core_min\":{\"unit\":\"ratio\",\"min\":[0.125]}"));
        assert_non_null(strstr(json.text, "\"pressure_io\":{\"unit\":\"ratio\",\"mean\":[null]}"));
        timeline_deinit(&again);
        timeline_deinit(&t);
}

static void a_timeline_written_again_has_the_same_bytes(void **state) {
        Recording r;
        Timeline t, once;
        size_t n;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 120);
        fill_training(&r, 100, 9);
        t = recorded(&r);
        once = through_bytes(&t, &n);

        scoped(buffer_deinit) Buffer first = bytes_of(&t), second = bytes_of(&once);

        assert_int_equal(first.n, second.n);
        assert_memory_equal(first.text, second.text, first.n);
        timeline_deinit(&once);
        timeline_deinit(&t);
}

/* Writes the head and the numbers of each column of a timeline; the same numbers in each column of a series. */
static int read_made(const int64_t head[static 6], const int64_t *observed, const int64_t *numbers, size_t n,
                     Timeline *ret) {
        scoped(buffer_deinit) Buffer bytes = {};
        ColumnWriter writer = { .out = &bytes };

        for (size_t i = 0; i < 6; i++)
                column_writer_put(&writer, head[i]);
        for (size_t column = 0; column < TIMELINE_COLUMNS(head[3]); column++) {
                column_writer_begin(&writer);
                for (size_t i = 0; i < n; i++)
                        column_writer_put(&writer, column == 0 ? observed[i] : numbers[i]);
        }
        return read_copy(bytes.text, bytes.n, ret);
}

static void an_invalid_timeline_is_refused(void **state) {
        static const int64_t heads[][6] = {
                { -1, 0, 1000, 0, 2, 0 }, { 0, -1, 1000, 0, 2, 0 },     { 0, 0, 0, 0, 2, 0 },
                { 0, 0, -1000, 0, 2, 0 }, { 0, 0, INT64_MAX, 0, 2, 0 }, { 0, 0, 1000, 0, -1, 0 },
                { 0, 0, 1000, 0, 3, 0 },  { 0, 0, 1000, 0, 10001, 0 },  { 0, 0, 1000, 0, INT64_MAX, 0 },
                { 0, 0, 1000, 0, 2, -1 }, { 0, 0, 1000, 0, 2, 11 },     { 0, 0, 1000, 0, 2, INT64_MIN },
                { 0, 0, 1000, -1, 2, 0 }, { 0, 0, 1000, 3, 2, 0 },
        };
        static const int64_t head[6] = { 0, 0, 1000, 0, 2, 0 }, dropping[6] = { 0, 0, 1000, 0, 2, 10 },
                             of_node[6] = { 0, 0, 1000, 1, 2, 0 }, observed[2] = { 64000, 1 };
        static const int64_t numbers[][2] = { { -2, 0 }, { 0, UINT16_MAX }, { INT64_MIN, 0 }, { 0, INT64_MAX } };
        static const int64_t shares[][2] = { { -1, 1 },
                                             { 1, 64001 },
                                             { 1, INT64_MAX },
                                             { 0, 1 } /* a gap has no values */ };
        Timeline t = { .n = 42 };

        (void)state;
        for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
                assert_int_equal(read_made(heads[i], observed, (int64_t[]){ 1, 2 }, 2, &t), PARSE_MALFORMED);
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
                assert_int_equal(read_made(head, observed, numbers[i], 2, &t), PARSE_MALFORMED);
                assert_int_equal(read_made(dropping, observed, numbers[i], 2, &t), PARSE_MALFORMED);
        }
        for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
                assert_int_equal(read_made(i % 2 ? head : of_node, shares[i], (int64_t[]){ 1, 2 }, 2, &t),
                                 PARSE_MALFORMED);
        assert_int_equal(t.n, 42);

        assert_int_equal(read_made(head, observed, (int64_t[]){ 32000, -1 }, 2, &t), 0);
        assert_true(t.points[0].series[SERIES_CPU].mean == 0.5F && isnan(t.points[1].series[SERIES_CPU].max));
        timeline_deinit(&t);
        assert_int_equal(read_made(dropping, observed, (int64_t[]){ 64, -1 }, 2, &t), 0);
        assert_true(t.points[0].series[SERIES_CPU].mean > 1 && isnan(t.points[1].series[SERIES_CPU].max));
        timeline_deinit(&t);
}

static void check_values(const Timeline *t) {
        for (size_t k = 0; k < t->n; k++)
                for (Series s = 0; s < N_SERIES; s++) {
                        const TimelineValue *v = &t->points[k].series[s];

                        if (isnan(v->mean))
                                assert_true(isnan(v->min) && isnan(v->max));
                        else
                                assert_true(t->points[k].observed_ns > 0 && v->min <= v->mean && v->mean <= v->max);
                }
}

static void bytes_cut_or_changed_anywhere_do_no_harm(void **state) {
        scoped(buffer_deinit) Buffer bytes = {};
        Recording r;
        Timeline t, again;
        uint32_t seed = 5;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 16);
        fill_training(&r, 50, 1);
        add(&r, 60000, 60500, 0.5);
        t = recorded(&r);
        bytes = bytes_of(&t);
        timeline_deinit(&t);

        for (size_t cut = 0; cut < bytes.n; cut++)
                assert_int_equal(read_copy(bytes.text, cut, &again), PARSE_MALFORMED);

        for (unsigned i = 0; i < 20000; i++) {
                char *at = &bytes.text[(size_t)(draw(&seed) * (double)bytes.n)], before = *at;

                *at = (char)(uint8_t)(draw(&seed) * 256);
                if (read_copy(bytes.text, bytes.n, &again) == 0) {
                        check_values(&again);
                        timeline_deinit(&again);
                }
                *at = before;
        }
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
        assert_int_equal(json_object_size(series), N_JOB_SERIES);
        for (Series s = 0; s < N_JOB_SERIES; s++) {
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

static void a_job_on_a_node_with_gpus_has_their_sums(void **state) {
        Observation o = span(0, 1000, 0.5), later = span(2000, 3000, 0.5);
        scoped(buffer_deinit) Buffer json = {};
        Timeline t, again;
        Recording r;
        size_t n;

        (void)state;
        assert_int_equal(TIMELINE_COLUMNS(TIMELINE_OF_GPU_JOB) - TIMELINE_COLUMNS(TIMELINE_OF_JOB),
                         N_GPU_SUMS);
        for (TimelineKind kind = 0; kind < N_TIMELINE_KINDS; kind++) {
                size_t n_series = 0;

                for (Series s = 0; s < N_SERIES; s++)
                        n_series += timeline_has(kind, s);
                assert_int_equal(n_series, TIMELINE_COLUMNS(kind) - 1 - 2 * N_JOB_SERIES);
        }
        o.gpus[SUM_GPUS_ACTIVE] = 1.5, o.gpus[SUM_GPU_POWER] = 880, o.gpus[SUM_GPU_MEMORY] = 3e9;
        o.gpus[SUM_GPUS_UTILIZED] = NAN, o.power_rate = 100;
        for (GpuSum sum = 0; sum < N_GPU_SUMS; sum++)
                later.gpus[sum] = NAN;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        r.kind = TIMELINE_OF_GPU_JOB;
        assert_int_equal(recording_add(&r, &o), 0);
        assert_int_equal(recording_add(&r, &later), 0);
        t = recorded(&r);
        again = through_bytes(&t, &n);
        assert_int_equal(again.kind, TIMELINE_OF_GPU_JOB);
        assert_near(again.points[0].series[SERIES_GPUS_ACTIVE].mean, 1.5, 1e-3);
        assert_near(again.points[0].series[SERIES_GPU_MEMORY].mean, 3e9, 1e-3);
        assert_near(again.points[0].series[SERIES_CPU].mean, 0.5, 1e-5);
        timeline_json(&again, &json);
        assert_non_null(strstr(json.text, "\"gpu_power\":{\"unit\":\"watts\",\"mean\":[880,null,null]}"));
        assert_non_null(strstr(json.text, "\"gpu_memory\":{\"unit\":\"bytes\",\"mean\":["));
        assert_null(strstr(json.text, "gpus_utilized")); /* never known */
        assert_null(strstr(json.text, "\"power\""));
        timeline_deinit(&again);
        timeline_deinit(&t);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_empty_timeline_is_restored),
                cmocka_unit_test(a_job_on_a_node_with_gpus_has_their_sums),
                cmocka_unit_test(one_point_takes_less_than_a_hundred_bytes),
                cmocka_unit_test(holes_unknown_series_and_part_points_are_restored),
                cmocka_unit_test(a_noisy_job_takes_two_and_a_half_kib),
                cmocka_unit_test(pure_noise_is_stored_in_coarser_steps_and_fits),
                cmocka_unit_test(a_thousand_points_are_restored),
                cmocka_unit_test(the_nodes_series_keep_one_number),
                cmocka_unit_test(a_timeline_written_again_has_the_same_bytes),
                cmocka_unit_test(an_invalid_timeline_is_refused),
                cmocka_unit_test(bytes_cut_or_changed_anywhere_do_no_harm),
                cmocka_unit_test(json_has_every_series_and_null_for_holes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
