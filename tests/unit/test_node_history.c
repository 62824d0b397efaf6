/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/store/node/store_node.c */
#include "store_fixture.h"

#include <math.h>

#include "http/measure/node_history.h"
#include "node/recording.h"
#include "store/node/store_node.h"
#include "util/clock.h"

#define BEGIN_MS UINT64_C(1763676000000)

/* Makes a row with one point of that utilization. Caller frees its text. */
static NodeSampleRow row_new(uint64_t begin_ms, uint64_t interval_ms, double cpu, Buffer *ret_bytes) {
        scoped(recording_deinit) Recording recording = {};
        Observation observation = {
                .begin_ns = NS_PER_S,
                .end_ns = NS_PER_S + interval_ms * NS_PER_MS,
                .has_cpu = true,
                .cpu_mean = cpu,
                .cpu_min = cpu,
                .cpu_max = cpu,
        };

        recording_init(&recording, observation.begin_ns, begin_ms * NS_PER_MS, interval_ms * NS_PER_MS, 2);
        assert_int_equal(recording_add(&recording, &observation), 0);
        assert_int_equal(recording_write(&recording, ret_bytes), 0);
        return (NodeSampleRow){ .begin_ms = begin_ms,
                                .interval_ms = interval_ms,
                                .timeline = { ret_bytes->text, ret_bytes->n } };
}

static int add(NodeHistory *history, uint64_t begin_ms, uint64_t interval_ms, double cpu) {
        scoped(buffer_deinit) Buffer bytes = {};
        NodeSampleRow row = row_new(begin_ms, interval_ms, cpu, &bytes);

        return node_history_add(history, &row);
}

static float cpu_at(const NodeHistory *history, size_t i) {
        assert_in_range(i, 0, history->timeline.n - 1);
        return history->timeline.points[i].series[SERIES_CPU].mean;
}

static void rows_of_one_grid_become_one_timeline(void **state) {
        scoped(node_history_deinit) NodeHistory history = {};

        (void)state;
        history = (NodeHistory){ .n_points_max = 100, .is_merging = false };
        for (unsigned i = 0; i < 10; i++)
                assert_int_equal(add(&history, BEGIN_MS + i * 10000 + i % 3, 10000, i / 10.0), 0);

        assert_int_equal(history.timeline.n, 10);
        assert_int_equal(history.timeline.begin_realtime_ns, BEGIN_MS * NS_PER_MS);
        assert_int_equal(history.timeline.interval_ns, 10 * NS_PER_S);
        for (unsigned i = 0; i < 10; i++)
                assert_float_equal(cpu_at(&history, i), (float)i / 10, 0.01);
}

static void a_missing_row_is_a_hole(void **state) {
        scoped(node_history_deinit) NodeHistory history = {};

        (void)state;
        history = (NodeHistory){ .n_points_max = 100, .is_merging = false };
        assert_int_equal(add(&history, BEGIN_MS, 10000, 0.5), 0);
        assert_int_equal(add(&history, BEGIN_MS + 30000, 10000, 0.5), 0);
        assert_int_equal(history.timeline.n, 4);
        assert_int_equal(history.timeline.points[1].observed_ns, 0);
        assert_true(isnan(cpu_at(&history, 2)));
        assert_float_equal(cpu_at(&history, 3), 0.5, 0.01);
}

static void a_page_ends_where_a_row_does_not_fit(void **state) {
        scoped(node_history_deinit) NodeHistory history = {};

        (void)state;
        history = (NodeHistory){ .n_points_max = 3, .is_merging = false };
        assert_int_equal(add(&history, BEGIN_MS, 10000, 0.5), 0);
        /* another interval length */
        assert_int_equal(add(&history, BEGIN_MS + 10000, 5000, 0.5), NODE_HISTORY_FULL);
        assert_int_equal(add(&history, BEGIN_MS + 1000, 10000, 0.5), NODE_HISTORY_FULL);  /* another begin */
        assert_int_equal(add(&history, BEGIN_MS + 30000, 10000, 0.5), NODE_HISTORY_FULL); /* beyond the limit */
        assert_int_equal(history.timeline.n, 1);
        assert_int_equal(add(&history, BEGIN_MS + 20000, 10000, 0.5), 0);
}

