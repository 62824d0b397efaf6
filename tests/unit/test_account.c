/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fake_meter.h"

/* --- counters ------------------------------------------------------------------------------- */

static void the_first_sample_adds_nothing(void **state) {
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
        b.now.disks[1].reads = 99; /* not counted for virtual devices */
        b.now.nets[0].sent_bytes = 31;
        b.now.nets[0].received_bytes = 32;
        b.now.nets[1].sent_bytes = 33;
        b.now.nets[1].received_bytes = 34;
        b.now.nets[2].sent_bytes = 35;
        b.now.nets[2].received_bytes = 36;
        b.now.counter[KERNEL_CONTEXT_SWITCHES] = 41;
        b.now.counter[KERNEL_MAJOR_FAULTS] = 42;
        b.now.counter[KERNEL_OOM_KILLS] = 43;
        b.now.counter[KERNEL_SWAP_IN] = 44;
        b.now.counter[KERNEL_SWAP_OUT] = 45;
        b.now.counter[KERNEL_PSI_CPU_SOME] = 51;
        b.now.counter[KERNEL_PSI_MEMORY_SOME] = 52;
        b.now.counter[KERNEL_PSI_MEMORY_FULL] = 53;
        b.now.counter[KERNEL_PSI_IO_SOME] = 54;
        b.now.counter[KERNEL_PSI_IO_FULL] = 55;
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
        assert_int_equal(total(&b, TOTAL_PSI_CPU_SOME), 51);
        assert_int_equal(total(&b, TOTAL_PSI_MEMORY_SOME), 52);
        assert_int_equal(total(&b, TOTAL_PSI_MEMORY_FULL), 53);
        assert_int_equal(total(&b, TOTAL_PSI_IO_SOME), 54);
        assert_int_equal(total(&b, TOTAL_PSI_IO_FULL), 55);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_UNOBSERVED_NS), 0);
        bench_end(&b);
}

/* Returns true if the amount is added to exactly one total, by a meter that was restored since the counter was read. */
static bool is_added_to_a_total(Bench *b, uint64_t *counter) {
        const uint64_t amount = 7919;
        size_t n = 0;
        Totals before;

        look_later(b);
        before = *meter_totals(b->meter);
        assert_int_equal(restart(b, BOOT, BOOT), 0);
        *counter += amount;
        look_later(b);
        for (Total t = 0; t < N_TOTALS; t++)
                n += total(b, t) - before.value[t] == amount;
        return n == 1;
}

#define DISK_TOTALLED(X) X(read_bytes) X(write_bytes) X(reads) X(writes)
#define NET_TOTALLED(X) X(received_bytes) X(sent_bytes)

/* Totals, and the values in the record of a meter: that of a forgotten counter would start at zero. */
static void counters_of_devices_are_added_to_a_total_across_restarts(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL);
        fake_net(&b.now, "eth0", NET_PHYSICAL);
#define X(member, ...)                  \
        b.now.disks[0].member = 100000; \
        assert_true(is_added_to_a_total(&b, &b.now.disks[0].member));
        DISK_TOTALLED(X)
#undef X
#define X(member, ...)                 \
        b.now.nets[0].member = 100000; \
        assert_true(is_added_to_a_total(&b, &b.now.nets[0].member));
        NET_TOTALLED(X)
#undef X
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

static void cpu_time_that_decreases_slightly_adds_nothing_until_exceeded(void **state) {
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
        b.now.cpu.ticks[CPU_IOWAIT] = 1015; /* 15 more than at the start, not 25 */
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_IOWAIT), 15);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 0);
        bench_end(&b);
}

static void idle_time_that_decreases_by_three_seconds_restarts(void **state) {
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

static void a_counter_that_decreases_adds_nothing_and_continues(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        b.now.counter[KERNEL_MAJOR_FAULTS] = 1000;
        look(&b);
        b.now.counter[KERNEL_MAJOR_FAULTS] = 7;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_MAJOR_FAULTS), 0);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 1);
        b.now.counter[KERNEL_MAJOR_FAULTS] = 9;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_MAJOR_FAULTS), 2);
        bench_end(&b);
}

