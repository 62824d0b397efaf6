#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fake_sample.h"
#include "model/meter.h"
#include "util/parse.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define OTHER_BOOT "99999999-2222-3333-4444-555555555555"

/* A machine and the meter that looks at it. */
typedef struct Bench {
        Sample now;
        Meter *meter;
        Observation observation;
} Bench;

static void bench_begin(Bench *bench, size_t n_cpus) {
        *bench = (Bench){};
        fake_init(&bench->now, n_cpus);
        assert_int_equal(meter_new(&bench->meter, SECOND), 0);
}

static void bench_end(Bench *bench) {
        sample_deinit(&bench->now);
        meter_free(bench->meter);
}

static int look(Bench *bench) {
        return meter_advance(bench->meter, &bench->now, &bench->observation);
}

/* A second later. */
static int look_later(Bench *bench) {
        fake_pass(&bench->now, SECOND);
        return look(bench);
}

static uint64_t total(const Bench *bench, Total t) {
        return meter_totals(bench->meter)->value[t];
}

/* --- counters ------------------------------------------------------------------------------- */

static void the_first_sample_is_a_beginning_and_adds_nothing(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        assert_int_equal(meter_totals(b.meter)->boottime_ns, 0);
        fake_work(&b.now, 500, 500);
        fake_disk(&b.now, "sda", DISK_PHYSICAL)->read_bytes = 5 * GIB;
        assert_int_equal(look(&b), 0);
        for (Total t = 0; t < N_TOTALS; t++)
                assert_int_equal(total(&b, t), 0);
        assert_int_equal(meter_totals(b.meter)->boottime_ns, 100 * SECOND);
        assert_int_equal(meter_totals(b.meter)->have, ALL_SOURCES);
        bench_end(&b);
}

static void every_counter_lands_in_its_total(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL);
        fake_disk(&b.now, "dm-0", DISK_VIRTUAL);
        fake_net(&b.now, "lo", NET_LOOPBACK);
        fake_net(&b.now, "eth0", NET_PHYSICAL);
        fake_net(&b.now, "docker0", NET_VIRTUAL);
        look(&b);

        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++)
                fake_cpu(&b.now, 0, mode, 1 + mode);
        b.now.disks[0] = (SampleDisk){ .name = "sda", .read_bytes = 11, .write_bytes = 12, .reads = 13, .writes = 14 };
        b.now.disks[1].read_bytes = 21;
        b.now.disks[1].write_bytes = 22;
        b.now.disks[1].reads = 99; /* not kept of virtual ones */
        b.now.nets[0].sent_bytes = 31;
        b.now.nets[0].received_bytes = 32;
        b.now.nets[1].sent_bytes = 33;
        b.now.nets[1].received_bytes = 34;
        b.now.nets[2].sent_bytes = 35;
        b.now.nets[2].received_bytes = 36;
        b.now.context_switches = 41;
        b.now.pgmajfault = 42;
        b.now.oom_kill = 43;
        b.now.pswpin_pages = 44;
        b.now.pswpout_pages = 45;
        b.now.psi_cpu.some_us = 51;
        b.now.psi_memory = (SamplePsi){ 52, 53 };
        b.now.psi_io = (SamplePsi){ 54, 55 };
        assert_int_equal(look_later(&b), METER_OBSERVED);

        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++)
                assert_int_equal(total(&b, (Total)(TOTAL_CPU_USER + mode)), 1 + mode);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 11);
        assert_int_equal(total(&b, TOTAL_DISK_WRITE_BYTES), 12);
        assert_int_equal(total(&b, TOTAL_DISK_READS), 13);
        assert_int_equal(total(&b, TOTAL_DISK_WRITES), 14);
        assert_int_equal(total(&b, TOTAL_VIRT_DISK_READ_BYTES), 21);
        assert_int_equal(total(&b, TOTAL_VIRT_DISK_WRITE_BYTES), 22);
        assert_int_equal(total(&b, TOTAL_NET_LO_SENT_BYTES), 31);
        assert_int_equal(total(&b, TOTAL_NET_LO_RECV_BYTES), 32);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 33);
        assert_int_equal(total(&b, TOTAL_NET_RECV_BYTES), 34);
        assert_int_equal(total(&b, TOTAL_NET_VIRT_SENT_BYTES), 35);
        assert_int_equal(total(&b, TOTAL_NET_VIRT_RECV_BYTES), 36);
        assert_int_equal(total(&b, TOTAL_CONTEXT_SWITCHES), 41);
        assert_int_equal(total(&b, TOTAL_MAJOR_FAULTS), 42);
        assert_int_equal(total(&b, TOTAL_OOM_KILLS), 43);
        assert_int_equal(total(&b, TOTAL_SWAP_IN), 44);
        assert_int_equal(total(&b, TOTAL_SWAP_OUT), 45);
        assert_int_equal(total(&b, TOTAL_PSI_CPU_SOME_US), 51);
        assert_int_equal(total(&b, TOTAL_PSI_MEMORY_SOME_US), 52);
        assert_int_equal(total(&b, TOTAL_PSI_MEMORY_FULL_US), 53);
        assert_int_equal(total(&b, TOTAL_PSI_IO_SOME_US), 54);
        assert_int_equal(total(&b, TOTAL_PSI_IO_FULL_US), 55);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_UNOBSERVED_NS), 0);
        bench_end(&b);
}

