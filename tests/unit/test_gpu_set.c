/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/gpu/gpu_set.c daemon/gpu/gpu_device.c daemon/gpu/nvml.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/gpu_set.h"
#include "util/clock.h"
#include "util/file.h"

/* --- a clock that the tests set, also that of the stand-in ------------------------------------------------------- */

static uint64_t fake_ns = 1000 * NS_PER_S;

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret) {
        (void)id;
        *ret = (struct timespec){ (time_t)(fake_ns / NS_PER_S), (long)(fake_ns % NS_PER_S) };
        return 0;
}

typedef struct Fixture {
        char directory[64], orders[96], log[128], library[PATH_MAX];
        GpuSet set;
        uint64_t second;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));
        char *slash;
        ssize_t n;

        assert_non_null(f);
        strcpy(f->directory, "/tmp/perfd-gpu-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        (void)snprintf(f->orders, sizeof(f->orders), "%s/orders", f->directory);
        (void)snprintf(f->log, sizeof(f->log), "%s.log", f->orders);
        assert_int_equal(setenv("STANDIN_NVML", f->orders, true), 0);

        /* build/tests/unit/test_gpu_set */
        n = readlink("/proc/self/exe", f->library, sizeof(f->library) - 64);
        assert_true(n > 0);
        for (int i = 0; i < 2; i++) {
                slash = strrchr(f->library, '/');
                assert_non_null(slash);
                *slash = '\0';
        }
        strcat(f->library, "/nvml/libnvidia-ml.so.1");
        gpu_set_init(&f->set, f->library);
        f->second = 1000;
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        gpu_set_deinit(&f->set);
        (void)unlink(f->orders);
        (void)unlink(f->log);
        assert_int_equal(rmdir(f->directory), 0);
        free(f);
        return 0;
}

/* The stand-in reads its orders again when their time has changed. */
static void order(Fixture *f, const char *text) {
        static unsigned n;
        struct timespec times[2] = {};

        times[0].tv_sec = times[1].tv_sec = ++n;
        assert_int_equal(file_replace(f->orders, text, strlen(text), 0644, false), 0);
        assert_int_equal(utimensat(AT_FDCWD, f->orders, times, 0), 0);
}

static void read_after_ms(Fixture *f, unsigned ms, bool is_requested) {
        fake_ns += ms * NS_PER_MS;
        gpu_set_read(&f->set, f->second, is_requested);
}

static void read_seconds(Fixture *f, unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                f->second++;
                read_after_ms(f, 1000, false);
        }
}

static const GpuReading *gpu_at(const Fixture *f, uint32_t i) {
        assert_true(i < f->set.readings.n_gpus);
        return &f->set.readings.gpus[i];
}

static uint64_t value_of(const Fixture *f, uint32_t i, unsigned value) {
        assert_true(gpu_file_has(gpu_at(f, i), value));
        return gpu_at(f, i)->values[value];
}

static void assert_near(uint64_t got, double expected, double tolerance) {
        if ((double)got < expected - tolerance || (double)got > expected + tolerance)
                fail_msg("%llu is not %g ± %g", (unsigned long long)got, expected, tolerance);
}

/* Returns how often the functions were called whose name contains the word. */
static unsigned n_calls(const Fixture *f, const char *word) {
        char *text = file_read_text(AT_FDCWD, f->log, 1 << 20);
        unsigned n = 0;

        for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
                n += strstr(line, word) != NULL;
        free(text);
        return n;
}

/* --- values ------------------------------------------------------------------------------------------------------ */