static void an_invalid_row_is_reported(void **state) {
        scoped(node_history_deinit) NodeHistory history = {};
        NodeSampleRow row = { .begin_ms = BEGIN_MS, .interval_ms = 10000, .timeline = { "nonsense", 8 } };

        (void)state;
        history = (NodeHistory){ .n_points_max = 3, .is_merging = true };
        assert_int_equal(node_history_add(&history, &row), NODE_HISTORY_MALFORMED);
        assert_int_equal(add(&history, BEGIN_MS, UINT64_MAX, 0.5), NODE_HISTORY_MALFORMED);
        assert_int_equal(history.timeline.n, 0);
}

static void steps_begin_at_their_multiples(void **state) {
        scoped(node_history_deinit) NodeHistory history = {};
        const uint64_t step_ms = 60000, begin_ms = BEGIN_MS - BEGIN_MS % step_ms + 50000;

        (void)state;
        history = (NodeHistory){ .n_points_max = 100, .step_ns = step_ms * NS_PER_MS, .is_merging = true };
        for (unsigned i = 0; i < 7; i++) /* one before the end of a minute, six in the next */
                assert_int_equal(add(&history, begin_ms + i * 10000, 10000, i / 10.0), 0);
        assert_int_equal(history.timeline.begin_realtime_ns, (begin_ms - 50000) * NS_PER_MS);
        assert_int_equal(history.timeline.interval_ns, step_ms * NS_PER_MS);
        assert_int_equal(history.timeline.n, 2);
        assert_float_equal(cpu_at(&history, 0), 0.0, 0.01);
        assert_float_equal(cpu_at(&history, 1), 0.35, 0.01);
        assert_float_equal(history.timeline.points[1].series[SERIES_CPU].max, 0.6, 0.01);
}

static void merging_keeps_mean_and_extremes_of_any_length(void **state) {
        scoped(node_history_deinit) NodeHistory history = {};

        (void)state;
        history = (NodeHistory){ .n_points_max = 16, .is_merging = true };
        for (unsigned i = 0; i < 16 * 8; i++)
                assert_int_equal(add(&history, BEGIN_MS + i * 1000, 1000, i % 2 ? 1.0 : 0.5), 0);

        assert_int_equal(history.timeline.n, 16);
        assert_int_equal(history.timeline.interval_ns, 8 * NS_PER_S);
        for (size_t i = 0; i < 16; i++) {
                const TimelinePoint *point = &history.timeline.points[i];

                assert_int_equal(point->observed_ns, 8 * NS_PER_S);
                assert_float_equal(point->series[SERIES_CPU].mean, 0.75, 0.01);
                assert_float_equal(point->series[SERIES_CPU].min, 0.5, 0.01);
                assert_float_equal(point->series[SERIES_CPU].max, 1.0, 0.01);
        }
}

static void a_long_absence_costs_no_memory_when_merging(void **state) {
        scoped(node_history_deinit) NodeHistory history = {};

        (void)state;
        history = (NodeHistory){ .n_points_max = 16, .is_merging = true };
        assert_int_equal(add(&history, BEGIN_MS, 1000, 0.25), 0);
        assert_int_equal(add(&history, BEGIN_MS + UINT64_C(90) * 86400 * 1000, 1000, 0.75), 0);
        assert_in_range(history.timeline.n, 9, 16);
        assert_in_range(history.timeline.n_allocated, 9, 32);
        assert_float_equal(cpu_at(&history, 0), 0.25, 0.01);
        assert_float_equal(cpu_at(&history, history.timeline.n - 1), 0.75, 0.01);
}

static void a_row_longer_than_the_grid_fills_its_places(void **state) {
        scoped(node_history_deinit) NodeHistory history = {};

        (void)state;
        history = (NodeHistory){ .n_points_max = 16, .is_merging = true };
        assert_int_equal(add(&history, BEGIN_MS, 1000, 0.5), 0);
        assert_int_equal(add(&history, BEGIN_MS + 1000, 4000, 1.0), 0);
        assert_int_equal(history.timeline.n, 5);
        for (size_t i = 1; i < 5; i++) {
                assert_int_equal(history.timeline.points[i].observed_ns, NS_PER_S);
                assert_float_equal(cpu_at(&history, i), 1.0, 0.01);
        }
}

