/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fake_sample.h"
#include "snapshot/window.h"
#include "util/parse.h"

/* A machine, its meter, and a window. */
typedef struct Bench {
        Sample now;
        Meter *meter;
        Window window;
        MetricSet metrics;
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

/* As in the daemon: advances the meter first, then every window. */
static void look(Bench *bench) {
        Observation observation;

        if (meter_advance(bench->meter, &bench->now, &observation) == METER_OBSERVED)
                window_observe(&bench->window.peaks, &bench->window.begin, &observation, bench->now.realtime_ns);
}

static void begin(Bench *bench) {
        look(bench);
        window_begin(&bench->window, meter_totals(bench->meter), &bench->now);
}

static void measure(Bench *bench) {
        window_metrics(&bench->window.begin, &bench->window.peaks, meter_totals(bench->meter), bench->now.n_online,
                       &bench->metrics);
}

static void assert_metric(const Bench *bench, Metric metric, double value, Quality quality) {
        assert_int_equal(bench->metrics.quality[metric], quality);
        assert_true(fabs(bench->metrics.value[metric] - value) < 1e-9);
}

static void assert_absent(const Bench *bench, Metric metric, Quality why) {
        assert_int_equal(bench->metrics.quality[metric], why);
}

/* Runs three seconds on two CPUs: 100 %, 50 %, 0 %. */
static void run_three_seconds(Bench *b) {
        fake_second(&b->now, 100);
        look(b);
        fake_second(&b->now, 50);
        look(b);
        fake_second(&b->now, 0);
        look(b);
}

/* Returns true if one metric is the difference of the total, which is not a value of any other metric here. */
static bool has_metric(Total total) {
        Totals begin = { .boottime_ns = SECOND, .have = ALL_SOURCES },
               end = { .boottime_ns = 2 * SECOND, .have = ALL_SOURCES };
        Window window = {};
        MetricSet metrics;
        Sample sample;
        size_t n = 0;

        fake_init(&sample, 1);
        window_begin(&window, &begin, &sample);
        sample_deinit(&sample);
        end.value[total] = 7919;
        window_metrics(&window.begin, &window.peaks, &end, 1, &metrics);
        for (Metric metric = 0; metric < N_METRICS; metric++)
                n += metrics.value[metric] == 7919;
        return n == 1;
}

static void every_total_of_devices_is_a_metric(void **state) {
        (void)state;
#define X(id, ...) assert_true(has_metric(TOTAL_##id));
        DISK_TOTALS(X)
        NET_TOTALS(X)
#undef X
}

static void a_window_excludes_everything_before_it(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        fake_disk(&b.now, "sda", DISK_PHYSICAL)->read_bytes = 77 * GIB;
        fake_disk(&b.now, "dm-0", DISK_VIRTUAL);
        fake_net(&b.now, "lo", NET_LOOPBACK);
        fake_net(&b.now, "eth0", NET_PHYSICAL)->sent_bytes = 88 * GIB;
        look(&b);
        fake_second(&b.now, 100); /* before the window began */
        begin(&b);

        b.now.disks[0].read_bytes += 10 * MIB;
        b.now.disks[0].write_bytes += 20 * MIB;
        b.now.disks[0].reads += 3;
        b.now.disks[0].writes += 4;
        b.now.disks[1].write_bytes += 20 * MIB;
        b.now.nets[0].sent_bytes += MIB;
        b.now.nets[0].received_bytes += MIB;
        b.now.nets[1].sent_bytes += 30 * MIB;
        b.now.nets[1].received_bytes += 40 * MIB;
        b.now.counter[KERNEL_MAJOR_FAULTS] += 5;
        b.now.counter[KERNEL_PSI_MEMORY_FULL] += 1500000;
        fake_cpu(&b.now, 0, CPU_GUEST, 100);
        fake_cpu(&b.now, 0, CPU_SOFTIRQ, 50);
        fake_cpu(&b.now, 1, CPU_IOWAIT, 150);
        run_three_seconds(&b);
        measure(&b);

        /* 150 ticks user on each CPU, 100 guest, 50 softirq; idle 150 each and 150 iowait: 450 of 900. */
        assert_metric(&b, METRIC_DURATION, 3, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_USER, 4, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_SYSTEM, 0.5, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_IOWAIT, 1.5, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_STEAL, 0, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_MEAN, 0.5, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_HOURS, 6, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_UNUSED_HOURS, 3, QUALITY_EXACT);
        assert_metric(&b, METRIC_DISK_READ, 10.0 * MIB, QUALITY_EXACT);
        assert_metric(&b, METRIC_DISK_WRITE, 20.0 * MIB, QUALITY_EXACT);
        assert_metric(&b, METRIC_DISK_READS, 3, QUALITY_EXACT);
        assert_metric(&b, METRIC_DISK_WRITES, 4, QUALITY_EXACT);
        assert_metric(&b, METRIC_VIRT_DISK_READ, 0, QUALITY_EXACT);
        assert_metric(&b, METRIC_VIRT_DISK_WRITE, 20.0 * MIB, QUALITY_EXACT);
        assert_metric(&b, METRIC_NET_LO_SENT, 1.0 * MIB, QUALITY_EXACT);
        assert_metric(&b, METRIC_NET_LO_RECV, 1.0 * MIB, QUALITY_EXACT);
        assert_metric(&b, METRIC_NET_EXT_SENT, 30.0 * MIB, QUALITY_EXACT);
        assert_metric(&b, METRIC_NET_EXT_RECV, 40.0 * MIB, QUALITY_EXACT);
        assert_metric(&b, METRIC_MAJOR_FAULTS, 5, QUALITY_EXACT);
        assert_metric(&b, METRIC_PSI_MEMORY_FULL, 1.5, QUALITY_EXACT);
        assert_metric(&b, METRIC_UNOBSERVED, 0, QUALITY_EXACT);
        bench_end(&b);
}

static void every_metric_has_a_derivation(void **state) {
        SampleEquipment *gpu;
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        gpu = fake_gpu(&b.now, "0");
        begin(&b);
        equipment_set(gpu, GPU_sm_observed_us, 1000000);
        run_three_seconds(&b);
        measure(&b);
        for (Metric metric = 0; metric < N_METRICS; metric++)
                assert_true(quality_is_present(b.metrics.quality[metric]) || metric == METRIC_GPU_ENERGY);
        bench_end(&b);
}

static void the_node_has_the_sum_of_its_gpus(void **state) {
        SampleEquipment *gpus[3];
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        for (size_t i = 0; i < 3; i++)
                fake_gpu(&b.now, (const char *[]){ "0", "1", "1/0" }[i]);
        for (size_t i = 0; i < 3; i++)
                gpus[i] = &b.now.equipment.items[i];
        gpus[2]->is_counted = false; /* an instance */
        begin(&b);
        for (size_t i = 0; i < 3; i++) {
                equipment_set(gpus[i], GPU_present_us, 4000000);
                equipment_set(gpus[i], GPU_utilized_us, 3000000);
                equipment_set(gpus[i], GPU_sm_observed_us, i == 0 ? 2000000 : 0);
                equipment_set(gpus[i], GPU_sm_active_us, i == 0 ? 500000 : 0);
                equipment_set(gpus[i], GPU_energy_mj, 700500);
        }
        run_three_seconds(&b);
        measure(&b);
        assert_metric(&b, METRIC_GPU_HOURS, 8, QUALITY_EXACT);
        assert_metric(&b, METRIC_GPU_UNUSED_HOURS, 2, QUALITY_EXACT);
        assert_metric(&b, METRIC_GPU_ACTIVE, 0.25, QUALITY_EXACT);
        assert_absent(&b, METRIC_GPU_ENERGY, QUALITY_TOO_SHORT); /* its readings are further apart */
        for (size_t i = 0; i < 3; i++)
                run_three_seconds(&b);
        measure(&b);
        assert_metric(&b, METRIC_GPU_ENERGY, 1401, QUALITY_SAMPLED);
        bench_end(&b);
}

static void a_node_without_equipment_has_no_metric_of_it(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        b.now.have &= ~(1U << SOURCE_GPU | 1U << SOURCE_FABRIC);
        b.now.equipment.none = 1U << SOURCE_GPU;
        begin(&b);
        run_three_seconds(&b);
        measure(&b);
        assert_absent(&b, METRIC_GPU_HOURS, QUALITY_NO_EQUIPMENT);
        assert_absent(&b, METRIC_GPU_ACTIVE, QUALITY_NO_EQUIPMENT);
        assert_absent(&b, METRIC_FABRIC_SENT, QUALITY_UNKNOWN_SOURCE);
        bench_end(&b);
}

static void what_a_node_had_none_of_at_the_begin_has_counted_nothing_before(void **state) {
        SampleEquipment *item;
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        b.now.have &= ~(1U << SOURCE_NETFS);
        b.now.equipment.none = 1U << SOURCE_NETFS;
        begin(&b);
        b.now.have |= 1U << SOURCE_NETFS;
        b.now.equipment.none = 0;
        assert_int_equal(equipment_add(&b.now.equipment, EQUIPMENT_NETFS, "/home", &item), 0);
        item->is_new = true;
        equipment_set(item, NETFS_read_bytes, 3 * MIB);
        fake_second(&b.now, 50);
        look(&b);
        measure(&b);
        assert_metric(&b, METRIC_NETFS_READ, 3.0 * MIB, QUALITY_EXACT);
        assert_absent(&b, METRIC_NETFS_RETRANSMITTED, QUALITY_UNKNOWN_SOURCE);
        bench_end(&b);
}

static void a_total_that_lacks_items_is_a_lower_bound(void **state) {
        SampleEquipment *item;
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(equipment_add(&b.now.equipment, EQUIPMENT_PORT, i == 0 ? "a:1" : "b:1", &item), 0);
        item = b.now.equipment.items;
        equipment_set(item, PORT_sent_bytes, 5);
        begin(&b);
        equipment_set(item, PORT_sent_bytes, 12);
        fake_second(&b.now, 50);
        look(&b);
        measure(&b);
        assert_metric(&b, METRIC_FABRIC_SENT, 7, QUALITY_SAMPLED);
        assert_absent(&b, METRIC_FABRIC_RECV, QUALITY_UNKNOWN_SOURCE);
        bench_end(&b);
}

static void every_kernel_counter_is_a_metric(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        begin(&b);
        for (KernelCounter counter = 0; counter < N_KERNEL_COUNTERS; counter++)
                b.now.counter[counter] += 1 + counter;
        run_three_seconds(&b);
        measure(&b);
        for (KernelCounter counter = 0; counter < N_KERNEL_COUNTERS; counter++) {
                Metric metric = (Metric)(N_METRICS - N_KERNEL_COUNTERS + counter);
                bool is_seconds = metric_info[metric].unit[0];

                assert_metric(&b, metric, is_seconds ? (1 + counter) * 1e-6 : 1 + counter, QUALITY_EXACT);
        }
        bench_end(&b);
}

static void peaks_and_shares_of_time_come_from_observations(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        begin(&b);
        fake_cpu(&b.now, 0, CPU_USER, 100);
        fake_cpu(&b.now, 1, CPU_USER, 50);
        fake_cpu(&b.now, 1, CPU_IDLE, 50);
        b.now.memory.available_bytes = 1 * GIB; /* of 10 GiB */
        fake_pass(&b.now, SECOND);
        look(&b);
        fake_work(&b.now, 60, 240); /* 20 % for three seconds */
        fake_pass(&b.now, 3 * SECOND);
        b.now.memory.available_bytes = 9 * GIB;
        look(&b);
        measure(&b);

        assert_metric(&b, METRIC_CPU_MAX, 0.75, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_MIN_MAX, 0.5, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_MAX_MAX, 1, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_MEM_MAX, 0.9, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_DISK_USAGE_MAX, 0.5, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_AT100, 0, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_OVER80, 0, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_OVER40, 0.25, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_OVER20, 1, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_ALL_OVER40, 0.25, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_ALL_OVER80, 0, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_ANY_AT100, 0.25, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_ANY_OVER20, 1, QUALITY_SAMPLED);

        /* perf.py counts samples: one of two, and 47.5 where the time-weighted value is 33.75. */
        assert_true(b.metrics.has_compat[METRIC_CPU_OVER40]);
        assert_true(fabs(b.metrics.compat[METRIC_CPU_OVER40] - 50) < 1e-9);
        assert_true(fabs(b.metrics.compat[METRIC_CPU_MEAN] - 47.5) < 1e-9);
        assert_metric(&b, METRIC_CPU_MEAN, 0.3375, QUALITY_EXACT);
        assert_metric(&b, METRIC_SAMPLE_INTERVAL, 2, QUALITY_EXACT); /* 1 s and 3 s */
        assert_metric(&b, METRIC_CPU_INTERVAL, 2, QUALITY_EXACT);
        bench_end(&b);
}

static void a_window_of_no_length_divides_by_nothing(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 2);
        begin(&b);
        measure(&b);
        assert_metric(&b, METRIC_DURATION, 0, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_HOURS, 0, QUALITY_EXACT);
        assert_metric(&b, METRIC_DISK_READ, 0, QUALITY_EXACT);
        assert_absent(&b, METRIC_CPU_MEAN, QUALITY_TOO_SHORT);
        assert_absent(&b, METRIC_CPU_UNUSED_HOURS, QUALITY_TOO_SHORT);
        assert_absent(&b, METRIC_CPU_MAX, QUALITY_TOO_SHORT);
        assert_absent(&b, METRIC_CPU_OVER20, QUALITY_TOO_SHORT);
        assert_metric(&b, METRIC_MEM_MAX, 0.4, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_DISK_USAGE_MAX, 0.5, QUALITY_SAMPLED);
        for (size_t i = 0; i < N_PERFPY_METRICS; i++)
                assert_false(b.metrics.has_compat[i]);
        for (Metric m = 0; m < N_METRICS; m++)
                assert_true(isfinite(b.metrics.value[m]));
        bench_end(&b);
}