static void a_sample_that_is_not_newer_is_ignored(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        fake_work(&b.now, 10, 90);
        assert_int_equal(look(&b), 0);
        b.now.boottime_ns -= SECOND;
        assert_int_equal(look(&b), 0);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 0);
        b.now.boottime_ns += 2 * SECOND;
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 10);
        bench_end(&b);
}

static void cpu_time_that_goes_back_a_little_waits_until_it_is_passed(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_cpu(&b.now, 0, CPU_IOWAIT, 1000);
        look(&b);
        b.now.cpu.ticks[CPU_IOWAIT] = 1010;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_IOWAIT), 10);
        b.now.cpu.ticks[CPU_IOWAIT] = 990;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_IOWAIT), 10);
        b.now.cpu.ticks[CPU_IOWAIT] = 1015; /* 15 over where it began, not 25 */
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_IOWAIT), 15);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 0);
        bench_end(&b);
}

static void idle_that_goes_back_three_seconds_is_taken_up_anew(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_cpu(&b.now, 0, CPU_IDLE, 10000);
        look(&b);
        b.now.cpu.ticks[CPU_IDLE] = 9700;
        b.now.cpu.ticks[CPU_USER] = 100;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_IDLE), 0);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 100);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 1);
        b.now.cpu.ticks[CPU_IDLE] = 9750;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_IDLE), 50);
        bench_end(&b);
}

static void a_plain_counter_that_goes_back_adds_nothing_and_goes_on(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        b.now.pgmajfault = 1000;
        look(&b);
        b.now.pgmajfault = 7;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_MAJOR_FAULTS), 0);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 1);
        b.now.pgmajfault = 9;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_MAJOR_FAULTS), 2);
        bench_end(&b);
}

/* --- devices -------------------------------------------------------------------------------- */

static void an_interface_of_32_bits_goes_round(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_net(&b.now, "eth0", NET_PHYSICAL)->received_bytes = 4294967000; /* 2^32 - 296 */
        look(&b);
        b.now.nets[0].received_bytes = 1000;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_RECV_BYTES), 1296);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 0);
        bench_end(&b);
}

static void a_disk_of_32_bits_goes_round_in_sectors(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL)->read_bytes = (UINT64_C(4294967296) - 10) * 512;
        b.now.disks[0].reads = UINT32_MAX;
        look(&b);
        b.now.disks[0].read_bytes = 20 * 512;
        b.now.disks[0].reads = 4;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 30 * 512);
        assert_int_equal(total(&b, TOTAL_DISK_READS), 5);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 0);
        bench_end(&b);
}

static void what_would_have_gone_round_too_fast_began_anew(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        /* From 3 GB round to 100 KB within 100 ms would be 13 GB/s, on an interface with 32 bits. */
        fake_net(&b.now, "eth0", NET_PHYSICAL)->received_bytes = 3000000000;
        look(&b);
        b.now.nets[0].received_bytes = 100000;
        fake_pass(&b.now, 100 * MS);
        look(&b);
        assert_int_equal(total(&b, TOTAL_NET_RECV_BYTES), 100000);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 1);
        bench_end(&b);
}

static void a_device_that_began_anew_counts_from_zero_with_all_its_counters(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL)->read_bytes = 100 * MIB;
        b.now.disks[0].write_bytes = 1 * MIB;
        look(&b);
        b.now.disks[0].read_bytes = 3 * MIB;
        b.now.disks[0].write_bytes = 2 * MIB; /* higher than before, but not by 1 MiB */
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 3 * MIB);
        assert_int_equal(total(&b, TOTAL_DISK_WRITE_BYTES), 2 * MIB);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 1);
        bench_end(&b);
}