/* --- devices -------------------------------------------------------------------------------- */

static void a_32_bit_interface_counter_wraps(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_net(&b.now, "eth0", NET_PHYSICAL)->received_bytes = 4294967000; /* 2^32 - 296 */
        look(&b);
        b.now.nets[0].received_bytes = 1000;
        look_later(&b);
        b.now.nets[0].received_bytes = 1001;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_RECV_BYTES), 1297);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 0);
        bench_end(&b);
}

static void a_32_bit_disk_counter_wraps_in_sectors(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL)->read_bytes = (UINT64_C(4294967296) - 10) * 512;
        b.now.disks[0].reads = UINT32_MAX;
        look(&b);
        b.now.disks[0].read_bytes = 20 * 512;
        b.now.disks[0].reads = 4;
        look_later(&b);
        b.now.disks[0].read_bytes += 512;
        b.now.disks[0].reads++;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 31 * 512);
        assert_int_equal(total(&b, TOTAL_DISK_READS), 6);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 0);
        bench_end(&b);
}

static void an_implausibly_fast_wrap_is_a_reset(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        /* A wrap from 3 GB to 100 KB within 100 ms would be 13 GB/s on a 32-bit interface. */
        fake_net(&b.now, "eth0", NET_PHYSICAL)->received_bytes = 3000000000;
        look(&b);
        b.now.nets[0].received_bytes = 100000;
        fake_pass(&b.now, 100 * MS);
        look(&b);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 1);
        b.now.nets[0].received_bytes = 100001;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_RECV_BYTES), 100001);
        bench_end(&b);
}

/* The first value after a reset is believed when the counter has grown from there. */
static void a_reset_counter_counts_from_zero(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL)->read_bytes = 100 * MIB;
        look(&b);
        b.now.disks[0].read_bytes = 3 * MIB;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 0);
        b.now.disks[0].read_bytes = 4 * MIB;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 4 * MIB);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 1);
        assert_int_equal(b.shown.disks[0].read_bytes, 104 * MIB);
        for (unsigned i = 0; i < 301; i++)
                look_later(&b);
        b.now.disks[0].read_bytes = 200 * MIB; /* the value before the reset is forgotten */
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 200 * MIB);
        bench_end(&b);
}

/* Values that a counter has for some readings, between two that are right. */
static const struct {
        uint64_t before, between[3];
        size_t n;
} doubts[] = {
        { 5000 * GIB, { 0 }, 1 },
        { 5000 * GIB, { 0, 0, 0 }, 3 },
        { 5000 * GIB, { 7000000 }, 1 },
        { 208029766, { 0 }, 1 },
        { 208029766, { 200000000, 200001000 }, 2 },
        { 208029766, { 5000 * GIB }, 1 },
        { 208029766, { 5000 * GIB, 100, 5000 * GIB }, 3 },
        { 4200000000, { 0 }, 1 },
        { 3000, { 0, 0 }, 2 },
};

/* Returns what is counted of 2,000 by a counter with wrong readings on the way. */
static uint64_t count_across(Bench *b, size_t i, uint64_t *value, Total of) {
        uint64_t shown = 0, begin = total(b, of);

        for (size_t k = 0; k < doubts[i].n; k++) {
                *value = doubts[i].between[k];
                fake_pass(&b->now, 200 * MS);
                look(b);
                shown = b->shown.nets[0].received_bytes + b->shown.disks[0].read_bytes +
                        b->shown.counter[KERNEL_MAJOR_FAULTS];
                assert_true(shown >= doubts[i].before && shown < doubts[i].before + 2000);
        }
        *value = doubts[i].before + 2000;
        fake_pass(&b->now, 200 * MS);
        look(b);
        return total(b, of) - begin;
}

