/* SPDX-License-Identifier: Apache-2.0 */
/* tests: lib/measure/cpu_levels.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "measure/cpu_levels.h"
#include "util/clock.h"
#include "util/scoped.h"

#define TICK_NS (10 * NS_PER_MS)
#define N_CPUS_MAX 64U
#define N_SECONDS 60U

/* A machine whose kernel looks at each tick which CPUs are busy, and readings of its counters. */
typedef struct Machine {
        SampleCpu cpus[N_CPUS_MAX];
        Sample sample;
        uint64_t random;
} Machine;

/* Whether the CPU is busy at the tick, n ticks after the start. */
typedef bool (*Load)(Machine *machine, size_t cpu, uint64_t n);

static double draw(Machine *machine) {
        machine->random = machine->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (double)(machine->random >> 11) * 0x1p-53;
}

static bool on_and_off(Machine *machine, size_t cpu, uint64_t n) {
        (void)machine;
        (void)cpu;
        return (n + 37) % 100 < 50;
}

static bool steady(Machine *machine, size_t cpu, uint64_t n) {
        (void)cpu;
        (void)n;
        return draw(machine) < 0.37;
}

static bool idle(Machine *machine, size_t cpu, uint64_t n) {
        (void)machine;
        (void)cpu;
        (void)n;
        return false;
}

/* One CPU is busy for a fifth of a second in each 900 ms, the others for 30 % of the time. */
static bool bursts_of_one(Machine *machine, size_t cpu, uint64_t n) {
        return cpu == 1 ? n % 90 < 20 : draw(machine) < 0.3;
}

/* A load of the given share that is counted at each tick and never random, as by a kernel with exact accounting. */
static bool even(Machine *machine, size_t cpu, uint64_t n) {
        (void)machine;
        (void)cpu;
        return (n + 1) * 37 / 100 != n * 37 / 100;
}

static void machine_init(Machine *machine, size_t n_cpus) {
        assert_true(n_cpus <= N_CPUS_MAX);
        *machine = (Machine){ .random = 1 };
        machine->sample = (Sample){ .boottime_ns = NS_PER_S, .cpus = machine->cpus, .n_cpus = n_cpus };
        for (size_t i = 0; i < n_cpus; i++)
                machine->cpus[i].online = true;
}

/* Advances by one tick, and adds the levels of the tick to the reference. */
static void tick(Machine *machine, Load load, uint64_t n, CpuLevelSums *reference) {
        size_t n_cpus = machine->sample.n_cpus, n_busy = 0;

        for (size_t cpu = 0; cpu < n_cpus; cpu++) {
                bool is_busy = load(machine, cpu, n);

                machine->cpus[cpu].times.ticks[is_busy ? CPU_USER : CPU_IDLE]++;
                n_busy += is_busy;
        }
        machine->sample.boottime_ns += TICK_NS;
        cpu_level_sums_add(reference,
                           (double[N_CPU_ACROSS]){ (double)n_busy / (double)n_cpus, n_busy == n_cpus, n_busy > 0 },
                           TICK_NS);
}

static void add_sums(CpuLevelSums *to, const CpuLevelSums *more) {
        for (CpuAcross kind = 0; kind < N_CPU_ACROSS; kind++) {
                to->peak[kind] = fmax(to->peak[kind], more->peak[kind]);
                for (size_t i = 0; i < N_CPU_THRESHOLDS; i++)
                        to->over_ns[kind][i] += more->over_ns[kind][i];
        }
}

/* Runs a minute of the load with windows of n ticks, observed each second. */
static void run(Load load, size_t n_cpus, unsigned window_ticks, CpuLevelSums *ret, CpuLevelSums *ret_reference) {
        scoped(cpu_levels_deinit) CpuLevels levels = {};
        Machine machine;

        machine_init(&machine, n_cpus);
        assert_int_equal(cpu_levels_reserve(&levels, n_cpus), 0);
        *ret = *ret_reference = (CpuLevelSums){};
        for (uint64_t n = 0; n < N_SECONDS * 100; n++) {
                if (n % 100 == 0)
                        cpu_levels_begin(&levels, &machine.sample);
                tick(&machine, load, n, ret_reference);
                if ((n + 1) % window_ticks == 0)
                        cpu_levels_add(&levels, &machine.sample);
                if ((n + 1) % 100 == 0)
                        add_sums(ret, cpu_levels_finish(&levels));
        }
}

static double percent_of(const CpuLevelSums *sums, CpuAcross kind, size_t threshold) {
        return 100 * (double)sums->over_ns[kind][threshold] / (double)(N_SECONDS * NS_PER_S);
}

static void a_load_that_is_on_and_off_has_a_level_for_each(void **state) {
        static const unsigned windows[] = { 5, 10 };
        CpuLevelSums fine, coarse, reference;

        (void)state;
        for (size_t w = 0; w < N_ELEMENTS(windows); w++) {
                run(on_and_off, 2, windows[w], &fine, &reference);
                for (CpuAcross kind = 0; kind < N_CPU_ACROSS; kind++)
                        for (size_t i = 0; i < N_CPU_THRESHOLDS; i++)
                                assert_true(fabs(percent_of(&fine, kind, i) - percent_of(&reference, kind, i)) <= 5);
                assert_true(fine.peak[CPU_ACROSS_ALL] == 1);
        }

        /* What a reading per second sees. */
        run(on_and_off, 2, 100, &coarse, &reference);
        assert_true(percent_of(&coarse, CPU_ACROSS_MEAN, 0) == 0);
        assert_true(percent_of(&coarse, CPU_ACROSS_MEAN, 2) == 100);
        assert_true(percent_of(&reference, CPU_ACROSS_MEAN, 0) == 50);
}