static void a_gpu_has_the_numbers_of_the_driver(void **state) {
        Fixture *f = *state;

        order(f, "state matmul\n");
        read_seconds(f, 1);
        assert_int_equal(f->set.readings.state, GPU_STATE_OK);
        assert_string_equal(f->set.readings.driver, "580.159.04");
        assert_int_equal(f->set.readings.n_gpus, 1);
        assert_string_equal(gpu_at(f, 0)->uuid, "GPU-00000000-0000-0000-0000-000000000001");
        assert_string_equal(gpu_at(f, 0)->model, "NVIDIA H200");
        assert_string_equal(gpu_at(f, 0)->bus, "00000000:06:00.0");
        assert_int_equal(gpu_at(f, 0)->minor, 0);
        assert_int_equal(gpu_at(f, 0)->parent, -1);
        assert_int_equal(gpu_at(f, 0)->has_instances, 0);

        assert_int_equal(value_of(f, 0, GPU_memory_total_bytes), 150754820096);
        assert_int_equal(value_of(f, 0, GPU_memory_used_bytes), 1059913728);
        assert_int_equal(value_of(f, 0, GPU_utilization), 9900);
        assert_int_equal(value_of(f, 0, GPU_power_mw), 693939);
        assert_int_equal(value_of(f, 0, GPU_power_limit_mw), 700000);
        assert_int_equal(value_of(f, 0, GPU_temperature_mc), 68000);
        assert_int_equal(value_of(f, 0, GPU_sm_clock_hz), 1500000000);
        assert_int_equal(value_of(f, 0, GPU_sm_clock_max_hz), 1980000000);
        assert_int_equal(value_of(f, 0, GPU_ecc_corrected), 3);
        assert_int_equal(value_of(f, 0, GPU_ecc_uncorrected), 1);
        assert_int_equal(value_of(f, 0, GPU_remapped_rows), 2);
        assert_int_equal(value_of(f, 0, GPU_energy_mj), 3181386);
        /* activity is that between two samples */
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_sm_active));
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_sm_active_us));
}

static void counters_are_integrals(void **state) {
        Fixture *f = *state;

        order(f, "state duty\n");
        read_seconds(f, 11);
        assert_near(value_of(f, 0, GPU_present_us), 10e6, 0);
        assert_near(value_of(f, 0, GPU_utilized_us), 9.4e6, 20);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 10e6, 0);
        assert_near(value_of(f, 0, GPU_sm_active_us), 3.9882e6, 20);
        assert_near(value_of(f, 0, GPU_sm_occupancy_us), 0.5894e6, 20);
        assert_near(value_of(f, 0, GPU_tensor_active_us), 3.8693e6, 20);
        assert_near(value_of(f, 0, GPU_dram_active_us), 0.8253e6, 20);
        assert_near(value_of(f, 0, GPU_sm_over20_us), 10e6, 0);
        assert_near(value_of(f, 0, GPU_sm_over40_us), 0, 0);
        assert_near(value_of(f, 0, GPU_pcie_received_bytes), 3.1 * 1048576 * 10, 20);
        assert_near(value_of(f, 0, GPU_power_throttled_us), 10e6, 0);
        assert_near(value_of(f, 0, GPU_heat_throttled_us), 0, 0);
        assert_near(value_of(f, 0, GPU_sm_active), 3988, 0);
}

static void energy_is_read_each_ten_seconds_and_on_request(void **state) {
        Fixture *f = *state;
        uint64_t begin_ns = fake_ns;

        order(f, "state matmul\nlog 1\n");
        read_seconds(f, 20);
        /* the first one, and those of the seconds 1010 and 1020 */
        assert_int_equal(n_calls(f, "TotalEnergy"), 3);
        assert_int_equal(gpu_at(f, 0)->energy_boottime_ns, begin_ns + 20 * NS_PER_S);

        read_after_ms(f, 250, true);
        assert_int_equal(gpu_at(f, 0)->energy_boottime_ns, fake_ns);
        assert_near(value_of(f, 0, GPU_energy_mj), 3181386 + 693939 * 19.25, 2);
        assert_int_equal(f->set.readings.boottime_ns, fake_ns);
        assert_int_equal(n_calls(f, "TotalEnergy"), 4);
        assert_int_equal(n_calls(f, "PcieThroughput"), 0);
        assert_int_equal(n_calls(f, "MaxClock"), 1 + 20 / 60);
}

static void samples_of_activity_are_a_tenth_of_a_second_apart(void **state) {
        Fixture *f = *state;

        order(f, "state matmul\n");
        read_seconds(f, 3);
        read_after_ms(f, 50, true);
        read_after_ms(f, 20, true);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 2e6, 0);
        read_after_ms(f, 930, false);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 3e6, 0);
        assert_near(value_of(f, 0, GPU_sm_active_us), 3 * 958610, 20);
        assert_near(value_of(f, 0, GPU_present_us), 3e6, 0);
}

