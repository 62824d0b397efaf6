/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "fake_meter.h"
#include "heap.h"

/* --- missing sources, gaps, clocks ---------------------------------------------------------- */

static void counts_of_an_unreadable_file_are_added_later(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL);
        look(&b);

        fake_work(&b.now, 30, 70);
        b.now.disks[0].read_bytes = 100;
        b.now.counter[KERNEL_PSI_IO_SOME] = 10;
        b.now.have = 0;
        assert_int_equal(look_later(&b), METER_OBSERVED);
        assert_false(b.observation.has_cpu || b.observation.has_memory || b.observation.has_root_filesystem);
        assert_true(isnan(b.observation.disk_read_rate) && isnan(b.observation.boot_mib[PERFPY_DISK_READ_BYTES]));
        assert_int_equal(total(&b, TOTAL_CPU_USER), 0);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 0);
        assert_int_equal(meter_totals(b.meter)->have, 0);

        fake_work(&b.now, 30, 70);
        b.now.disks[0].read_bytes = 150;
        b.now.counter[KERNEL_PSI_IO_SOME] = 25;
        b.now.have = ALL_SOURCES;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 60);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 150);
        assert_int_equal(total(&b, TOTAL_PSI_IO_SOME), 25);
        bench_end(&b);
}

static void a_source_that_appears_late_starts_at_its_present_values(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        b.now.have &= ~(1U << SOURCE_VMSTAT);
        look(&b);
        b.now.have = ALL_SOURCES;
        b.now.counter[KERNEL_MAJOR_FAULTS] = 1000;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_MAJOR_FAULTS), 0);
        b.now.counter[KERNEL_MAJOR_FAULTS] = 1001;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_MAJOR_FAULTS), 1);
        bench_end(&b);
}

static void a_suspended_machine_has_totals_but_was_not_observed(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        look(&b);
        fake_second(&b.now, 100);
        assert_int_equal(look(&b), METER_OBSERVED);

        /* One hour of suspend: the clock advanced, the ticks did not. */
        fake_work(&b.now, 50, 50);
        fake_pass(&b.now, 3600 * SECOND);
        assert_int_equal(look(&b), 0);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 300);
        assert_int_equal(total(&b, TOTAL_UNOBSERVED_NS), 3600 * SECOND);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_AT100_NS), SECOND);
        assert_int_equal(meter_events(b.meter)->n_gaps, 1);

        /* The next observation begins afterwards. */
        fake_second(&b.now, 20);
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_int_equal(b.observation.begin_ns, b.now.boottime_ns - SECOND);
        assert_true(b.observation.cpu_mean == 0.2);
        bench_end(&b);
}

static void three_intervals_are_late_and_more_are_a_gap(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        fake_work(&b.now, 1, 1);
        fake_pass(&b.now, 3 * SECOND);
        assert_int_equal(look(&b), METER_OBSERVED);
        fake_pass(&b.now, 3 * SECOND + 1);
        assert_int_equal(look(&b), 0);
        assert_int_equal(meter_events(b.meter)->n_gaps, 1);
        meter_set_interval(b.meter, 10 * SECOND);
        fake_pass(&b.now, 30 * SECOND);
        assert_int_equal(look(&b), METER_OBSERVED);
        bench_end(&b);
}

static void a_clock_step_is_detected_and_slewing_is_not(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        for (unsigned i = 0; i < 10; i++) {
                b.now.realtime_ns += 500 * MS;
                look_later(&b);
        }
        assert_int_equal(meter_events(b.meter)->n_clock_steps, 0);
        b.now.realtime_ns -= 3600 * SECOND;
        look_later(&b);
        assert_int_equal(meter_events(b.meter)->n_clock_steps, 1);
        b.now.realtime_ns += 3600 * SECOND;
        look_later(&b);
        assert_int_equal(meter_events(b.meter)->n_clock_steps, 2);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), 12 * SECOND);
        bench_end(&b);
}

/* --- observations --------------------------------------------------------------------------- */