static void a_window_too_short_to_observe_still_has_exact_totals(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL);
        begin(&b);
        fake_work(&b.now, 3, 2);
        b.now.disks[0].write_bytes = 4096;
        fake_pass(&b.now, 50 * MS);
        look(&b);
        measure(&b);
        assert_metric(&b, METRIC_DURATION, 0.05, QUALITY_EXACT);
        assert_metric(&b, METRIC_DISK_WRITE, 4096, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_MEAN, 0.6, QUALITY_EXACT);
        assert_absent(&b, METRIC_CPU_MAX, QUALITY_TOO_SHORT);
        assert_absent(&b, METRIC_ANY_AT100, QUALITY_TOO_SHORT);
        bench_end(&b);
}

static void gauges_at_a_mark_are_included_without_an_observation(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        begin(&b);
        fake_pass(&b.now, 50 * MS);
        b.now.memory.available_bytes = 1 * GIB;
        look(&b);
        measure(&b);
        assert_metric(&b, METRIC_MEM_MAX, 0.4, QUALITY_SAMPLED);

        window_add_gauges(&b.window.peaks, &b.now);
        b.now.memory.available_bytes = 5 * GIB;
        window_add_gauges(&b.window.peaks, &b.now);
        measure(&b);
        assert_metric(&b, METRIC_MEM_MAX, 0.9, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_DISK_USAGE_MAX, 0.5, QUALITY_SAMPLED);
        bench_end(&b);
}