static void a_driver_whose_sum_jitters_adds_no_phantom(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_net(&b.now, "eth0", NET_PHYSICAL)->sent_bytes = GIB;
        look(&b);
        b.now.nets[0].sent_bytes = GIB - 100;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 0);
        b.now.nets[0].sent_bytes = GIB + 50;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 50);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 0);
        bench_end(&b);
}

static void devices_are_known_by_name_whatever_their_order(void **state) {
        Bench b;
        SampleDisk swapped;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL)->read_bytes = 1000;
        fake_disk(&b.now, "sdb", DISK_PHYSICAL)->read_bytes = 9000;
        look(&b);
        b.now.disks[0].read_bytes += 1;
        b.now.disks[1].read_bytes += 2;
        swapped = b.now.disks[0];
        b.now.disks[0] = b.now.disks[1];
        b.now.disks[1] = swapped;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 3);
        bench_end(&b);
}

static void a_device_plugged_in_brings_all_it_counted(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        fake_disk(&b.now, "sdb", DISK_PHYSICAL)->write_bytes = 5 * MIB;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_WRITE_BYTES), 5 * MIB);
        bench_end(&b);
}

static void a_device_that_may_have_been_there_brings_nothing(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        b.now.have &= ~(1U << SOURCE_DISKSTATS);
        look_later(&b);
        b.now.have = ALL_SOURCES;
        fake_disk(&b.now, "sdb", DISK_PHYSICAL)->write_bytes = 5 * MIB;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_WRITE_BYTES), 0);
        b.now.disks[0].write_bytes += 7;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_WRITE_BYTES), 7);
        bench_end(&b);
}

static void an_interface_that_comes_with_terabytes_was_elsewhere_before(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        fake_net(&b.now, "mlx0", NET_PHYSICAL)->received_bytes = 5000 * GIB;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_RECV_BYTES), 0);
        b.now.nets[0].received_bytes += GIB;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_RECV_BYTES), GIB);
        bench_end(&b);
}

static void a_device_that_vanishes_takes_nothing_along(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL);
        fake_disk(&b.now, "sdb", DISK_PHYSICAL);
        look(&b);
        b.now.disks[0].read_bytes = 100;
        b.now.disks[1].read_bytes = 200;
        look_later(&b);
        fake_unplug_disk(&b.now, "sda");
        b.now.disks[0].read_bytes += 5;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 305);
        bench_end(&b);
}

static void a_physical_device_comes_back_with_its_counters_and_a_virtual_one_is_new(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_net(&b.now, "eth1", NET_PHYSICAL)->sent_bytes = 1000;
        fake_net(&b.now, "veth7", NET_VIRTUAL)->sent_bytes = 1000;
        look(&b);
        fake_unplug_net(&b.now, "eth1");
        fake_unplug_net(&b.now, "veth7");
        look_later(&b);
        fake_net(&b.now, "eth1", NET_PHYSICAL)->sent_bytes = 1500;
        fake_net(&b.now, "veth7", NET_VIRTUAL)->sent_bytes = 1500;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 500);
        assert_int_equal(total(&b, TOTAL_NET_VIRT_SENT_BYTES), 1500);
        bench_end(&b);
}

static void a_device_under_another_class_starts_at_what_it_shows(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_net(&b.now, "eth0", NET_PHYSICAL)->sent_bytes = 1000;
        look(&b);
        b.now.nets[0].class = NET_VIRTUAL;
        b.now.nets[0].sent_bytes = 2000;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 0);
        assert_int_equal(total(&b, TOTAL_NET_VIRT_SENT_BYTES), 0);
        b.now.nets[0].sent_bytes = 2010;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_VIRT_SENT_BYTES), 10);
        bench_end(&b);
}

static void devices_may_come_and_go_for_ever(void **state) {
        Bench b;
        char name[DEVICE_NAME_MAX];

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        for (unsigned i = 0; i < 2000; i++) {
                (void)snprintf(name, sizeof(name), "eth%u", i);
                fake_net(&b.now, name, NET_PHYSICAL)->sent_bytes = 3;
                look_later(&b);
                fake_unplug_net(&b.now, name);
        }
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 6000);
        bench_end(&b);
}

/* --- holes, gaps, clocks -------------------------------------------------------------------- */