static void an_idle_gpu_is_observed_without_gpm(void **state) {
        Fixture *f = *state;

        order(f, "state idle\nlog 1\n");
        read_seconds(f, 31);
        assert_int_equal(n_calls(f, "GpmSampleGet"), 0);
        assert_int_equal(n_calls(f, "ProcessUtilization"), 0);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 30e6, 0);
        assert_near(value_of(f, 0, GPU_sm_active_us), 0, 0);
        assert_int_equal(value_of(f, 0, GPU_sm_active), 0);
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_pcie_sent_bytes));

        /* a program begins: what happens after its first sample is known */
        order(f, "state matmul\nlog 1\n");
        read_seconds(f, 1);
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_sm_active));
        read_seconds(f, 1);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 31e6, 0);
        assert_near(value_of(f, 0, GPU_sm_active_us), 958610, 20);

        /* it ends within a second, which is measured as well; also if a request comes too soon behind a sample */
        order(f, "state idle\nlog 1\n");
        read_after_ms(f, 50, true);
        read_after_ms(f, 950, false);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 32e6, 0);
        assert_near(value_of(f, 0, GPU_sm_active_us), 958610 * 1.05, 20);
        assert_int_equal(n_calls(f, "GpmSampleGet"), 3);
        read_seconds(f, 3);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 35e6, 0);
        assert_int_equal(n_calls(f, "GpmSampleGet"), 3);
}

static void a_gpu_with_a_process_that_waits_is_observed_each_ten_seconds(void **state) {
        Fixture *f = *state;

        order(f, "state idle\nprocesses 1\nlog 1\n");
        read_seconds(f, 31);
        assert_int_equal(n_calls(f, "GpmSampleGet"), 4);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 29e6, 0); /* from second 1001 to second 1030 */
        assert_near(value_of(f, 0, GPU_dram_active_us), 29e6 * 0.0000038, 3);
}

static void a_gpu_without_gpm_has_no_activity(void **state) {
        Fixture *f = *state;

        order(f, "state matmul\ngpm 0\n");
        read_seconds(f, 5);
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_sm_active_us));
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_sm_observed_us));
        assert_near(value_of(f, 0, GPU_utilized_us), 3.96e6, 5);
}

static void activity_that_fails_is_not_observed(void **state) {
        Fixture *f = *state;

        order(f, "state matmul\nerror GpmSampleGet 4\n");
        read_seconds(f, 5);
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_sm_observed_us));
        order(f, "state idle\n");
        read_seconds(f, 5);
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_sm_observed_us));
        order(f, "state matmul\nerror GpmMetrics 999\n");
        read_seconds(f, 5);
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_sm_observed_us));
        order(f, "state matmul\n");
        read_seconds(f, 2);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 2e6, 0);
        read_seconds(f, 5);
        assert_true(gpu_file_has(gpu_at(f, 0), GPU_sm_active));
        order(f, "state matmul\nerror GpmMetrics 999\n");
        read_seconds(f, 1);
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_sm_active));
}

static void the_time_in_which_the_reader_hung_is_a_gap(void **state) {
        Fixture *f = *state;

        order(f, "state matmul\n");
        read_seconds(f, 3);
        read_after_ms(f, 60000, false);
        assert_near(value_of(f, 0, GPU_present_us), 2e6, 0);
        assert_near(value_of(f, 0, GPU_utilized_us), 2 * 0.99e6, 5);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 2e6, 0);
        read_seconds(f, 1);
        assert_near(value_of(f, 0, GPU_present_us), 3e6, 0);
        assert_near(value_of(f, 0, GPU_sm_observed_us), 3e6, 0);
}

static void garbage_is_absent(void **state) {
        static const unsigned absent[] = {
                GPU_memory_total_bytes, GPU_memory_used_bytes, GPU_utilization,     GPU_utilized_us,
                GPU_power_mw,           GPU_temperature_mc,    GPU_sm_clock_hz,     GPU_sm_clock_max_hz,
                GPU_sm_active_us,       GPU_sm_observed_us,    GPU_pcie_sent_bytes, GPU_power_limit_mw,
        };
        Fixture *f = *state;

        order(f, "state two\ngarbage 1\n");
        read_seconds(f, 25);
        for (size_t i = 0; i < N_ELEMENTS(absent); i++)
                assert_false(gpu_file_has(gpu_at(f, 0), absent[i]));
        assert_string_equal(gpu_at(f, 0)->model, "");
        assert_string_equal(f->set.readings.driver, "");
        assert_int_equal(gpu_at(f, 0)->n_processes, 0);
}

/* --- processes --------------------------------------------------------------------------------------------------- */

static const GpuProcess *process_of(const Fixture *f, int32_t pid) {
        for (uint32_t i = 0; i < gpu_at(f, 0)->n_processes; i++)
                if (gpu_at(f, 0)->processes[i].pid == pid)
                        return &gpu_at(f, 0)->processes[i];
        return NULL;
}