static void a_source_missing_at_either_end_is_unknown(void **state) {
        Bench b;

        (void)state;
        for (int at_end = 0; at_end < 2; at_end++) {
                bench_begin(&b, 1);
                b.now.have = at_end ? ALL_SOURCES : ALL_SOURCES & ~(1U << SOURCE_DISKSTATS | 1U << SOURCE_PSI_IO);
                begin(&b);
                b.now.have = ALL_SOURCES;
                fake_second(&b.now, 50);
                look(&b);
                b.now.have = at_end ? ALL_SOURCES & ~(1U << SOURCE_DISKSTATS | 1U << SOURCE_PSI_IO) : ALL_SOURCES;
                fake_second(&b.now, 50);
                look(&b);
                measure(&b);
                assert_absent(&b, METRIC_DISK_READ, QUALITY_UNKNOWN_SOURCE);
                assert_absent(&b, METRIC_DISK_WRITES, QUALITY_UNKNOWN_SOURCE);
                assert_absent(&b, METRIC_PSI_IO_FULL, QUALITY_UNKNOWN_SOURCE);
                assert_metric(&b, METRIC_NET_EXT_SENT, 0, QUALITY_EXACT);
                assert_metric(&b, METRIC_CPU_MEAN, 0.5, QUALITY_EXACT);
                bench_end(&b);
        }
}