static void what_was_counted_while_a_file_could_not_be_read_is_added_later(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL);
        look(&b);

        fake_work(&b.now, 30, 70);
        b.now.disks[0].read_bytes = 100;
        b.now.psi_io.some_us = 10;
        b.now.have = 0;
        assert_int_equal(look_later(&b), METER_OBSERVED);
        assert_false(b.observation.has_cpu || b.observation.has_memory || b.observation.has_root_filesystem);
        assert_true(isnan(b.observation.disk_read_rate) && isnan(b.observation.boot_mib[0]));
        assert_int_equal(total(&b, TOTAL_CPU_USER), 0);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 0);
        assert_int_equal(meter_totals(b.meter)->have, 0);

        fake_work(&b.now, 30, 70);
        b.now.disks[0].read_bytes = 150;
        b.now.psi_io.some_us = 25;
        b.now.have = ALL_SOURCES;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 60);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 150);
        assert_int_equal(total(&b, TOTAL_PSI_IO_SOME_US), 25);
        bench_end(&b);
}

static void a_source_that_appears_late_starts_at_what_it_shows(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        b.now.have &= ~(1U << SOURCE_VMSTAT);
        look(&b);
        b.now.have = ALL_SOURCES;
        b.now.pgmajfault = 1000;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_MAJOR_FAULTS), 0);
        b.now.pgmajfault = 1001;
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

        /* An hour asleep: the clock went on, the ticks did not. */
        fake_work(&b.now, 50, 50);
        fake_pass(&b.now, 3600 * SECOND);
        assert_int_equal(look(&b), 0);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 300);
        assert_int_equal(total(&b, TOTAL_UNOBSERVED_NS), 3600 * SECOND);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_AT100_NS), SECOND);
        assert_int_equal(meter_events(b.meter)->n_gaps, 1);

        /* What is observed next begins after it. */
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

static void a_clock_that_is_set_is_noticed_and_one_that_slews_is_not(void **state) {
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
        fake_cpu(&b.now, 1, CPU_IOWAIT, 10); /* 30 %: waiting for I/O is idle */
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

        /* Mean at 40 and 20, all at nothing, any at everything. */
        assert_int_equal(total(&b, TOTAL_MEAN_OVER80_NS), 0);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER40_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER20_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_ALL_OVER20_NS), 0);
        assert_int_equal(total(&b, TOTAL_ANY_AT100_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_ANY_OVER20_NS), SECOND);
        bench_end(&b);
}

static void a_threshold_is_reached_by_what_equals_it(void **state) {
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
        fake_work(&b.now, 9995, 5); /* 99.95 % */
        look_later(&b);
        fake_work(&b.now, 9994, 6);
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 5 * SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_AT100_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER80_NS), 3 * SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER40_NS), 4 * SECOND);
        assert_int_equal(total(&b, TOTAL_MEAN_OVER20_NS), 5 * SECOND);
        assert_int_equal(total(&b, TOTAL_ALL_OVER80_NS), 3 * SECOND);
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
        assert_int_equal(total(&b, TOTAL_CPU_USER), 5); /* totals do not wait */
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
        fake_pass(&b.now, 60 * MS); /* waits for the next … */
        look(&b);
        fake_pass(&b.now, 100 * SECOND); /* … which never comes */
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
        b.now.cpus[1].online = false; /* left */
        b.now.cpus[3].online = true;  /* came, with old counters */
        fake_cpu(&b.now, 3, CPU_USER, 5000);
        fake_cpu(&b.now, 0, CPU_IDLE, 300); /* 50 of 400 */
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_true(fabs(b.observation.cpu_mean - (0.125 + 0.5) / 2) < 1e-12);
        assert_true(fabs(b.observation.cpu_max - 0.5) < 1e-12);
        assert_int_equal(meter_events(b.meter)->n_cpu_changes, 2);
        bench_end(&b);
}

static void a_cpu_that_stood_still_or_began_anew_is_left_out(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 3);
        fake_work(&b.now, 0, 1000);
        look(&b);
        fake_cpu(&b.now, 0, CPU_USER, 25);
        fake_cpu(&b.now, 0, CPU_IDLE, 75);
        /* CPU 1: nothing at all. CPU 2 was off and on again. */
        b.now.cpus[2].times.ticks[CPU_IDLE] = 10;
        b.now.cpus[2].times.ticks[CPU_USER] = 90;
        assert_int_equal(look_later(&b), METER_OBSERVED);
        assert_true(b.observation.has_cpu);
        assert_true(b.observation.cpu_mean == 0.25 && b.observation.cpu_min == 0.25 && b.observation.cpu_max == 0.25);

        assert_int_equal(look_later(&b), METER_OBSERVED); /* all stand still */
        assert_false(b.observation.has_cpu);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), SECOND);
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
        assert_true(b.observation.disk_write_rate == 0);
        assert_true(b.observation.net_sent_rate == 2.0 * MIB);
        assert_true(b.observation.boot_mib[0] == 170);
        assert_true(b.observation.boot_mib[2] == 7 && b.observation.boot_mib[3] == 0);
        assert_true(b.observation.boot_mib[4] == 24 && b.observation.boot_mib[5] == 3);
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
        struct mallinfo2 before, after;

        (void)state;
        fill_big_machine(&b);
        look(&b);
        fake_second(&b.now, 30);
        look(&b);
        before = mallinfo2();
        for (unsigned i = 0; i < 100; i++) {
                fake_second(&b.now, i);
                look(&b);
        }
        after = mallinfo2();
        assert_int_equal(after.uordblks, before.uordblks);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), 101 * SECOND);
        bench_end(&b);
}