static void assert_two_processes(const Fixture *f) {
        const GpuProcess *first = process_of(f, 509), *second = process_of(f, 510);

        assert_non_null(first);
        assert_non_null(second);
        assert_int_equal(gpu_at(f, 0)->n_processes, 2);
        assert_int_equal(first->memory_bytes, 1050673152);
        assert_int_equal(second->memory_bytes, 641728512);
        assert_int_equal(first->have, GPU_PROCESS_RUNNING | GPU_PROCESS_MEMORY | GPU_PROCESS_SHARE);
}

static void processes_have_memory_and_shares(void **state) {
        Fixture *f = *state;

        order(f, "state two\n");
        read_seconds(f, 20);
        assert_two_processes(f);
        assert_near(process_of(f, 509)->share_us, 19e6 * 0.6, 1);
        assert_near(process_of(f, 510)->share_us, 19e6 * 0.4, 1);
}

static void the_longer_entries_of_some_drivers_are_understood(void **state) {
        Fixture *f = *state;

        order(f, "state two\nappended 1\n");
        read_seconds(f, 20);
        assert_two_processes(f);
}

static void a_process_stays_after_its_end(void **state) {
        Fixture *f = *state;
        uint64_t share_us;

        order(f, "state matmul\n");
        read_seconds(f, 20);
        share_us = process_of(f, 509)->share_us;
        order(f, "state idle\n");
        read_seconds(f, 20);
        assert_int_equal(process_of(f, 509)->have, GPU_PROCESS_MEMORY | GPU_PROCESS_SHARE);
        assert_int_equal(process_of(f, 509)->share_us, share_us);
        assert_int_equal(process_of(f, 509)->memory_peak_bytes, 1050673152);

        /* another process with the same number has a peak of its own, and its share is the difference */
        order(f, "state tiny\n");
        read_seconds(f, 10);
        assert_int_equal(process_of(f, 509)->memory_peak_bytes, 641728512);
        assert_near(process_of(f, 509)->share_us - share_us, 10e6 * 0.24, 1);
}

static void places_of_ended_processes_are_used_again(void **state) {
        Fixture *f = *state;

        order(f, "state matmul\nprocesses 60\n");
        read_seconds(f, 3);
        assert_int_equal(gpu_at(f, 0)->n_processes, 60);
        order(f, "state matmul\nprocesses 60\npid 549\n");
        read_seconds(f, 3);
        assert_int_equal(gpu_at(f, 0)->n_processes, 64);
        assert_int_equal(gpu_at(f, 0)->n_left_out, 0);
        assert_non_null(process_of(f, 608));
        order(f, "state matmul\nprocesses 100\npid 549\n");
        read_seconds(f, 3);
        assert_int_equal(gpu_at(f, 0)->n_processes, 64);
        assert_int_equal(gpu_at(f, 0)->n_left_out, 36);

        /* of a list that is longer than any, only the length is known */
        order(f, "state idle\nprocesses 300\n");
        read_seconds(f, 11);
        assert_int_equal(process_of(f, 549)->have & GPU_PROCESS_RUNNING, 0);
        assert_int_equal(gpu_at(f, 0)->n_left_out, 300);
}

/* --- instances and sets ------------------------------------------------------------------------------------------ */

static void sixteen_gpus_are_read(void **state) {
        Fixture *f = *state;

        order(f, "gpus 16\nstate matmul\n");
        read_seconds(f, 12);
        assert_int_equal(f->set.readings.n_gpus, 16);
        for (uint32_t i = 0; i < 16; i++) {
                assert_int_equal(gpu_at(f, i)->index, i);
                assert_near(value_of(f, i, GPU_sm_active_us), 11 * 958610, 20);
                assert_true(fake_ns - gpu_at(f, i)->energy_boottime_ns < 11 * NS_PER_S);
        }
}

static void instances_come_and_go(void **state) {
        Fixture *f = *state;

        order(f, "gpus 2\nstate matmul\n");
        read_seconds(f, 10);
        order(f, "gpus 2\nstate matmul\ninstances 3\n");
        read_seconds(f, 61);
        assert_int_equal(f->set.readings.n_gpus, 5);
        assert_int_equal(gpu_at(f, 0)->has_instances, 1);
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_utilization));
        assert_string_equal(gpu_at(f, 2)->uuid, "MIG-00000000-0000-0000-0002-000000000001");
        assert_int_equal(gpu_at(f, 2)->parent, 0);
        assert_int_equal(gpu_at(f, 2)->index, 1);
        assert_int_equal(gpu_at(f, 4)->parent, -1);
        assert_int_equal(gpu_at(f, 4)->index, 1);
        assert_int_equal(value_of(f, 1, GPU_memory_total_bytes), 150754820096 / 7);
        assert_false(gpu_file_has(gpu_at(f, 1), GPU_power_mw));
        read_seconds(f, 20);
        assert_near(value_of(f, 1, GPU_sm_active_us), 0.95861 * (double)value_of(f, 1, GPU_sm_observed_us), 100);
        /* the counters of the other GPU went on */
        assert_near(value_of(f, 4, GPU_sm_observed_us), 90e6, 0);

        /* an instance that does not answer is gone: the GPUs are listed at the next second */
        order(f, "gpus 2\nstate matmul\ninstances 1\n");
        read_seconds(f, 2);
        assert_int_equal(f->set.readings.n_gpus, 3);
}