static void a_source_missing_between_samples_loses_nothing(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        fake_disk(&b.now, "sda", DISK_PHYSICAL);
        begin(&b);
        b.now.have = 0;
        b.now.disks[0].read_bytes = 100;
        fake_second(&b.now, 100);
        look(&b);
        b.now.have = ALL_SOURCES;
        b.now.disks[0].read_bytes = 300;
        fake_second(&b.now, 0);
        look(&b);
        measure(&b);
        assert_metric(&b, METRIC_DISK_READ, 300, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_MEAN, 0.5, QUALITY_EXACT);
        /* No observation had CPU times at both ends. */
        assert_absent(&b, METRIC_CPU_MAX, QUALITY_UNKNOWN_SOURCE);
        bench_end(&b);
}

static void without_any_source_only_time_is_known(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        b.now.have = 0;
        begin(&b);
        fake_second(&b.now, 50);
        look(&b);
        measure(&b);
        for (Metric m = 0; m < N_METRICS; m++) {
                if (m == METRIC_DURATION || m == METRIC_UNOBSERVED)
                        assert_int_equal(b.metrics.quality[m], QUALITY_EXACT);
                else
                        assert_absent(&b, m, QUALITY_UNKNOWN_SOURCE);
        }
        bench_end(&b);
}

static void a_gap_is_in_the_totals_and_not_in_the_shares(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        begin(&b);
        fake_second(&b.now, 100);
        look(&b);
        fake_work(&b.now, 0, 6000);
        fake_pass(&b.now, 60 * SECOND);
        look(&b);
        fake_second(&b.now, 100);
        look(&b);
        measure(&b);
        assert_metric(&b, METRIC_UNOBSERVED, 60, QUALITY_EXACT);
        assert_metric(&b, METRIC_DURATION, 62, QUALITY_EXACT);
        assert_metric(&b, METRIC_CPU_AT100, 1, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_MEAN, 200.0 / 6200, QUALITY_EXACT);
        bench_end(&b);
}