static uint64_t cpu_time_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* A hundred times what it takes, so that a slow machine or an instrumented build passes and O(n²) does not. */
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

/* --- save and restore ----------------------------------------------------------------------- */

/* Another meter, as after a restart. */
static int restart(Bench *b, const char *boot_id, const char *boot_id_now) {
        Meter *meter = NULL;
        char *text = NULL;
        int r;

        assert_int_equal(meter_save(b->meter, boot_id, &text), 0);
        assert_int_equal(meter_new(&meter, SECOND), 0);
        r = meter_restore(meter, text, boot_id_now);
        meter_free(b->meter);
        b->meter = meter;
        free(text);
        return r;
}

static void fill_and_run(Bench *b) {
        bench_begin(b, 2);
        fake_disk(&b->now, "sda", DISK_PHYSICAL)->read_bytes = 1000;
        fake_disk(&b->now, "odd name=50%\n\x80", DISK_VIRTUAL)->read_bytes = 70;
        fake_net(&b->now, "eth0", NET_PHYSICAL)->sent_bytes = 5000;
        fake_work(&b->now, 1000, 1000);
        b->now.context_switches = 100000;
        look(b);
        fake_second(&b->now, 100);
        b->now.disks[0].read_bytes += 10;
        b->now.nets[0].sent_bytes += 20;
        b->now.context_switches += 30;
        assert_int_equal(look(b), METER_OBSERVED);
}

static void a_restored_meter_goes_on_as_if_it_had_never_stopped(void **state) {
        Bench b;
        Totals before;

        (void)state;
        fill_and_run(&b);
        before = *meter_totals(b.meter);
        assert_int_equal(restart(&b, BOOT, BOOT), 0);
        assert_memory_equal(meter_totals(b.meter), &before, sizeof(before));
        assert_int_equal(meter_last_sample(b.meter)->boottime_ns, 0);

        /* A second of which nobody saw anything. */
        fake_second(&b.now, 40);
        b.now.disks[0].read_bytes += 1;
        b.now.disks[1].read_bytes += 2;
        b.now.nets[0].sent_bytes += 3;
        b.now.context_switches += 4;
        fake_disk(&b.now, "sdb", DISK_PHYSICAL)->read_bytes = 500; /* new since */
        assert_int_equal(look(&b), 0);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 280);
        assert_int_equal(total(&b, TOTAL_CPU_IDLE), 120);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 511);
        assert_int_equal(total(&b, TOTAL_VIRT_DISK_READ_BYTES), 2);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 23);
        assert_int_equal(total(&b, TOTAL_CONTEXT_SWITCHES), 34);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), 4 * SECOND);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_UNOBSERVED_NS), SECOND);
        assert_int_equal(meter_events(b.meter)->n_gaps, 1);

        fake_second(&b.now, 20);
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_true(b.observation.cpu_mean == 0.2);
        bench_end(&b);
}

static void time_that_waited_to_be_observed_is_not_lost_in_a_restart(void **state) {
        Bench b;

        (void)state;
        fill_and_run(&b);
        fake_pass(&b.now, 50 * MS);
        look(&b);
        assert_int_equal(restart(&b, BOOT, BOOT), 0);
        fake_pass(&b.now, 10 * SECOND);
        look(&b);
        assert_int_equal(total(&b, TOTAL_UNOBSERVED_NS), 10 * SECOND + 50 * MS);
        bench_end(&b);
}