static void utilization_is_the_mean_the_least_and_the_most_of_the_cpus(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 4);
        look(&b);
        fake_cpu(&b.now, 0, CPU_USER, 100); /* 100 % */
        fake_cpu(&b.now, 1, CPU_SYSTEM, 30);
        fake_cpu(&b.now, 1, CPU_IDLE, 60);
        fake_cpu(&b.now, 1, CPU_IOWAIT, 10); /* 30 %: iowait counts as idle */
        fake_cpu(&b.now, 2, CPU_GUEST, 25);
        fake_cpu(&b.now, 2, CPU_STEAL, 25);
        fake_cpu(&b.now, 2, CPU_IDLE, 50); /* 50 % */
        fake_cpu(&b.now, 3, CPU_IDLE, 100); /* 0 % */
        assert_int_equal(look_later(&b), METER_OBSERVED);
        assert_true(b.observation.has_cpu);
        assert_true(fabs(b.observation.cpu_mean - 0.45) < 1e-12);
        assert_true(fabs(b.observation.cpu_min - 0) < 1e-12);
        assert_true(fabs(b.observation.cpu_max - 1) < 1e-12);
        assert_true(b.observation.has_memory && b.observation.has_root_filesystem);
        assert_true(fabs(b.observation.memory - 0.4) < 1e-12);
        assert_true(fabs(b.observation.root_filesystem - 0.5) < 1e-12);

        /* The mean is above 40 and 20 only, the minimum above none, the maximum above all. */
        assert_int_equal(total(&b, TOTAL_MEAN_OVER80_NS), 0);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER40_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER20_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_ALL_OVER20_NS), 0);
        assert_int_equal(total(&b, TOTAL_ANY_AT100_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_ANY_OVER20_NS), SECOND);
        bench_end(&b);
}

static void a_value_equal_to_a_threshold_reaches_it(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 3);
        look(&b);
        fake_second(&b.now, 80);
        look(&b);
        fake_second(&b.now, 40);
        look(&b);
        fake_second(&b.now, 20);
        look(&b);
        meter_set_interval(b.meter, 100 * SECOND);
        fake_work(&b.now, 9995, 5); /* 99.95 % */
        fake_pass(&b.now, 100 * SECOND);
        look(&b);
        fake_work(&b.now, 9994, 6);
        fake_pass(&b.now, 100 * SECOND);
        look(&b);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 203 * SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_AT100_NS), 100 * SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER80_NS), 201 * SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER40_NS), 202 * SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER20_NS), 203 * SECOND);
        assert_int_equal(total(&b, TOTAL_ALL_OVER80_NS), 201 * SECOND);
        bench_end(&b);
}

static void threshold_time_is_weighed_by_time(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        fake_work(&b.now, 200, 0);
        fake_pass(&b.now, 2 * SECOND);
        look(&b);
        fake_work(&b.now, 0, 50);
        fake_pass(&b.now, 500 * MS);
        look(&b);
        assert_int_equal(total(&b, TOTAL_MEAN_AT100_NS), 2 * SECOND);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 2500 * MS);
        bench_end(&b);
}

static void an_interval_too_short_is_joined_to_the_next(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        fake_work(&b.now, 5, 0);
        fake_pass(&b.now, 50 * MS);
        assert_int_equal(look(&b), 0);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 5); /* totals advance immediately */
        fake_work(&b.now, 0, 4);
        fake_pass(&b.now, 44 * MS);
        assert_int_equal(look(&b), 0);
        fake_work(&b.now, 0, 1);
        fake_pass(&b.now, 1 * MS);
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_int_equal(b.observation.end_ns - b.observation.begin_ns, 95 * MS);
        assert_true(b.observation.cpu_mean == 0.5);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 95 * MS);
        bench_end(&b);
}

static void observed_and_unobserved_time_is_all_the_time(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        fake_second(&b.now, 10);
        look(&b);
        fake_pass(&b.now, 60 * MS); /* joined to the next observation … */
        look(&b);
        fake_pass(&b.now, 100 * SECOND); /* … which never happens */
        look(&b);
        fake_second(&b.now, 10);
        look(&b);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 2 * SECOND);
        assert_int_equal(total(&b, TOTAL_UNOBSERVED_NS), 100 * SECOND + 60 * MS);
        bench_end(&b);
}