static void a_value_that_is_back_was_never_reset(void **state) {
        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(doubts); i++) {
                for (unsigned kind = 0; kind < 3; kind++) {
                        static const Total totals[] = { TOTAL_NET_RECV_BYTES, TOTAL_DISK_READ_BYTES,
                                                        TOTAL_MAJOR_FAULTS };
                        Bench b;
                        uint64_t *values[3];

                        bench_begin(&b, 1);
                        (void)fake_net(&b.now, "eth0", NET_PHYSICAL);
                        (void)fake_disk(&b.now, "sda", DISK_PHYSICAL);
                        values[0] = &b.now.nets[0].received_bytes;
                        values[1] = &b.now.disks[0].read_bytes;
                        values[2] = &b.now.counter[KERNEL_MAJOR_FAULTS];
                        *values[kind] = doubts[i].before;
                        look(&b);
                        assert_int_equal(count_across(&b, i, values[kind], totals[kind]), 2000);
                        for (Source s = 0; s < N_SOURCES; s++)
                                assert_int_equal(meter_totals(b.meter)->doubts[s], 0);
                        bench_end(&b);
                }
        }
}

static void time_grows_no_faster_than_it_passes(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        look(&b);
        fake_cpu(&b.now, 0, CPU_STEAL, UINT64_C(1844674407370943));
        b.now.counter[KERNEL_PSI_IO_FULL] += 60000000;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_STEAL), 0);
        assert_int_equal(total(&b, TOTAL_PSI_IO_FULL), 0);
        assert_int_equal(meter_totals(b.meter)->doubts[SOURCE_STAT], 1);
        assert_int_equal(meter_totals(b.meter)->doubts[SOURCE_PSI_IO], 1);
        fake_cpu(&b.now, 0, CPU_STEAL, 10);
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_STEAL), 10); /* from the new value on */
        b.now.cpu.ticks[CPU_STEAL] = b.now.cpus[0].times.ticks[CPU_STEAL] = 30;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_CPU_STEAL), 30);
        assert_int_equal(meter_totals(b.meter)->doubts[SOURCE_STAT], 0);
        bench_end(&b);
}

static void a_time_that_is_back_was_never_reset(void **state) {
        static const struct {
                uint64_t before, between[3];
                size_t n;
        } cases[] = {
                { 2500, { 1500 }, 1 },    { 2500, { 0 }, 1 },          { 900, { 0 }, 1 },
                { 2500, { 0, 0, 0 }, 3 }, { 2500, { 1500, 1510 }, 2 }, { 90000000, { 0, 1, 2 }, 3 },
                { 645, { 0, 10, 0 }, 3 }, { 2500, { 1500, 2000 }, 2 },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                uint64_t ticks, begin;
                Bench b;

                bench_begin(&b, 2);
                b.now.cpu.ticks[CPU_USER] = cases[i].before;
                b.now.counter[KERNEL_PSI_CPU_SOME] = cases[i].before * 10000;
                look(&b);
                begin = total(&b, TOTAL_CPU_USER);
                for (size_t k = 0; k < cases[i].n; k++) {
                        b.now.cpu.ticks[CPU_USER] = cases[i].between[k];
                        b.now.counter[KERNEL_PSI_CPU_SOME] = cases[i].between[k] * 10000;
                        fake_pass(&b.now, 200 * MS);
                        look(&b);
                }
                ticks = b.now.cpu.ticks[CPU_USER] = cases[i].before + 20;
                b.now.counter[KERNEL_PSI_CPU_SOME] = ticks * 10000;
                fake_pass(&b.now, 200 * MS);
                look(&b);
                assert_int_equal(total(&b, TOTAL_CPU_USER) - begin, 20);
                assert_int_equal(total(&b, TOTAL_PSI_CPU_SOME), 200000);
                bench_end(&b);
        }
}

static void an_interface_is_no_faster_than_its_link(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_net(&b.now, "eth0", NET_PHYSICAL)->bytes_per_s = 125000000;
        look(&b);
        b.now.nets[0].received_bytes += GIB;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_RECV_BYTES), 0);
        b.now.nets[0].bytes_per_s = 1250000000; /* renegotiated */
        b.now.nets[0].received_bytes += GIB;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_RECV_BYTES), GIB);
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