static void a_source_missing_when_saved_keeps_its_last_known_counters(void **state) {
        Bench b;

        (void)state;
        fill_and_run(&b);
        b.now.have &= ~(1U << SOURCE_STAT | 1U << SOURCE_DISKSTATS);
        look_later(&b);
        assert_int_equal(restart(&b, BOOT, BOOT), 0);
        assert_int_equal(meter_totals(b.meter)->have, ALL_SOURCES & ~(1U << SOURCE_STAT | 1U << SOURCE_DISKSTATS));
        b.now.have = ALL_SOURCES;
        fake_second(&b.now, 10);
        b.now.disks[0].read_bytes += 5;
        look(&b);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 220);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 15);
        bench_end(&b);
}

static void in_another_boot_totals_stay_and_counters_begin_anew(void **state) {
        Bench b;
        Totals before;

        (void)state;
        fill_and_run(&b);
        before = *meter_totals(b.meter);
        assert_int_equal(restart(&b, BOOT, OTHER_BOOT), METER_OTHER_BOOT);
        assert_memory_equal(meter_totals(b.meter), &before, sizeof(before));

        b.now.boottime_ns = 20 * SECOND; /* the clock began anew as well */
        assert_int_equal(look(&b), 0);
        assert_memory_equal(meter_totals(b.meter)->value, before.value, sizeof(before.value));
        assert_int_equal(meter_totals(b.meter)->boottime_ns, 20 * SECOND);
        fake_second(&b.now, 100);
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 400);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), 4 * SECOND);
        bench_end(&b);
}

static void a_boot_without_an_id_is_another_one(void **state) {
        Bench b;

        (void)state;
        fill_and_run(&b);
        assert_int_equal(restart(&b, "", ""), METER_OTHER_BOOT);
        bench_end(&b);
}

static void a_meter_saved_before_its_first_sample_starts_with_one(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        assert_int_equal(restart(&b, BOOT, BOOT), 0);
        fake_work(&b.now, 100, 100);
        assert_int_equal(look(&b), 0);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 0);
        bench_end(&b);
}

static void a_checkpoint_of_a_later_version_is_read(void **state) {
        static const char text[] =
                "perfd-meter\n"
                "meter boot_id=" BOOT " base_ns=5 colour=blue\n"
                "totals boottime_ns=7 have=stat,gpu CPU_USER=123 GPU_JOULES=x\n"
                "gpu name=0 busy=many\n"
                "disks\n"
                "disk name=sda class=physical reads=5 discards=soon\n"
                "end\n";
        Meter *meter = NULL;

        (void)state;
        assert_int_equal(meter_new(&meter, SECOND), 0);
        assert_int_equal(meter_restore(meter, text, BOOT), 0);
        assert_int_equal(meter_totals(meter)->value[TOTAL_CPU_USER], 123);
        assert_int_equal(meter_totals(meter)->have, 1U << SOURCE_STAT);
        meter_free(meter);
}

static void what_is_no_checkpoint_leaves_the_meter_as_it_was(void **state) {
        static const char *const texts[] = {
                "",
                "\n\n",
                "{}",
                "perfd-meter\n",
                "perfd-meter\ntotals CPU_USER=1\n",                             /* cut short */
                "perfd-meter\ntotals CPU_USER=-1\nend\n",
                "perfd-meter\ntotals CPU_USER=18446744073709551616\nend\n",
                "perfd-meter\nraw CPU_USER=\nend\n",
                "perfd-meter\nmeter base_ns=8\ntotals boottime_ns=7\nend\n",    /* observed in the future */
                "perfd-meter\nknown online=4294967296\nend\n",
                "perfd-meter\ndisk class=physical\nend\n",                      /* no name */
                "perfd-meter\ndisk name=a class=imaginary\nend\n",
                "perfd-meter\ndisk name=a%4 class=physical\nend\n",
                "perfd-meter\ndisk name=a%00b class=physical\nend\n",
                "perfd-meter\nnet name=0123456789012345678901234567890123 class=physical\nend\n",
        };
        Bench b;
        Totals before;

        (void)state;
        fill_and_run(&b);
        before = *meter_totals(b.meter);
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_int_equal(meter_restore(b.meter, texts[i], BOOT), METER_MALFORMED);
        assert_memory_equal(meter_totals(b.meter), &before, sizeof(before));
        fake_second(&b.now, 10);
        assert_int_equal(look(&b), METER_OBSERVED);
        bench_end(&b);
}

static void a_checkpoint_cut_anywhere_is_none(void **state) {
        Bench b;
        Meter *meter = NULL;
        char *text = NULL;
        size_t n;

        (void)state;
        fill_and_run(&b);
        assert_int_equal(meter_new(&meter, SECOND), 0);
        assert_int_equal(meter_save(b.meter, BOOT, &text), 0);
        n = strlen(text);
        text[n - 1] = '\0'; /* the last newline says nothing */
        assert_int_equal(meter_restore(meter, text, BOOT), 0);
        while (--n > 0) {
                text[n - 1] = '\0';
                assert_int_equal(meter_restore(meter, text, BOOT), METER_MALFORMED);
        }
        free(text);
        meter_free(meter);
        bench_end(&b);
}