static void a_row_off_the_grid_begins_another_page(void **state) {
        scoped(node_history_deinit) NodeHistory history = {}, next = {};

        (void)state;
        history = (NodeHistory){ .n_points_max = 100, .is_merging = false };
        assert_int_equal(add(&history, BEGIN_MS, 10000, 0.5), 0);
        assert_int_equal(add(&history, BEGIN_MS + 10700, 10000, 0.5), 0); /* a sample later than its position */
        assert_int_equal(add(&history, BEGIN_MS + 22500, 10000, 0.5), NODE_HISTORY_FULL);
        assert_int_equal(history.timeline.n, 2);

        next = (NodeHistory){ .n_points_max = 100, .is_merging = false };
        assert_int_equal(add(&next, BEGIN_MS + 22500, 10000, 0.5), 0);
        assert_int_equal(next.timeline.begin_realtime_ns, (BEGIN_MS + 22500) * NS_PER_MS);
}

static void a_row_off_the_grid_is_divided_when_merging(void **state) {
        scoped(node_history_deinit) NodeHistory history = {};

        (void)state;
        history = (NodeHistory){ .n_points_max = 16, .is_merging = true };
        assert_int_equal(add(&history, BEGIN_MS, 10000, 0.5), 0);
        assert_int_equal(add(&history, BEGIN_MS + 12500, 10000, 1.0), 0);
        assert_int_equal(history.timeline.n, 3);
        assert_int_equal(history.timeline.points[0].observed_ns, 10 * NS_PER_S);
        assert_float_equal((double)history.timeline.points[1].observed_ns, 7.5e9, 1e6);
        assert_float_equal((double)history.timeline.points[2].observed_ns, 2.5e9, 1e6);
        assert_float_equal(cpu_at(&history, 0), 0.5, 0.01);
        assert_float_equal(cpu_at(&history, 1), 1.0, 0.01);
}

/* --- reading from a store ------------------------------------------------------------------------- */

#define MINUTE_MS UINT64_C(60000)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_BEGIN_MS (BEGIN_MS - BEGIN_MS % HOUR_MS)

/* Minutes of two hours, of which the second has samples of ten seconds as well; these have half of the load. */
static void put_two_hours(Store *store) {
        for (uint64_t hour = 0; hour < 2; hour++) {
                scoped(recording_deinit) Recording block = {};
                scoped(buffer_deinit) Buffer bytes = {};

                recording_init(&block, NS_PER_S, 0, 60 * NS_PER_S, 72);
                for (uint64_t i = 0; i < 60; i++) {
                        uint64_t begin_ns = (1 + 60 * i) * NS_PER_S;
                        Observation o = { .begin_ns = begin_ns, .end_ns = begin_ns + 60 * NS_PER_S, .has_cpu = true,
                                          .cpu_mean = (double)i / 100 };

                        assert_int_equal(recording_add(&block, &o), 0);
                }
                assert_int_equal(recording_write(&block, &bytes), 0);
                assert_int_equal(store_put(store, store_node_pack_minutes(DAY_BEGIN_MS + hour * HOUR_MS, &bytes)), 0);
        }
        for (uint64_t i = 0; i < 360; i++) {
                uint64_t begin_ms = DAY_BEGIN_MS + HOUR_MS + i * 10000;
                scoped(buffer_deinit) Buffer bytes = {};
                NodeSampleRow row = row_new(begin_ms, 10000, (double)(i / 6) / 200, &bytes);

                assert_int_equal(row.begin_ms, begin_ms);
                assert_int_equal(store_put(store, store_node_pack(begin_ms, 10000, &bytes)), 0);
        }
}

static void assert_read(Reader *reader, NodeHistory *history, uint64_t since_ms, uint64_t until_ms) {
        history->since_ms = since_ms;
        history->until_ms = until_ms;
        assert_int_equal(node_history_read(history, reader), 0);
}

static uint64_t count_minutes(Reader *reader) {
        scoped(buffer_deinit) Buffer unpacked = {};
        NodeSampleRow row;
        uint64_t n = 0;

        if (store_node_list_minutes(reader, 0, 0) != 0)
                return 0;
        while (store_node_next_minutes(reader, &unpacked, &row) == 0)
                n++;
        return n;
}

static void open_two_hours(Place *place) {
        NodeSampleRow row;

        put_two_hours(place->store);
        EVENTUALLY(store_node_list(place->reader, DAY_BEGIN_MS + 2 * HOUR_MS - 10000, 0) == 0 &&
                   store_node_next(place->reader, &row) == 0);
        assert_int_equal(count_minutes(place->reader), 2);
}