static void errors_of_the_driver_are_counted(void **state) {
        Fixture *f = *state;

        order(f, "gpus 2\n");
        read_seconds(f, 1);
        assert_int_equal(value_of(f, 0, GPU_xid_errors), 0);
        order(f, "gpus 2\nxid 3\n");
        read_seconds(f, 10);
        assert_int_equal(value_of(f, 0, GPU_xid_errors), 3);
        assert_int_equal(value_of(f, 1, GPU_xid_errors), 0);
        order(f, "gpus 2\nxid 500\n");
        read_after_ms(f, 100, true);
        read_after_ms(f, 100, true);
        assert_int_equal(value_of(f, 0, GPU_xid_errors), 3 + 2 * 64);
}

/* --- faults ------------------------------------------------------------------------------------------------------ */

static void assert_state(const Fixture *f, GpuState state, const char *reason) {
        assert_int_equal(f->set.readings.state, state);
        assert_non_null(strstr(f->set.readings.reason, reason));
        assert_null(f->set.nvml.library);
}

static void a_missing_library_is_named(void **state) {
        Fixture *f = *state;

        gpu_set_init(&f->set, "/nowhere/libnvidia-ml.so.1");
        read_seconds(f, 1);
        assert_state(f, GPU_STATE_NO_LIBRARY, "cannot be loaded");
        assert_int_equal(f->set.readings.n_gpus, 0);
}

static void reasons_of_init_are_named(void **state) {
        Fixture *f = *state;

        order(f, "init 18\n");
        read_seconds(f, 1);
        assert_state(f, GPU_STATE_MISMATCH, "version mismatch");
        order(f, "init 9\n");
        read_seconds(f, 1);
        assert_state(f, GPU_STATE_NO_DRIVER, "is not loaded");
        order(f, "init 4\n");
        read_seconds(f, 2);
        assert_state(f, GPU_STATE_NO_PERMISSION, "/dev/nvidia*");
        order(f, "init 999\n");
        read_seconds(f, 4);
        assert_state(f, GPU_STATE_FAILED, "error 999");
        order(f, "error GetCount 999\n");
        read_seconds(f, 8);
        assert_state(f, GPU_STATE_FAILED, "error 999");
        order(f, "");
        read_seconds(f, 16);
        assert_int_equal(f->set.readings.state, GPU_STATE_OK);
        assert_string_equal(f->set.readings.reason, "");
}

static void attempts_to_open_are_ever_rarer(void **state) {
        Fixture *f = *state;

        order(f, "init 9\nlog 1\n");
        read_seconds(f, 63);
        assert_int_equal(n_calls(f, "nvmlInit"), 6); /* after 1, 2, 4, 8, 16, 32 s */
        read_seconds(f, 600);
        assert_int_equal(n_calls(f, "nvmlInit"), 6 + 10);
}

static void a_driver_that_is_unloaded_is_let_go_and_counters_continue(void **state) {
        Fixture *f = *state;

        order(f, "state matmul\nlog 1\n");
        read_seconds(f, 11);
        order(f, "state matmul\nlog 1\ngone 1\n");
        read_seconds(f, 1);
        assert_state(f, GPU_STATE_NO_DRIVER, "is not loaded");
        assert_int_equal(n_calls(f, "nvmlShutdown"), 1);
        assert_int_equal(gpu_at(f, 0)->state, GPU_STATE_NO_DRIVER);
        assert_false(gpu_file_has(gpu_at(f, 0), GPU_power_mw));
        assert_int_equal(process_of(f, 509)->have & GPU_PROCESS_RUNNING, 0);
        assert_near(value_of(f, 0, GPU_present_us), 10e6, 0);

        order(f, "state matmul\n");
        read_seconds(f, 12);
        assert_int_equal(gpu_at(f, 0)->state, GPU_STATE_OK);
        assert_true(value_of(f, 0, GPU_present_us) > 15000000);
        assert_true(value_of(f, 0, GPU_present_us) < 22000000);
}

