/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/recording.h"
#include "observation_fixture.h"

static TimelinePoint point_at(const Recording *recording, size_t at) {
        scoped(timeline_deinit) Timeline timeline = {};

        assert_int_equal(recording_timeline(recording, &timeline), 0);
        assert_int_equal(timeline.n, recording->n);
        assert_int_equal(timeline.interval_ns, recording->interval_ns);
        assert_true(at < timeline.n);
        return timeline.points[at];
}

/* Thousandths are exact. */
static void assert_cpu(const Recording *recording, size_t at, double mean, double min, double max) {
        TimelineValue v = point_at(recording, at).series[SERIES_CPU];

        assert_near(v.mean, mean, 1e-6);
        assert_near(v.min, min, 1e-6);
        assert_near(v.max, max, 1e-6);
}

static void each_observation_lands_in_its_interval(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        assert_null(r.blocks);
        add(&r, 0, 1000, 0.5);
        add(&r, 1000, 2000, 0.7);
        assert_int_equal(r.n, 2);
        assert_cpu(&r, 0, 0.5, 0.5, 0.5);
        assert_cpu(&r, 1, 0.7, 0.7, 0.7);
        assert_near(point_at(&r, 1).series[SERIES_DISK_READ].mean, 0.7e9, 1e-6);
        assert_near(point_at(&r, 1).series[SERIES_NET_SENT].max, 1234567, 1e-6);
        assert_int_equal(point_at(&r, 0).observed_ns, SECOND);
        recording_deinit(&r);
}

static void means_within_a_point_are_weighed_by_time(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        add(&r, 0, 200, 1.0);
        add(&r, 200, 1000, 0.5);
        assert_int_equal(r.n, 1);
        assert_cpu(&r, 0, 0.6, 0.5, 1.0);
        recording_deinit(&r);
}

static void an_observation_over_several_intervals_is_spread(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        add(&r, 0, 500, 0.1);
        add(&r, 500, 3250, 0.9);
        assert_int_equal(r.n, 4);
        assert_cpu(&r, 0, 0.5, 0.1, 0.9);
        assert_cpu(&r, 2, 0.9, 0.9, 0.9);
        assert_int_equal(point_at(&r, 0).observed_ns, SECOND);
        assert_int_equal(point_at(&r, 2).observed_ns, SECOND);
        assert_int_equal(point_at(&r, 3).observed_ns, 250 * MS);
        recording_deinit(&r);
}

static void unobserved_time_is_a_gap(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        add(&r, 0, 1000, 0.5);
        add(&r, 3000, 4000, 0.6);
        assert_int_equal(r.n, 4);
        assert_int_equal(point_at(&r, 1).observed_ns, 0);
        assert_true(isnan(point_at(&r, 2).series[SERIES_CPU].mean) &&
                    isnan(point_at(&r, 2).series[SERIES_NET_SENT].max));
        assert_cpu(&r, 3, 0.6, 0.6, 0.6);
        recording_deinit(&r);
}

static void a_series_without_a_source_is_unknown_beside_the_others(void **state) {
        Recording r;
        Observation o = span(0, 1000, 0.5);

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        o.has_memory = false;
        o.disk_read_rate = NAN;
        assert_int_equal(recording_add(&r, &o), 0);
        assert_true(isnan(point_at(&r, 0).series[SERIES_MEMORY].mean) &&
                    isnan(point_at(&r, 0).series[SERIES_DISK_READ].mean));
        assert_cpu(&r, 0, 0.5, 0.5, 0.5);
        recording_deinit(&r);
}

static void when_full_neighbours_merge_and_the_interval_doubles(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 4);
        for (unsigned i = 0; i < 4; i++)
                add(&r, i * 1000, i * 1000 + 1000, 0.1 * (i + 1));
        assert_int_equal(r.interval_ns, SECOND);
        add(&r, 4000, 5000, 0.9);
        assert_int_equal(r.interval_ns, 2 * SECOND);
        assert_int_equal(r.n, 3);
        assert_cpu(&r, 0, 0.15, 0.1, 0.2);
        assert_cpu(&r, 1, 0.35, 0.3, 0.4);
        assert_cpu(&r, 2, 0.9, 0.9, 0.9);
        add(&r, 5000, 6000, 0.1);
        assert_cpu(&r, 2, 0.5, 0.1, 0.9);
        recording_deinit(&r);
}

static void a_merge_weighs_by_observed_time(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 2);
        add(&r, 0, 250, 1.0);
        add(&r, 1000, 1750, 0.2);
        add(&r, 3000, 3500, 0.5); /* points 2 and 3: a gap and a half */
        assert_int_equal(r.interval_ns, 2 * SECOND);
        assert_cpu(&r, 0, 0.4, 0.2, 1.0);
        assert_cpu(&r, 1, 0.5, 0.5, 0.5);
        assert_int_equal(point_at(&r, 0).observed_ns, SECOND);
        assert_int_equal(point_at(&r, 1).observed_ns, 500 * MS);
        recording_deinit(&r);
}