/* --- totals as text ------------------------------------------------------------------------- */

static void totals_of_any_size_go_through_text(void **state) {
        Totals totals = { .boottime_ns = UINT64_MAX, .realtime_ns = UINT64_MAX, .have = ALL_SOURCES }, again;
        char text[TOTALS_TEXT_MAX];

        (void)state;
        for (Total t = 0; t < N_TOTALS; t++)
                totals.value[t] = UINT64_MAX - (uint64_t)t;
        assert_int_equal(totals_format(&totals, text, sizeof(text)), 0);
        assert_int_equal(totals_parse(text, &again), 0);
        assert_memory_equal(&again, &totals, sizeof(again));
        assert_true(totals_format(&totals, text, 20) < 0);

        totals = (Totals){};
        assert_int_equal(totals_format(&totals, text, sizeof(text)), 0);
        assert_int_equal(totals_parse(text, &again), 0);
        assert_memory_equal(&again, &totals, sizeof(again));
        assert_int_equal(totals_parse("CPU_USER=one", &again), PARSE_MALFORMED);
        assert_string_equal(total_name(TOTAL_CPU_GUEST_NICE), "CPU_GUEST_NICE");
}

/* --- whatever happens ----------------------------------------------------------------------- */

/* A fixed sequence that looks random (Numerical Recipes' generator). */
static uint32_t draw(uint32_t *seed, uint32_t n) {
        *seed = *seed * 1664525U + 1013904223U;
        return (uint32_t)(((uint64_t)*seed * n) >> 32);
}

static void shake_devices(Sample *s, uint32_t *seed) {
        static const char *const names[] = { "a", "b", "c", "d", "e" };
        const char *name = names[draw(seed, 5)];

        switch (draw(seed, 6)) {
        case 0:
                fake_disk(s, name, draw(seed, 4) ? DISK_PHYSICAL : DISK_VIRTUAL)->read_bytes = draw(seed, 1000);
                break;
        case 1:
                fake_net(s, name, (NetClass)draw(seed, N_NET_CLASSES))->sent_bytes = draw(seed, 2) ? 4294967290U : 12;
                break;
        case 2:
                fake_disk(s, name, DISK_PHYSICAL);
                fake_unplug_disk(s, name);
                break;
        case 3:
                fake_net(s, name, NET_VIRTUAL);
                fake_unplug_net(s, name);
                break;
        default:
                fake_disk(s, name, DISK_PHYSICAL)->read_bytes += draw(seed, 100000);
                fake_net(s, name, NET_PHYSICAL)->sent_bytes += draw(seed, 100000);
        }
}

static void shake(Sample *s, uint32_t *seed) {
        static const uint64_t waits[] = { 1 * MS, 50 * MS, 200 * MS, SECOND, SECOND, SECOND, 2 * SECOND, 100 * SECOND };

        fake_pass(s, waits[draw(seed, 8)]);
        fake_work(s, draw(seed, 100), draw(seed, 100));
        s->context_switches += draw(seed, 1000);
        s->have = draw(seed, 5) ? ALL_SOURCES : draw(seed, ALL_SOURCES + 1);
        if (draw(seed, 10) == 0)
                s->cpu.ticks[draw(seed, N_CPU_MODES)] = draw(seed, 2000);
        if (draw(seed, 20) == 0)
                s->context_switches = 0;
        if (draw(seed, 10) == 0)
                s->cpus[draw(seed, (uint32_t)s->n_cpus)].online ^= true;
        shake_devices(s, seed);
}