static void a_lost_gpu_is_named_and_the_others_are_read(void **state) {
        Fixture *f = *state;

        order(f, "gpus 3\nstate matmul\n");
        read_seconds(f, 5);
        order(f, "gpus 3\nstate matmul\nlost 1\nlog 1\n");
        read_seconds(f, 40);
        assert_int_equal(n_calls(f, "nvmlInit"), 6); /* after 1, 2, 4, 8, 16 and 32 s */
        assert_int_equal(f->set.readings.state, GPU_STATE_OK);
        assert_non_null(strstr(f->set.readings.reason, "fallen off the bus"));
        assert_int_equal(gpu_at(f, 1)->state, GPU_STATE_LOST);
        assert_string_equal(gpu_at(f, 1)->uuid, "GPU-00000000-0000-0000-0000-000000000002");
        assert_near(value_of(f, 1, GPU_present_us), 4e6, 0);
        assert_false(gpu_file_has(gpu_at(f, 1), GPU_temperature_mc));
        /* each attempt to find it takes the others a second */
        assert_near(value_of(f, 2, GPU_sm_observed_us), 44e6, 8e6);
        assert_int_equal(value_of(f, 2, GPU_power_mw), 693939);

        order(f, "gpus 3\nstate matmul\n");
        read_seconds(f, 62);
        assert_int_equal(gpu_at(f, 1)->state, GPU_STATE_OK);
        assert_string_equal(f->set.readings.reason, "");
        assert_true(value_of(f, 1, GPU_present_us) > 4000000);
}

static void a_removed_gpu_is_not_mistaken_for_another(void **state) {
        Fixture *f = *state;

        order(f, "gpus 3\nstate matmul\n");
        read_seconds(f, 5);
        order(f, "gpus 2\nstate matmul\n");
        read_seconds(f, 60);
        assert_int_equal(f->set.readings.n_gpus, 2);
        assert_string_equal(gpu_at(f, 1)->uuid, "GPU-00000000-0000-0000-0000-000000000002");
        assert_near(value_of(f, 1, GPU_present_us), 64e6, 0);
}

static void counters_of_an_earlier_process_continue(void **state) {
        Fixture *f = *state;
        GpuReadings *former = malloc(sizeof(*former));

        assert_non_null(former);
        order(f, "state matmul\n");
        read_seconds(f, 11);
        *former = f->set.readings;
        gpu_set_deinit(&f->set);

        f->set = (GpuSet){ .readings = *former };
        free(former);
        gpu_set_init(&f->set, f->library);
        read_seconds(f, 11);
        assert_near(value_of(f, 0, GPU_present_us), 20e6, 0);
        assert_near(value_of(f, 0, GPU_sm_active_us), 20 * 958610, 40);
        assert_int_equal(f->set.readings.sequence, 22);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_gpu_has_the_numbers_of_the_driver),
                TEST(counters_are_integrals),
                TEST(energy_is_read_each_ten_seconds_and_on_request),
                TEST(samples_of_activity_are_a_tenth_of_a_second_apart),
                TEST(an_idle_gpu_is_observed_without_gpm),
                TEST(a_gpu_with_a_process_that_waits_is_observed_each_ten_seconds),
                TEST(a_gpu_without_gpm_has_no_activity),
                TEST(activity_that_fails_is_not_observed),
                TEST(the_time_in_which_the_reader_hung_is_a_gap),
                TEST(garbage_is_absent),
                TEST(processes_have_memory_and_shares),
                TEST(the_longer_entries_of_some_drivers_are_understood),
                TEST(a_process_stays_after_its_end),
                TEST(places_of_ended_processes_are_used_again),
                TEST(sixteen_gpus_are_read),
                TEST(instances_come_and_go),
                TEST(errors_of_the_driver_are_counted),
                TEST(a_missing_library_is_named),
                TEST(reasons_of_init_are_named),
                TEST(attempts_to_open_are_ever_rarer),
                TEST(a_driver_that_is_unloaded_is_let_go_and_counters_continue),
                TEST(a_lost_gpu_is_named_and_the_others_are_read),
                TEST(a_removed_gpu_is_not_mistaken_for_another),
                TEST(counters_of_an_earlier_process_continue),
        };

        return cmocka_run_group_tests_name("gpu_set", tests, NULL, NULL);
}