static void an_observation_that_ended_before_the_window_is_excluded(void **state) {
        Bench b;
        Observation old = { .begin_ns = 1, .end_ns = 100 * SECOND, .has_cpu = true, .cpu_mean = 1, .cpu_max = 1 };

        (void)state;
        bench_begin(&b, 1);
        begin(&b);
        window_observe(&b.window.peaks, &b.window.begin, &old, b.now.realtime_ns);
        measure(&b);
        assert_absent(&b, METRIC_CPU_MAX, QUALITY_TOO_SHORT);
        bench_end(&b);
}

static void nothing_in_a_lost_window_is_exact(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        begin(&b);
        run_three_seconds(&b);
        b.window.peaks.lost = true;
        measure(&b);
        assert_metric(&b, METRIC_DURATION, 3, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_USER, 1.5, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_MAX, 1, QUALITY_SAMPLED);
        for (Metric m = 0; m < N_METRICS; m++)
                assert_int_not_equal(b.metrics.quality[m], QUALITY_EXACT);
        bench_end(&b);
}

static void an_end_in_another_boot_loses_everything(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        begin(&b);
        run_three_seconds(&b);
        b.window.begin.boottime_ns = 4000 * SECOND;
        measure(&b);
        for (Metric m = 0; m < N_METRICS; m++) {
                assert_absent(&b, m, QUALITY_LOST);
                assert_true(b.metrics.value[m] == 0);
        }
        bench_end(&b);
}