/* The true times of a load of 37 %: all of it over 20 %, nothing over 40 %. */
static double error_of_steady(const CpuLevelSums *sums) {
        double error = 0;

        for (CpuAcross kind = 0; kind < N_CPU_ACROSS; kind++)
                for (size_t i = 0; i < N_CPU_THRESHOLDS; i++)
                        error = fmax(error, fabs(percent_of(sums, kind, i) - (cpu_thresholds[i] < 0.37 ? 100 : 0)));
        return error;
}

static void a_steady_load_is_not_further_off_than_once_a_second(void **state) {
        static const size_t n_cpus[] = { 1, 2, 64 };
        CpuLevelSums fine, coarse, reference;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(n_cpus); i++)
                for (unsigned window = 5; window <= 10; window += 5) {
                        run(steady, n_cpus[i], window, &fine, &reference);
                        run(steady, n_cpus[i], 100, &coarse, &reference);
                        assert_true(error_of_steady(&fine) <= error_of_steady(&coarse) + 1);
                        assert_true(fine.peak[CPU_ACROSS_MEAN] <= coarse.peak[CPU_ACROSS_MEAN] + 0.05);
                }
        run(even, 2, 5, &fine, &reference);
        assert_true(error_of_steady(&fine) == 0);
        assert_true(fabs(fine.peak[CPU_ACROSS_ANY] - 0.37) < 0.011);
}

static void a_burst_of_one_cpu_is_its_own(void **state) {
        CpuLevelSums fine, coarse, reference;

        (void)state;
        run(bursts_of_one, 4, 5, &fine, &reference);
        run(bursts_of_one, 4, 100, &coarse, &reference);
        assert_true(fabs(percent_of(&fine, CPU_ACROSS_ANY, 1) - 100.0 * 20 / 90) < 5);
        assert_true(percent_of(&coarse, CPU_ACROSS_ANY, 1) == 0);
        assert_true(fine.peak[CPU_ACROSS_ANY] >= 0.99 && coarse.peak[CPU_ACROSS_ANY] < 0.6);
}

static void an_idle_machine_has_no_levels_above_0(void **state) {
        CpuLevelSums fine, reference;

        (void)state;
        run(idle, 2, 5, &fine, &reference);
        assert_true(fine.peak[CPU_ACROSS_ANY] == 0);
        assert_int_equal(fine.over_ns[CPU_ACROSS_ANY][N_CPU_THRESHOLDS - 1], 0);
}

static void a_long_observation_consists_of_several_series(void **state) {
        scoped(cpu_levels_deinit) CpuLevels levels = {};
        const CpuLevelSums *sums;
        CpuLevelSums reference = {};
        Machine machine;

        (void)state;
        machine_init(&machine, 2);
        assert_int_equal(cpu_levels_reserve(&levels, 2), 0);
        cpu_levels_begin(&levels, &machine.sample);
        for (uint64_t n = 0; n < 6000; n++) {
                tick(&machine, on_and_off, n, &reference);
                if (n % 5 == 4)
                        cpu_levels_add(&levels, &machine.sample);
        }
        sums = cpu_levels_finish(&levels);
        assert_int_equal(sums->n_windows, 1200);
        assert_true(fabs(percent_of(sums, CPU_ACROSS_MEAN, 0) - 50) <= 5);
}

static void a_cpu_that_goes_offline_is_left_out(void **state) {
        scoped(cpu_levels_deinit) CpuLevels levels = {};
        CpuLevelSums reference = {};
        const CpuLevelSums *sums;
        Machine machine;

        (void)state;
        machine_init(&machine, 2);
        assert_int_equal(cpu_levels_reserve(&levels, 2), 0);
        cpu_levels_add(&levels, &machine.sample); /* no series has begun */
        assert_int_equal(cpu_levels_finish(&levels)->n_windows, 0);

        cpu_levels_begin(&levels, &machine.sample);
        for (uint64_t n = 0; n < 100; n++) {
                tick(&machine, bursts_of_one, n, &reference);
                machine.cpus[1].online = n < 50;
                if (n % 10 == 9)
                        cpu_levels_add(&levels, &machine.sample);
        }
        sums = cpu_levels_finish(&levels);
        assert_true(sums->peak[CPU_ACROSS_ANY] < 0.9);
        assert_int_equal(sums->n_windows, 10);
        cpu_levels_drop(&levels);
        assert_int_equal(cpu_levels_finish(&levels)->n_windows, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_load_that_is_on_and_off_has_a_level_for_each),
                cmocka_unit_test(a_steady_load_is_not_further_off_than_once_a_second),
                cmocka_unit_test(a_burst_of_one_cpu_is_its_own),
                cmocka_unit_test(an_idle_machine_has_no_levels_above_0),
                cmocka_unit_test(a_long_observation_consists_of_several_series),
                cmocka_unit_test(a_cpu_that_goes_offline_is_left_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