/* A package that wraps after 60 J, of 10 W at most: known for less than 5 s, as counters may be read a second late. */
static SampleEquipment *fake_package(Sample *sample) {
        SampleEquipment *package;

        assert_int_equal(equipment_add(&sample->equipment, EQUIPMENT_ENERGY, "package-0", &package), 0);
        package->width = 60000000;
        package->max_per_s = 10e6;
        return package;
}

/* Reads the package a while later, in a meter that was restored since if asked. Returns the µJ counted. */
static uint64_t energy_after(Bench *b, uint64_t ms, uint64_t uj, bool is_restarted) {
        uint64_t before = total(b, TOTAL_ENERGY_UJ);

        if (is_restarted)
                assert_int_equal(restart(b, BOOT, BOOT), 0);
        fake_pass(&b->now, ms * MS);
        equipment_set(&b->now.equipment.items[0], ENERGY_energy_uj, uj);
        look(b);
        return total(b, TOTAL_ENERGY_UJ) - before;
}

static void a_meter_of_energy_wraps_at_its_width(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_package(&b.now);
        assert_int_equal(energy_after(&b, 0, 55000000, false), 0);
        assert_int_equal(energy_after(&b, 1000, 59999999, false), 4999999);
        assert_int_equal(energy_after(&b, 1000, 7, false), 8);
        assert_int_equal(energy_after(&b, 1000, 7, false), 0);
        for (uint64_t i = 1, at = 7; i < 100; i++)
                assert_int_equal(energy_after(&b, 1000, at = (at + 9876543) % 60000000, i % 2), 9876543);
        assert_int_equal(meter_totals(b.meter)->doubts[SOURCE_ENERGY], 0);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 0);
        bench_end(&b);
}

static void energy_that_may_have_wrapped_twice_is_lost(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_package(&b.now);
        for (unsigned i = 0; i < 2; i++) {
                energy_after(&b, 60000, 1000000, false);
                assert_int_equal(energy_after(&b, 4900, 5000000, i), 4000000);
                assert_int_equal(energy_after(&b, 5000, 9000000, i), 0); /* lost: 4 J or 64 J */
                assert_int_equal(energy_after(&b, 1000, 9500000, i), 500000);
                assert_int_equal(energy_after(&b, 1000, 100, i), 0); /* was set to 0: 50.5 J are impossible */
                assert_int_equal(energy_after(&b, 1000, 300100, i), 300000);
                assert_int_equal(meter_totals(b.meter)->doubts[SOURCE_ENERGY], 3 * i + 2);
        }
        bench_end(&b);
}

static void devices_are_tracked_in_any_order(void **state) {
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

static void a_new_device_counts_from_its_first_reading(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        fake_disk(&b.now, "sdb", DISK_PHYSICAL)->write_bytes = 5 * MIB;
        fake_disk(&b.now, "loop0", DISK_VIRTUAL)->write_bytes = 3 * MIB;
        b.now.disks[1].began_idle = true;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_WRITE_BYTES), 0);
        assert_int_equal(total(&b, TOTAL_VIRT_DISK_WRITE_BYTES), 3 * MIB);
        b.now.disks[0].write_bytes += 7;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_DISK_WRITE_BYTES), 7);
        assert_int_equal(b.shown.disks[0].write_bytes, 5 * MIB + 7);
        bench_end(&b);
}

static void a_device_that_disappears_decreases_no_total(void **state) {
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

static void a_device_that_returns_within_minutes_is_the_same(void **state) {
        static const unsigned gone_s[] = { 1, 250, 400 };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(gone_s); i++) {
                Bench b;

                bench_begin(&b, 1);
                fake_net(&b.now, "eth1", NET_PHYSICAL)->sent_bytes = 90000000;
                fake_net(&b.now, "veth9", NET_VIRTUAL)->sent_bytes = 90000000;
                look(&b);
                fake_unplug_net(&b.now, "eth1");
                fake_unplug_net(&b.now, "veth9");
                for (unsigned k = 0; k < gone_s[i]; k++)
                        look_later(&b);
                fake_net(&b.now, "eth1", NET_PHYSICAL)->sent_bytes = 90001000;
                fake_net(&b.now, "veth9", NET_VIRTUAL)->sent_bytes = 90001000;
                look_later(&b);
                assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 1000);
                assert_int_equal(total(&b, TOTAL_NET_VIRT_SENT_BYTES), gone_s[i] < 300 ? 1000 : 0);
                bench_end(&b);
        }
}