static void only_cpus_online_at_both_ends_are_looked_at(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 4);
        b.now.cpus[3].online = false;
        b.now.n_online = 3;
        look(&b);
        fake_second(&b.now, 50);
        b.now.cpus[1].online = false; /* removed */
        b.now.cpus[3].online = true;  /* added, with old counters */
        fake_cpu(&b.now, 3, CPU_USER, 5000);
        fake_cpu(&b.now, 0, CPU_IDLE, 300); /* 50 of 400 */
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_true(fabs(b.observation.cpu_mean - (0.125 + 0.5) / 2) < 1e-12);
        assert_true(fabs(b.observation.cpu_max - 0.5) < 1e-12);
        assert_int_equal(meter_events(b.meter)->n_cpu_changes, 2);
        bench_end(&b);
}

static void a_cpu_without_ticks_is_excluded(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        look(&b);
        fake_cpu(&b.now, 0, CPU_USER, 25);
        fake_cpu(&b.now, 0, CPU_IDLE, 75);
        assert_int_equal(look_later(&b), METER_OBSERVED);
        assert_true(b.observation.has_cpu);
        assert_true(b.observation.cpu_mean == 0.25 && b.observation.cpu_min == 0.25 && b.observation.cpu_max == 0.25);

        assert_int_equal(look_later(&b), METER_OBSERVED); /* no counter has changed */
        assert_false(b.observation.has_cpu);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), SECOND);
        bench_end(&b);
}

/* CPU 0 is busy. The idle time of CPU 1 falls, CPU 1 was offline and online again, or its steal time leaps. */
static void a_cpu_whose_times_cannot_be_does_not_leave_the_mean_to_the_others(void **state) {
        static const struct {
                CpuMode mode;
                uint64_t ticks;
        } faults[] = { { CPU_IDLE, 990 }, { CPU_IDLE, 10 }, { CPU_STEAL, UINT64_C(1844674407370943) } };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(faults); i++) {
                Bench b;
                uint64_t *ticks;

                bench_begin(&b, 2);
                fake_work(&b.now, 0, 1000);
                look(&b);
                fake_cpu(&b.now, 0, CPU_USER, 100);
                ticks = &b.now.cpus[1].times.ticks[faults[i].mode];
                *ticks = faults[i].ticks;
                assert_int_equal(look_later(&b), METER_OBSERVED);
                assert_false(b.observation.has_cpu);
                assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 0);
                assert_true(b.shown.cpus[1].times.ticks[faults[i].mode] <= 1000);

                fake_cpu(&b.now, 0, CPU_USER, 100);
                *ticks += 100;
                assert_int_equal(look_later(&b), METER_OBSERVED);
                assert_true(b.observation.has_cpu);
                assert_true(b.observation.cpu_max == 1);
                assert_true(b.observation.cpu_mean == (faults[i].mode == CPU_IDLE ? 0.5 : 1));
                bench_end(&b);
        }
}

/* iowait falls now and then: the other times of the CPU say what it did. */
static void a_cpu_whose_other_times_are_known_is_observed(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_cpu(&b.now, 0, CPU_IOWAIT, 50);
        look(&b);
        fake_work(&b.now, 50, 50);
        b.now.cpus[0].times.ticks[CPU_IOWAIT] -= 1;
        assert_int_equal(look_later(&b), METER_OBSERVED);
        assert_true(b.observation.has_cpu && b.observation.cpu_mean == 0.5);
        bench_end(&b);
}

static void capacity_follows_the_cpus_that_are_online(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 4);
        look(&b);
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), 4 * SECOND);
        b.now.n_online = 3; /* the mean of both ends: 3.5 */
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), 7500 * MS);
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), 10500 * MS);
        bench_end(&b);
}