static void a_long_job_keeps_its_mean_and_its_peaks(void **state) {
        Recording r;
        double sum = 0, weight = 0, max = 0;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 120);
        for (unsigned i = 0; i < 100000; i++)
                add(&r, i * 1000ULL, i * 1000ULL + 1000, i == 77777 ? 1.0 : (i % 100) / 1000.0);
        assert_true(r.n <= 120 && r.n > 60);
        assert_int_equal(r.interval_ns, 1024 * SECOND);
        for (size_t i = 0; i < r.n; i++) {
                sum += (double)point_at(&r, i).series[SERIES_CPU].mean * (double)point_at(&r, i).observed_ns;
                weight += (double)point_at(&r, i).observed_ns;
                max = fmax(max, (double)point_at(&r, i).series[SERIES_CPU].max);
        }
        assert_near(sum / weight, 0.0495 + (1 - 0.077) / 100000, 1e-4);
        assert_true(max == 1);
        assert_true(weight == 1e5 * (double)SECOND);
        recording_deinit(&r);
}

static void memory_grows_with_the_job(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 100);
        add(&r, 0, 1000, 0.5);
        assert_null(r.blocks);
        add(&r, 8000, 9000, 0.5);
        assert_int_equal(r.n_allocated, 24);
        add(&r, 24000, 25000, 0.5);
        assert_int_equal(r.n_allocated, 24);
        add(&r, 25000, 26000, 0.5);
        assert_int_equal(r.n_allocated, 48);
        add(&r, 99000, 100000, 0.5);
        add(&r, 100000, 101000, 0.5);
        assert_int_equal(r.interval_ns, 2 * SECOND);
        add(&r, 199000, 200000, 0.5);
        assert_int_equal(r.n_allocated, 120);
        recording_deinit(&r);
}

static void observations_outside_are_clipped_or_ignored(void **state) {
        Recording r;
        Observation before = { .begin_ns = BEGIN - 2 * SECOND, .end_ns = BEGIN, .has_cpu = true };
        Observation across = {
                .begin_ns = BEGIN - SECOND, .end_ns = BEGIN + 500 * MS, .has_cpu = true, .cpu_mean = 0.5
        };
        Observation backwards = { .begin_ns = BEGIN + 2 * SECOND, .end_ns = BEGIN + SECOND, .has_cpu = true };

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        assert_int_equal(recording_add(&r, &before), 0);
        assert_int_equal(recording_add(&r, &backwards), 0);
        assert_int_equal(r.n, 0);
        assert_int_equal(recording_add(&r, &across), 0);
        assert_int_equal(r.n, 1);
        assert_int_equal(point_at(&r, 0).observed_ns, 500 * MS);
        recording_deinit(&r);
}

static void an_end_far_away_is_reached_by_doubling(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 2);
        add(&r, 0, 1000, 0.5);
        add(&r, 1000ULL * 86400 * 3650, 1000ULL * 86400 * 3650 + 1000, 0.7);
        assert_int_equal(r.n, 2);
        assert_cpu(&r, 0, 0.5, 0.5, 0.5);
        assert_cpu(&r, 1, 0.7, 0.7, 0.7);
        recording_deinit(&r);
}

/* Returns the first point, while it is open and after it is closed. */
static TimelinePoint closed_point(const Observation *o, TimelinePoint *ret_open) {
        Observation next = span(1000, 2000, 0);
        TimelinePoint closed;
        Recording r;

        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        assert_int_equal(recording_add(&r, o), 0);
        *ret_open = point_at(&r, 0);
        assert_int_equal(recording_add(&r, &next), 0);
        closed = point_at(&r, 0);
        recording_deinit(&r);
        return closed;
}

static void a_closed_point_is_accurate_to_its_resolution(void **state) {
        (void)state;
        for (unsigned i = 0; i <= 1000; i++) {
                Observation o = span(0, 1000, i / 1000.0 + (i % 7) * 1e-5);
                TimelinePoint open, closed;

                o.disk_read_rate = exp(i * 0.038 - 11);
                o.disk_written_rate = 1e12 / (i + 1);
                closed = closed_point(&o, &open);
                assert_true(open.series[SERIES_CPU].mean == (float)o.cpu_mean);
                assert_true(open.series[SERIES_DISK_READ].max == (float)o.disk_read_rate);
                assert_true(fabs(closed.series[SERIES_CPU].mean - o.cpu_mean) <= 1.001 / 128000);
                assert_true(fabs(closed.series[SERIES_DISK_READ].max / o.disk_read_rate - 1) <= 1.001 / 2048);
                assert_true(fabs(closed.series[SERIES_DISK_WRITE].min / o.disk_written_rate - 1) <= 1.001 / 2048);
                assert_int_equal(closed.observed_ns, SECOND);
        }
}