static void a_name_is_no_identity(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_net(&b.now, "eth0", NET_PHYSICAL)->sent_bytes = 5000;
        b.now.nets[0].id = 2;
        look(&b);
        (void)snprintf(b.now.nets[0].name, sizeof(b.now.nets[0].name), "lan0"); /* renamed */
        b.now.nets[0].sent_bytes = 6000;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 1000);
        b.now.nets[0].id = 9; /* another one of this name */
        b.now.nets[0].sent_bytes = 90000000;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 1000);
        assert_int_equal(b.shown.nets[0].sent_bytes, 6000);
        b.now.nets[0].sent_bytes += 50;
        assert_int_equal(restart(&b, BOOT, BOOT), 0);
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 1050);
        assert_int_equal(b.shown.nets[0].sent_bytes, 6050); /* the series of the name continues */
        bench_end(&b);
}

static void a_device_with_a_new_class_starts_at_its_present_values(void **state) {
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

static void memory_is_bounded_when_devices_come_and_go(void **state) {
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
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 0);
        bench_end(&b);
}

/* --- random sequences ----------------------------------------------------------------------- */

/* Returns pseudo-random numbers (the generator of Numerical Recipes). */
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
        s->counter[KERNEL_CONTEXT_SWITCHES] += draw(seed, 1000);
        s->have = draw(seed, 5) ? ALL_SOURCES : draw(seed, ALL_SOURCES + 1);
        if (draw(seed, 10) == 0)
                s->cpu.ticks[draw(seed, N_CPU_MODES)] = draw(seed, 2000);
        if (draw(seed, 20) == 0)
                s->counter[KERNEL_CONTEXT_SWITCHES] = 0;
        if (draw(seed, 10) == 0)
                s->cpus[draw(seed, (uint32_t)s->n_cpus)].online ^= true;
        shake_devices(s, seed);
}

static void totals_never_decrease_and_shares_stay_in_range(void **state) {
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
                                assert_true(b.observation.cpu_min >= 0 &&
                                            b.observation.cpu_min <= b.observation.cpu_mean + 1e-12 &&
                                            b.observation.cpu_mean <= b.observation.cpu_max + 1e-12 &&
                                            b.observation.cpu_max <= 1);
                        before = *meter_totals(b.meter);
                }
                /* 5 devices with 100 kB per step, plus the effect of hot-plug and wraps. */
                assert_true(total(&b, TOTAL_DISK_READ_BYTES) < 300 * 200000);
                bench_end(&b);
        }
}

/* --- equipment ------------------------------------------------------------------------------ */

static SampleEquipment *add_netfs(Bench *b, const char *name) {
        SampleEquipment *item;

        assert_int_equal(equipment_add(&b->now.equipment, EQUIPMENT_NETFS, name, &item), 0);
        return item;
}

static void equipment_counts_from_its_first_reading_or_from_its_begin(void **state) {
        SampleEquipment *item;
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        equipment_set(add_netfs(&b, "/home"), NETFS_read_bytes, 1000);
        look(&b);
        assert_int_equal(total(&b, TOTAL_NETFS_READ_BYTES), 0);

        /* found late, and mounted since the last sample */
        equipment_set(add_netfs(&b, "/old"), NETFS_read_bytes, 5000);
        item = add_netfs(&b, "/new");
        equipment_set(item, NETFS_read_bytes, 70);
        item->is_new = true;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NETFS_READ_BYTES), 70);
        assert_int_equal(b.shown.equipment.items[2].values[NETFS_read_bytes], 70);

        /* unmounted, and mounted again: less than before is no misreading */
        b.now.equipment.n = 2;
        look_later(&b);
        item = add_netfs(&b, "/new");
        equipment_set(item, NETFS_read_bytes, 60);
        item->is_new = true;
        look_later(&b);
        assert_int_equal(total(&b, TOTAL_NETFS_READ_BYTES), 130);
        assert_int_equal(b.shown.equipment.items[2].values[NETFS_read_bytes], 130);
        assert_int_equal(meter_events(b.meter)->n_counter_resets, 0);
        bench_end(&b);
}