static void totals_never_go_back_and_no_share_leaves_its_range(void **state) {
        (void)state;
        for (uint32_t run = 0; run < 20; run++) {
                uint32_t seed = run;
                Totals before = {};
                Bench b;

                bench_begin(&b, 3);
                for (unsigned i = 0; i < 300; i++) {
                        int r;

                        shake(&b.now, &seed);
                        if (draw(&seed, 40) == 0)
                                assert_int_equal(restart(&b, BOOT, BOOT), 0);
                        r = look(&b);
                        assert_true(r >= 0);
                        for (Total t = 0; t < N_TOTALS; t++)
                                assert_true(total(&b, t) >= before.value[t]);
                        if (r == METER_OBSERVED && b.observation.has_cpu)
                                assert_true(b.observation.cpu_min >= 0 && b.observation.cpu_min <= b.observation.cpu_mean + 1e-12 &&
                                            b.observation.cpu_mean <= b.observation.cpu_max + 1e-12 && b.observation.cpu_max <= 1);
                        before = *meter_totals(b.meter);
                }
                /* 5 devices of 100 kB a step, and what a plug or a wrap may bring. */
                assert_true(total(&b, TOTAL_DISK_READ_BYTES) < 300 * 200000);
                bench_end(&b);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_sample_is_a_beginning_and_adds_nothing),
                cmocka_unit_test(every_counter_lands_in_its_total),
                cmocka_unit_test(a_sample_that_is_not_newer_is_ignored),
                cmocka_unit_test(cpu_time_that_goes_back_a_little_waits_until_it_is_passed),
                cmocka_unit_test(idle_that_goes_back_three_seconds_is_taken_up_anew),
                cmocka_unit_test(a_plain_counter_that_goes_back_adds_nothing_and_goes_on),
                cmocka_unit_test(an_interface_of_32_bits_goes_round),
                cmocka_unit_test(a_disk_of_32_bits_goes_round_in_sectors),
                cmocka_unit_test(what_would_have_gone_round_too_fast_began_anew),
                cmocka_unit_test(a_device_that_began_anew_counts_from_zero_with_all_its_counters),
                cmocka_unit_test(a_driver_whose_sum_jitters_adds_no_phantom),
                cmocka_unit_test(devices_are_known_by_name_whatever_their_order),
                cmocka_unit_test(a_device_plugged_in_brings_all_it_counted),
                cmocka_unit_test(a_device_that_may_have_been_there_brings_nothing),
                cmocka_unit_test(an_interface_that_comes_with_terabytes_was_elsewhere_before),
                cmocka_unit_test(a_device_that_vanishes_takes_nothing_along),
                cmocka_unit_test(a_physical_device_comes_back_with_its_counters_and_a_virtual_one_is_new),
                cmocka_unit_test(a_device_under_another_class_starts_at_what_it_shows),
                cmocka_unit_test(devices_may_come_and_go_for_ever),
                cmocka_unit_test(what_was_counted_while_a_file_could_not_be_read_is_added_later),
                cmocka_unit_test(a_source_that_appears_late_starts_at_what_it_shows),
                cmocka_unit_test(a_suspended_machine_has_totals_but_was_not_observed),
                cmocka_unit_test(three_intervals_are_late_and_more_are_a_gap),
                cmocka_unit_test(a_clock_that_is_set_is_noticed_and_one_that_slews_is_not),
                cmocka_unit_test(utilization_is_the_mean_the_least_and_the_most_of_the_cpus),
                cmocka_unit_test(a_threshold_is_reached_by_what_equals_it),
                cmocka_unit_test(threshold_time_is_weighed_by_time),
                cmocka_unit_test(an_interval_too_short_is_joined_to_the_next),
                cmocka_unit_test(observed_and_unobserved_time_is_all_the_time),
                cmocka_unit_test(only_cpus_online_at_both_ends_are_looked_at),
                cmocka_unit_test(a_cpu_that_stood_still_or_began_anew_is_left_out),
                cmocka_unit_test(capacity_follows_the_cpus_that_are_online),
                cmocka_unit_test(rates_are_per_second_and_boot_counters_as_they_stand),
                cmocka_unit_test(nothing_is_allocated_while_devices_stay_the_same),
                cmocka_unit_test(a_sample_of_128_cpus_is_taken_in_microseconds),
                cmocka_unit_test(a_restored_meter_goes_on_as_if_it_had_never_stopped),
                cmocka_unit_test(time_that_waited_to_be_observed_is_not_lost_in_a_restart),
                cmocka_unit_test(a_source_missing_when_saved_keeps_its_last_known_counters),
                cmocka_unit_test(in_another_boot_totals_stay_and_counters_begin_anew),
                cmocka_unit_test(a_boot_without_an_id_is_another_one),
                cmocka_unit_test(a_meter_saved_before_its_first_sample_starts_with_one),
                cmocka_unit_test(a_checkpoint_of_a_later_version_is_read),
                cmocka_unit_test(what_is_no_checkpoint_leaves_the_meter_as_it_was),
                cmocka_unit_test(a_checkpoint_cut_anywhere_is_none),
                cmocka_unit_test(totals_of_any_size_go_through_text),
                cmocka_unit_test(totals_never_go_back_and_no_share_leaves_its_range),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