static void minutes_are_read_where_no_samples_are_left(void **state) {
        scoped(node_history_deinit) NodeHistory history = { .n_points_max = 1000, .is_merging = true };
        Place *place = *state;

        open_two_hours(place);
        history.step_ns = 30 * NS_PER_S;
        assert_read(place->reader, &history, DAY_BEGIN_MS + 50 * MINUTE_MS, DAY_BEGIN_MS + 70 * MINUTE_MS);
        assert_int_equal(history.timeline.begin_realtime_ns, (DAY_BEGIN_MS + 50 * MINUTE_MS) * NS_PER_MS);
        assert_int_equal(history.timeline.n, 40);
        assert_float_equal(cpu_at(&history, 0), 0.50, 1e-4);
        assert_float_equal(cpu_at(&history, 19), 0.59, 1e-4);
        assert_float_equal(cpu_at(&history, 20), 0.0, 1e-4); /* samples from here on */
        assert_float_equal(cpu_at(&history, 38), 0.045, 1e-4);
}

static void long_steps_read_minutes_and_the_latest_samples(void **state) {
        scoped(node_history_deinit) NodeHistory history = { .n_points_max = 1000, .is_merging = true };
        Place *place = *state;

        open_two_hours(place);
        history.step_ns = 60 * NS_PER_S;
        assert_read(place->reader, &history, DAY_BEGIN_MS, 0);
        assert_int_equal(history.timeline.n, 120);
        assert_float_equal(cpu_at(&history, 59), 0.59, 1e-4);
        assert_float_equal(cpu_at(&history, 100), 0.40, 1e-4); /* a minute, although there are samples */
        assert_float_equal(cpu_at(&history, 119), 0.295, 1e-4); /* samples of the last ten minutes */
}

static void a_page_ends_where_minutes_become_samples(void **state) {
        scoped(node_history_deinit) NodeHistory history = { .n_points_max = 1000 }, small = { .n_points_max = 10 },
                                                next = { .n_points_max = 1000 };
        Place *place = *state;

        open_two_hours(place);
        assert_read(place->reader, &small, DAY_BEGIN_MS + 10 * MINUTE_MS, 0);
        assert_int_equal(small.timeline.n, 10);
        assert_int_equal(small.next_ms, DAY_BEGIN_MS + 20 * MINUTE_MS);
        assert_read(place->reader, &history, small.next_ms, 0);
        assert_int_equal(history.timeline.n, 40);
        assert_int_equal(history.timeline.interval_ns, 60 * NS_PER_S);
        assert_int_equal(history.next_ms, DAY_BEGIN_MS + HOUR_MS);
        assert_read(place->reader, &next, history.next_ms, 0);
        assert_int_equal(next.timeline.interval_ns, 10 * NS_PER_S);
        assert_int_equal(next.timeline.n, 360);
        assert_int_equal(next.next_ms, 0);
}

static void a_damaged_block_is_a_gap(void **state) {
        scoped(node_history_deinit) NodeHistory history = { .n_points_max = 1000, .is_merging = true };
        Place *place = *state;

        open_two_hours(place);
        assert_int_equal(store_put(place->store, store_node_pack_minutes(DAY_BEGIN_MS, &BYTES("nonsense"))), 0);
        place_close(place);
        place_open(place);
        history.step_ns = 10 * NS_PER_S;
        assert_read(place->reader, &history, DAY_BEGIN_MS, 0);
        assert_int_equal(history.timeline.n, 360);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rows_of_one_grid_become_one_timeline),
                cmocka_unit_test(a_missing_row_is_a_hole),
                cmocka_unit_test(a_page_ends_where_a_row_does_not_fit),
                cmocka_unit_test(an_invalid_row_is_reported),
                cmocka_unit_test(steps_begin_at_their_multiples),
                cmocka_unit_test(merging_keeps_mean_and_extremes_of_any_length),
                cmocka_unit_test(a_long_absence_costs_no_memory_when_merging),
                cmocka_unit_test(a_row_longer_than_the_grid_fills_its_places),
                cmocka_unit_test(a_row_off_the_grid_begins_another_page),
                cmocka_unit_test(a_row_off_the_grid_is_divided_when_merging),
                TEST(minutes_are_read_where_no_samples_are_left),
                TEST(long_steps_read_minutes_and_the_latest_samples),
                TEST(a_page_ends_where_minutes_become_samples),
                TEST(a_damaged_block_is_a_gap),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