static void a_window_that_never_began_has_no_numbers(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        begin(&b);
        run_three_seconds(&b);
        b.window = (Window){ .peaks.lost = true };
        measure(&b);
        for (Metric m = 0; m < N_METRICS; m++)
                assert_absent(&b, m, QUALITY_LOST);
        bench_end(&b);
}

static void a_window_round_trips_as_text(void **state) {
        Bench b;
        Window again;
        MetricSet before;
        char *text = NULL, *text_again = NULL;

        (void)state;
        bench_begin(&b, 3);
        fake_disk(&b.now, "sda", DISK_PHYSICAL)->read_bytes = 12345;
        begin(&b);
        fake_work(&b.now, 1, 2); /* thirds cannot be represented exactly */
        fake_pass(&b.now, SECOND);
        look(&b);
        run_three_seconds(&b);
        b.window.peaks.lost = true;
        measure(&b);
        before = b.metrics;

        assert_int_equal(record_format(&window_record, &b.window, &text), 0);
        assert_int_equal(record_parse(&window_record, text, &again), 0);
        assert_int_equal(record_format(&window_record, &again, &text_again), 0);
        assert_string_equal(text_again, text);
        b.window = again;
        measure(&b);
        for (Metric m = 0; m < N_METRICS; m++)
                assert_metric(&b, m, before.value[m], before.quality[m]);
        for (size_t i = 0; i < N_PERFPY_METRICS; i++)
                assert_true(b.metrics.compat[i] == before.compat[i] && b.metrics.has_compat[i] == before.has_compat[i]);
        free(text);
        free(text_again);
        bench_end(&b);
}

static void a_window_of_another_version_is_read(void **state) {
        Window window;

        (void)state;
        assert_int_equal(
                record_parse(&window_record,
                             "{\"mood\":\"good\",\"n_observations\":3,\"has_cpu\":true,\"cpu_max\":0.5,\"future\":[]}",
                             &window),
                0);
        assert_int_equal(window.peaks.n_observations, 3);
        assert_true(window.peaks.has_cpu && window.peaks.cpu_max == 0.5);
        assert_int_equal(window.begin.boottime_ns, 0);
}

static void an_invalid_window_is_refused(void **state) {
        static const char *const texts[] = {
                "",
                "null",
                "{\"has_cpu\":true",
                "{\"has_cpu\":1}",
                "{\"cpu_max\":inf}",
                "{\"cpu_max\":\"\"}",
                "{\"cpu_max\"}",
                "{\"n_observations\":-3}",
                "{\"begin\":{\"value\":{\"CPU_IDLE\":99999999999999999999}}}",
        };
        Window window = { .peaks.n_observations = 42 };

        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_int_equal(record_parse(&window_record, texts[i], &window), PARSE_MALFORMED);
        assert_int_equal(window.peaks.n_observations, 42);
}

/* A day of one-second samples with a single busy second: by then perf.py keeps every 128th sample. */
static void a_single_busy_second_of_a_day_is_not_lost(void **state) {
        Bench b;
        const unsigned day = 86400;

        (void)state;
        bench_begin(&b, 1);
        begin(&b);
        for (unsigned i = 0; i < day; i++) {
                fake_second(&b.now, i == 54321 ? 100 : 0);
                look(&b);
        }
        measure(&b);
        assert_metric(&b, METRIC_CPU_MAX, 1, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_AT100, 1.0 / day, QUALITY_SAMPLED);
        assert_metric(&b, METRIC_CPU_MEAN, 1.0 / day, QUALITY_EXACT);
        assert_int_equal(b.window.peaks.compat.n, day);
        bench_end(&b);
}