static void values_out_of_range_get_the_nearest_code(void **state) {
        Observation o = span(0, 1000, 1.5);
        TimelinePoint open, closed;

        (void)state;
        o.memory = -0.1;
        o.disk_read_rate = 1e-6;
        o.disk_written_rate = 1e30;
        o.network_sent_rate = INFINITY;
        o.network_received_rate = -5;
        closed = closed_point(&o, &open);
        assert_near(closed.series[SERIES_CPU].max, 65534 / 64000.0, 1e-6);
        assert_true(closed.series[SERIES_MEMORY].mean == 0);
        assert_true(closed.series[SERIES_DISK_READ].mean == 0);
        assert_near(closed.series[SERIES_DISK_WRITE].mean, 0x1p48, 2e-3);
        assert_near(closed.series[SERIES_NET_SENT].mean, 0x1p48, 2e-3);
        assert_true(closed.series[SERIES_NET_RECEIVED].mean == 0);
}

/* Each doubling reads the codes written by the one before. */
static void peaks_are_exact_after_any_number_of_merges(void **state) {
        TimelinePoint once;
        Observation o = span(0, 1000, 0.123456);
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 4);
        assert_int_equal(recording_add(&r, &o), 0);
        add(&r, 1000, 2000, 0.9);
        once = point_at(&r, 0);
        for (unsigned i = 2; i < 4096; i++)
                add(&r, i * 1000ULL, i * 1000ULL + 1000, 0.9);
        assert_int_equal(r.interval_ns, 1024 * SECOND);
        assert_true(point_at(&r, 0).series[SERIES_CPU].min == once.series[SERIES_CPU].min);
        assert_true(point_at(&r, 0).series[SERIES_DISK_READ].min == once.series[SERIES_DISK_READ].min);
        assert_near(point_at(&r, 0).series[SERIES_CPU].mean, 0.9 - (0.9 - 0.123456) / 1024, 1e-4);
        recording_deinit(&r);
}

static void the_shortest_observed_time_is_no_gap(void **state) {
        Observation o = span(0, 0, 0.5);
        TimelinePoint open, closed;

        (void)state;
        o.end_ns = o.begin_ns + 1;
        closed = closed_point(&o, &open);
        assert_int_equal(open.observed_ns, 1);
        assert_in_range(closed.observed_ns, 1, SECOND / 64000 + 1);
        assert_near(closed.series[SERIES_CPU].mean, 0.5, 1e-6);
}

static void a_late_observation_reaches_back_into_closed_points(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        add(&r, 0, 500, 0.2);
        add(&r, 2000, 3000, 0.9);
        add(&r, 500, 1000, 0.4);
        assert_int_equal(r.n, 3);
        assert_cpu(&r, 0, 0.3, 0.2, 0.4);
        assert_cpu(&r, 2, 0.9, 0.9, 0.9);
        recording_deinit(&r);
}

static void the_last_point_may_become_the_first(void **state) {
        Recording r;

        (void)state;
        recording_init(&r, BEGIN, REALTIME, SECOND, 8);
        recording_keep_last(&r);
        assert_int_equal(r.n, 0);
        for (unsigned i = 0; i < 3; i++)
                add(&r, i * 1000, i * 1000 + 500, 0.25 * i);
        recording_keep_last(&r);
        assert_int_equal(r.n, 1);
        assert_int_equal(r.begin_boottime_ns, BEGIN + 2 * SECOND);
        assert_int_equal(r.begin_realtime_ns, REALTIME + 2 * SECOND);
        assert_cpu(&r, 0, 0.5, 0.5, 0.5);
        add(&r, 2500, 3000, 1);
        assert_cpu(&r, 0, 0.75, 0.5, 1);
        recording_deinit(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_observation_lands_in_its_interval),
                cmocka_unit_test(means_within_a_point_are_weighed_by_time),
                cmocka_unit_test(an_observation_over_several_intervals_is_spread),
                cmocka_unit_test(unobserved_time_is_a_gap),
                cmocka_unit_test(a_series_without_a_source_is_unknown_beside_the_others),
                cmocka_unit_test(when_full_neighbours_merge_and_the_interval_doubles),
                cmocka_unit_test(a_merge_weighs_by_observed_time),
                cmocka_unit_test(a_long_job_keeps_its_mean_and_its_peaks),
                cmocka_unit_test(memory_grows_with_the_job),
                cmocka_unit_test(observations_outside_are_clipped_or_ignored),
                cmocka_unit_test(an_end_far_away_is_reached_by_doubling),
                cmocka_unit_test(a_closed_point_is_accurate_to_its_resolution),
                cmocka_unit_test(values_out_of_range_get_the_nearest_code),
                cmocka_unit_test(peaks_are_exact_after_any_number_of_merges),
                cmocka_unit_test(the_shortest_observed_time_is_no_gap),
                cmocka_unit_test(a_late_observation_reaches_back_into_closed_points),
                cmocka_unit_test(the_last_point_may_become_the_first),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