static void rates_are_per_second_and_boot_counters_as_they_stand(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL)->read_bytes = 100 * MIB;
        fake_disk(&b.now, "dm-0", DISK_VIRTUAL)->read_bytes = 50 * MIB;
        fake_net(&b.now, "lo", NET_LOOPBACK)->sent_bytes = 7 * MIB;
        fake_net(&b.now, "eth0", NET_PHYSICAL)->sent_bytes = 20 * MIB;
        fake_net(&b.now, "veth0", NET_VIRTUAL)->received_bytes = 3 * MIB;
        look(&b);
        b.now.disks[0].read_bytes += 10 * MIB;
        b.now.disks[1].read_bytes += 10 * MIB;
        b.now.nets[1].sent_bytes += 4 * MIB;
        fake_pass(&b.now, 2 * SECOND);
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_true(b.observation.disk_read_rate == 5.0 * MIB);
        assert_true(b.observation.disk_written_rate == 0);
        assert_true(b.observation.network_sent_rate == 2.0 * MIB);
        assert_true(b.observation.boot_mib[PERFPY_DISK_READ_BYTES] == 170);
        assert_true(b.observation.boot_mib[PERFPY_NET_LO_SENT_BYTES] == 7 &&
                    b.observation.boot_mib[PERFPY_NET_LO_RECV_BYTES] == 0);
        assert_true(b.observation.boot_mib[PERFPY_NET_SENT_BYTES] == 24 &&
                    b.observation.boot_mib[PERFPY_NET_RECV_BYTES] == 3);
        bench_end(&b);
}

/* --- steady state --------------------------------------------------------------------------- */

static void fill_big_machine(Bench *b) {
        char name[DEVICE_NAME_MAX];

        bench_begin(b, 128);
        for (unsigned i = 0; i < 20; i++) {
                (void)snprintf(name, sizeof(name), "nvme%un1", i);
                fake_disk(&b->now, name, DISK_PHYSICAL);
                (void)snprintf(name, sizeof(name), "eth%u", i);
                fake_net(&b->now, name, NET_PHYSICAL);
        }
}

static void nothing_is_allocated_while_devices_stay_the_same(void **state) {
        Bench b;
        Heap before, after;

        (void)state;
        fill_big_machine(&b);
        look(&b);
        fake_second(&b.now, 30);
        look(&b);
        before = heap_look();
        for (unsigned i = 0; i < 100; i++) {
                fake_second(&b.now, i);
                look(&b);
        }
        after = heap_look();
        assert_int_equal(after.uordblks, before.uordblks);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 101 * SECOND);
        bench_end(&b);
}

static uint64_t cpu_time_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/*
 * The limit is a hundred times the usual time, so that slow machines and instrumented builds pass, but O(n²) does
 * not.
 */
static void a_sample_of_128_cpus_is_taken_in_microseconds(void **state) {
        Bench b;
        uint64_t began;

        (void)state;
        fill_big_machine(&b);
        look(&b);
        began = cpu_time_ns();
        for (unsigned i = 0; i < 1000; i++) {
                fake_pass(&b.now, SECOND);
                fake_cpu(&b.now, i % 128, CPU_USER, 10);
                look(&b);
        }
        assert_true((cpu_time_ns() - began) / 1000 < 1 * MS);
        bench_end(&b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(counts_of_an_unreadable_file_are_added_later),
                cmocka_unit_test(a_source_that_appears_late_starts_at_its_present_values),
                cmocka_unit_test(a_suspended_machine_has_totals_but_was_not_observed),
                cmocka_unit_test(three_intervals_are_late_and_more_are_a_gap),
                cmocka_unit_test(a_clock_step_is_detected_and_slewing_is_not),
                cmocka_unit_test(utilization_is_the_mean_the_least_and_the_most_of_the_cpus),
                cmocka_unit_test(a_value_equal_to_a_threshold_reaches_it),
                cmocka_unit_test(threshold_time_is_weighed_by_time),
                cmocka_unit_test(an_interval_too_short_is_joined_to_the_next),
                cmocka_unit_test(observed_and_unobserved_time_is_all_the_time),
                cmocka_unit_test(only_cpus_online_at_both_ends_are_looked_at),
                cmocka_unit_test(a_cpu_without_ticks_is_excluded),
                cmocka_unit_test(a_cpu_whose_times_cannot_be_does_not_leave_the_mean_to_the_others),
                cmocka_unit_test(a_cpu_whose_other_times_are_known_is_observed),
                cmocka_unit_test(capacity_follows_the_cpus_that_are_online),
                cmocka_unit_test(rates_are_per_second_and_boot_counters_as_they_stand),
                cmocka_unit_test(nothing_is_allocated_while_devices_stay_the_same),
                cmocka_unit_test(a_sample_of_128_cpus_is_taken_in_microseconds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