static void a_total_that_no_item_has_is_unknown_and_has_no_rate(void **state) {
        SampleEquipment *item;
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        look(&b);
        assert_int_equal(meter_totals(b.meter)->unknown, 0);
        assert_int_equal(look_later(&b), METER_OBSERVED);
        assert_true(b.observation.netfs_read_rate == 0);

        item = add_netfs(&b, "/home");
        equipment_set(item, NETFS_write_bytes, 1);
        look_later(&b);
        assert_true(meter_totals(b.meter)->unknown & totals_bit(TOTAL_NETFS_READ_BYTES));
        assert_int_equal(meter_totals(b.meter)->unknown & totals_bit(TOTAL_NETFS_WRITE_BYTES), 0);
        assert_int_equal(meter_totals(b.meter)->partial, 0);
        assert_true(isnan(b.observation.netfs_read_rate));
        assert_true(b.observation.netfs_written_rate == 0);

        equipment_set(add_netfs(&b, "/data"), NETFS_read_bytes, 1);
        add_netfs(&b, "/part")->is_counted = false;
        look_later(&b);
        assert_int_equal(meter_totals(b.meter)->unknown & totals_bit(TOTAL_NETFS_READ_BYTES), 0);
        assert_int_equal(meter_totals(b.meter)->partial,
                         totals_bit(TOTAL_NETFS_READ_BYTES) | totals_bit(TOTAL_NETFS_WRITE_BYTES));
        bench_end(&b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_sample_adds_nothing),
                cmocka_unit_test(every_counter_lands_in_its_total),
                cmocka_unit_test(counters_of_devices_are_added_to_a_total_across_restarts),
                cmocka_unit_test(a_sample_that_is_not_newer_is_ignored),
                cmocka_unit_test(cpu_time_that_decreases_slightly_adds_nothing_until_exceeded),
                cmocka_unit_test(idle_time_that_decreases_by_three_seconds_restarts),
                cmocka_unit_test(a_counter_that_decreases_adds_nothing_and_continues),
                cmocka_unit_test(a_32_bit_interface_counter_wraps),
                cmocka_unit_test(a_32_bit_disk_counter_wraps_in_sectors),
                cmocka_unit_test(an_implausibly_fast_wrap_is_a_reset),
                cmocka_unit_test(a_reset_counter_counts_from_zero),
                cmocka_unit_test(a_value_that_is_back_was_never_reset),
                cmocka_unit_test(time_grows_no_faster_than_it_passes),
                cmocka_unit_test(a_time_that_is_back_was_never_reset),
                cmocka_unit_test(an_interface_is_no_faster_than_its_link),
                cmocka_unit_test(a_driver_whose_sum_jitters_adds_no_phantom),
                cmocka_unit_test(a_meter_of_energy_wraps_at_its_width),
                cmocka_unit_test(energy_that_may_have_wrapped_twice_is_lost),
                cmocka_unit_test(devices_are_tracked_in_any_order),
                cmocka_unit_test(a_new_device_counts_from_its_first_reading),
                cmocka_unit_test(a_device_that_disappears_decreases_no_total),
                cmocka_unit_test(a_device_that_returns_within_minutes_is_the_same),
                cmocka_unit_test(a_name_is_no_identity),
                cmocka_unit_test(a_device_with_a_new_class_starts_at_its_present_values),
                cmocka_unit_test(memory_is_bounded_when_devices_come_and_go),
                cmocka_unit_test(totals_never_decrease_and_shares_stay_in_range),
                cmocka_unit_test(equipment_counts_from_its_first_reading_or_from_its_begin),
                cmocka_unit_test(a_total_that_no_item_has_is_unknown_and_has_no_rate),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
