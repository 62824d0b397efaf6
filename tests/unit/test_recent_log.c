/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/node/recent_log.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "node/recent_log.h"
#include "util/clock.h"

typedef struct Bench {
        RecentLog log;
        Sample sample;
        SampleCpu cpus[3];
} Bench;

/* Lets cores be busy for these percents of a time, and adds the observation. */
static void pass(Bench *bench, uint64_t ms, unsigned busy0, unsigned busy1) {
        Sample *sample = &bench->sample;
        Observation o = { .begin_ns = sample->boottime_ns, .end_ns = sample->boottime_ns + ms * NS_PER_MS,
                          .has_cpu = true, .cpu_mean = (busy0 + busy1) / 200.0, .cpu_min = busy1 / 100.0,
                          .cpu_max = busy0 / 100.0, .pressure_cpu_rate = 0.5, .pressure_io_rate = NAN };
        const unsigned busy[2] = { busy0, busy1 };

        for (size_t i = 0; i < 2; i++) {
                bench->cpus[i].times.ticks[CPU_USER] += ms / 10 * busy[i] / 100;
                bench->cpus[i].times.ticks[CPU_IOWAIT] += ms / 10 * (100 - busy[i]) / 100;
        }
        sample->boottime_ns = o.end_ns;
        sample->realtime_ns += ms * NS_PER_MS;
        assert_int_equal(recent_log_add(&bench->log, &o, sample), 0);
}

static int set_up(void **state) {
        static Bench bench;

        bench = (Bench){ .sample = { .boottime_ns = 50 * NS_PER_S, .realtime_ns = 1700000000 * NS_PER_S, .n_cpus = 3,
                                     .cpus = bench.cpus },
                         .cpus = { { .online = true }, { .online = true } } };
        sample_set(&bench.sample, SOURCE_STAT);
        *state = &bench;
        pass(&bench, 1000, 0, 0); /* the first point begins at its end */
        return 0;
}

static int tear_down(void **state) {
        recent_log_deinit(&((Bench *)*state)->log);
        return 0;
}

static void each_second_is_a_point_with_its_cores(void **state) {
        Bench *bench = *state;
        const Recent *recent = &bench->log.recent;

        pass(bench, 1000, 75, 20);
        assert_int_equal(recent->n_chunks, 1);
        assert_int_equal(recent->n_points[0], 1);
        assert_int_equal(recent->chunks[0]->points[0].end_realtime_ms, 1700000002000);
        assert_int_equal(recent->chunks[0]->cores[0], 75);
        assert_int_equal(recent->chunks[0]->cores[1], 20);
        assert_int_equal(recent->chunks[0]->cores[2], RECENT_UNKNOWN); /* offline */
        assert_float_equal(recent->chunks[0]->points[0].values[SERIES_CORE_MAX], 0.75, 1e-6);
        assert_float_equal(recent->chunks[0]->points[0].values[SERIES_PRESSURE_CPU], 0.5, 1e-6);
        assert_true(isnan(recent->chunks[0]->points[0].values[SERIES_PRESSURE_IO]));
}

static void faster_samples_are_merged_to_a_second(void **state) {
        Bench *bench = *state;
        const Recent *recent = &bench->log.recent;

        for (unsigned i = 0; i < 20; i++)
                pass(bench, 100, i % 2 ? 100 : 0, 0);
        assert_int_equal(recent->n_points[0], 2);
        assert_int_equal(recent->chunks[0]->cores[0], 50);
        assert_float_equal(recent->chunks[0]->points[1].values[SERIES_CPU], 0.25, 1e-6);
        assert_float_equal(recent->chunks[0]->points[1].values[SERIES_CORE_MAX], 1, 1e-6);
        assert_float_equal(recent->chunks[0]->points[1].values[SERIES_CORE_MIN], 0, 1e-6);
}

static void what_was_not_read_is_unknown(void **state) {
        Bench *bench = *state;
        const Recent *recent = &bench->log.recent;

        bench->cpus[1].is_doubtful = true;
        pass(bench, 1000, 50, 50);
        assert_int_equal(recent->chunks[0]->cores[0], 50);
        assert_int_equal(recent->chunks[0]->cores[1], RECENT_UNKNOWN);
        bench->sample.have = 0;
        pass(bench, 1000, 50, 50);
        assert_int_equal(recent->chunks[0]->cores[3], RECENT_UNKNOWN);
        pass(bench, 1000, 50, 50);
        assert_int_equal(recent->chunks[1]->n_cores, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(each_second_is_a_point_with_its_cores, set_up, tear_down),
                cmocka_unit_test_setup_teardown(faster_samples_are_merged_to_a_second, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_was_not_read_is_unknown, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