/* Adjacent windows add up to the window over all of them, for any sequence of samples. */
static void adjacent_windows_add_up(void **state) {
        static const Metric additive[] = {
                METRIC_DURATION, METRIC_UNOBSERVED, METRIC_CPU_USER, METRIC_CPU_SYSTEM, METRIC_CPU_HOURS,
                METRIC_DISK_READ, METRIC_NET_EXT_SENT, METRIC_CONTEXT_SWITCHES,
        };
        uint32_t seed = 7;
        Bench b;
        Window whole;
        MetricSet all;
        double sums[sizeof(additive) / sizeof(additive[0])] = {};
        uint64_t total_sum[N_TOTALS] = {};

        (void)state;
        bench_begin(&b, 2);
        fake_disk(&b.now, "sda", DISK_PHYSICAL);
        fake_net(&b.now, "eth0", NET_PHYSICAL);
        begin(&b);
        whole = b.window;
        for (unsigned i = 0; i < 500; i++) {
                seed = seed * 1664525U + 1013904223U;
                fake_work(&b.now, seed >> 28, seed >> 27 & 15);
                fake_pass(&b.now, (seed >> 16 & 3) * SECOND + (seed >> 20) * 1000);
                b.now.counter[KERNEL_CONTEXT_SWITCHES] += seed >> 20;
                b.now.disks[0].read_bytes = seed >> 30 ? b.now.disks[0].read_bytes + (seed >> 12) : 0;
                b.now.nets[0].sent_bytes = (b.now.nets[0].sent_bytes + (seed >> 4)) % (UINT64_C(1) << 32);
                fake_pass(&b.now, i % 50 ? 0 : 20 * SECOND);
                look(&b);

                if (i % 7 == 6) {
                        measure(&b);
                        for (size_t k = 0; k < sizeof(additive) / sizeof(additive[0]); k++)
                                sums[k] += b.metrics.value[additive[k]];
                        for (Total t = 0; t < N_TOTALS; t++)
                                total_sum[t] += meter_totals(b.meter)->value[t] - b.window.begin.value[t];
                        window_begin(&b.window, meter_totals(b.meter), &b.now);
                }
                if (i == 496)
                        break;
        }

        window_metrics(&whole.begin, &whole.peaks, meter_totals(b.meter), 2, &all);
        for (size_t k = 0; k < sizeof(additive) / sizeof(additive[0]); k++)
                assert_true(fabs(sums[k] - all.value[additive[k]]) <= 1e-9 * all.value[additive[k]]);
        for (Total t = 0; t < N_TOTALS; t++)
                assert_int_equal(total_sum[t], meter_totals(b.meter)->value[t] - whole.begin.value[t]);
        assert_true(all.value[METRIC_UNOBSERVED] > 200 && all.value[METRIC_DISK_READ] > 0);
        bench_end(&b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_total_of_devices_is_a_metric),
                cmocka_unit_test(a_window_excludes_everything_before_it),
                cmocka_unit_test(every_metric_has_a_derivation),
                cmocka_unit_test(the_node_has_the_sum_of_its_gpus),
                cmocka_unit_test(a_node_without_equipment_has_no_metric_of_it),
                cmocka_unit_test(what_a_node_had_none_of_at_the_begin_has_counted_nothing_before),
                cmocka_unit_test(a_total_that_lacks_items_is_a_lower_bound),
                cmocka_unit_test(every_kernel_counter_is_a_metric),
                cmocka_unit_test(peaks_and_shares_of_time_come_from_observations),
                cmocka_unit_test(a_window_of_no_length_divides_by_nothing),
                cmocka_unit_test(a_window_too_short_to_observe_still_has_exact_totals),
                cmocka_unit_test(gauges_at_a_mark_are_included_without_an_observation),
                cmocka_unit_test(a_source_missing_at_either_end_is_unknown),
                cmocka_unit_test(a_source_missing_between_samples_loses_nothing),
                cmocka_unit_test(without_any_source_only_time_is_known),
                cmocka_unit_test(a_gap_is_in_the_totals_and_not_in_the_shares),
                cmocka_unit_test(an_observation_that_ended_before_the_window_is_excluded),
                cmocka_unit_test(nothing_in_a_lost_window_is_exact),
                cmocka_unit_test(an_end_in_another_boot_loses_everything),
                cmocka_unit_test(a_window_that_never_began_has_no_numbers),
                cmocka_unit_test(a_window_round_trips_as_text),
                cmocka_unit_test(a_window_of_another_version_is_read),
                cmocka_unit_test(an_invalid_window_is_refused),
                cmocka_unit_test(a_single_busy_second_of_a_day_is_not_lost),
                cmocka_unit_test(adjacent_windows_add_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
