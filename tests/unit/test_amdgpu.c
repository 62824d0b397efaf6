/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/syscall.h>
#include <unistd.h>

#include "reader_fixture.h"
#include "util/clock.h"

#define DRM "sys/class/drm/"

static unsigned n_questions;

/* Counts how often the driver asks a GPU for its utilization. */
int openat(int dir_fd, const char *path, int flags, ...) {
        va_list args;
        mode_t mode;

        va_start(args, flags);
        mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
        va_end(args);
        n_questions += strstr(path, "gpu_busy_percent") != NULL;
        return (int)syscall(SYS_openat, dir_fd, path, flags, mode);
}

static int setup(void **state) {
        return fixture_new(state, &amdgpu_reader, "amdgpu");
}

static const SampleEquipment *gpu(const Fixture *f, size_t i) {
        assert_true(i < f->sample.equipment.n);
        return &f->sample.equipment.items[i];
}

static void read_next(Fixture *f) {
        assert_int_equal(read_after(f, NS_PER_S), 0);
}

static void write_file(const Fixture *f, const char *leaf, const char *text) {
        char path[96];

        (void)snprintf(path, sizeof(path), DRM "card1/device/%s", leaf);
        tree_write(f->root, path, text);
}

static void remove_file(const Fixture *f, const char *path) {
        char full[160];

        (void)snprintf(full, sizeof(full), "%s/" DRM "%s", f->root, path);
        tree_remove(full);
}

#define assert_value(item, value, expected)                          \
        do {                                                         \
                assert_true(equipment_has(item, value));             \
                assert_true((item)->values[value] == (expected));    \
        } while (0)

static void every_file_of_a_gpu_is_a_value(void **state) {
        Fixture *f = *state;
        const SampleEquipment *item;

        read_next(f);
        assert_int_equal(f->sample.equipment.n, 2);
        item = gpu(f, 0);
        assert_int_equal(item->kind, EQUIPMENT_GPU);
        assert_true(item->is_counted);
        assert_string_equal(item->name, "amd0");
        assert_string_equal(item->texts[0], "GPU-1a2b3c4d5e6f7081");
        assert_string_equal(item->texts[1], "AMD Instinct MI300X OAM");
        assert_string_equal(item->texts[2], "amdgpu");
        assert_string_equal(item->texts[4], "ok");
        assert_value(item, GPU_utilization, 4000);
        assert_value(item, GPU_memory_total_bytes, 206141652992);
        assert_value(item, GPU_memory_used_bytes, 1073741824);
        assert_value(item, GPU_power_mw, 310000);
        assert_value(item, GPU_power_limit_mw, 750000);
        assert_value(item, GPU_temperature_mc, 56000);
        assert_value(item, GPU_sm_clock_hz, 1200000000);
        assert_value(item, GPU_sm_clock_max_hz, 2100000000);
        assert_value(item, GPU_ecc_corrected, 23);
        assert_value(item, GPU_ecc_uncorrected, 1);
        assert_false(equipment_has(item, GPU_energy_mj));
        assert_false(equipment_has(item, GPU_sm_active_us));
}

static void time_in_use_is_summed_up(void **state) {
        uint64_t utilized_us;
        Fixture *f = *state;

        read_next(f);
        assert_value(gpu(f, 0), GPU_present_us, 0);
        read_next(f);
        assert_value(gpu(f, 0), GPU_present_us, 1000000);
        utilized_us = gpu(f, 0)->values[GPU_utilized_us];
        assert_int_equal(utilized_us, 400000);
        write_file(f, "gpu_busy_percent", "100\n");
        read_next(f);
        assert_value(gpu(f, 0), GPU_present_us, 2000000);
        assert_value(gpu(f, 0), GPU_utilized_us, utilized_us + 1000000);
}

static void a_gpu_that_sleeps_is_not_woken_up(void **state) {
        unsigned n = n_questions;
        Fixture *f = *state;

        write_file(f, "power/runtime_status", "suspended\n");
        read_next(f);
        read_next(f);
        assert_int_equal(n_questions, n);
        for (size_t i = 0; i < 2; i++) {
                assert_value(gpu(f, i), GPU_utilization, 0);
                assert_value(gpu(f, i), GPU_utilized_us, 0);
                assert_false(equipment_has(gpu(f, i), GPU_memory_used_bytes));
                assert_false(equipment_has(gpu(f, i), GPU_power_mw));
        }
        tree_write(f->root, DRM "card2/device/power/runtime_status", "active\n");
        read_next(f);
        read_next(f);
        assert_string_equal(gpu(f, 1)->name, "amd1");
        assert_string_equal(gpu(f, 1)->texts[0], "");
        assert_string_equal(gpu(f, 1)->texts[1], "AMD 0x73ff");
        assert_value(gpu(f, 1), GPU_utilization, 700);
        assert_value(gpu(f, 1), GPU_power_mw, 25000);
        assert_value(gpu(f, 1), GPU_temperature_mc, 48000);
        assert_false(equipment_has(gpu(f, 1), GPU_sm_clock_hz));
        assert_false(equipment_has(gpu(f, 1), GPU_ecc_corrected));
}

static void answers_that_cannot_be_are_absent(void **state) {
        static const char *const files[] = {
                "mem_info_vram_used",       "mem_info_vram_total",      "hwmon/hwmon5/power1_average",
                "hwmon/hwmon5/power1_cap",  "hwmon/hwmon5/temp1_input", "hwmon/hwmon5/temp2_input",
                "hwmon/hwmon5/freq1_input", "gpu_busy_percent",         "pp_dpm_sclk",
                "ras/umc_err_count",
        };
        static const char *const bad[] = { "", "\n", "many\n", "-1\n", "99999999999999999999\n" };

        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                Fixture *f = *state;

                for (size_t k = 0; k < N_ELEMENTS(files); k++)
                        write_file(f, files[k], bad[i]);
                read_next(f);
                assert_int_equal(gpu(f, 0)->have, 0);
                assert_int_equal(fixture_free(state), 0);
                assert_int_equal(setup(state), 0);
        }
}

static void answers_above_what_is_possible_are_absent(void **state) {
        Fixture *f = *state;

        write_file(f, "gpu_busy_percent", "101\n");
        write_file(f, "hwmon/hwmon5/power1_average", "10000000001\n");
        write_file(f, "hwmon/hwmon5/temp2_input", "150001\n"); /* the other sensor is read */
        write_file(f, "hwmon/hwmon5/freq1_input", "20000000001\n");
        write_file(f, "pp_dpm_sclk", "0: 132Mhz\n1: 20001Mhz\n");
        write_file(f, "product_name", "\xff\x1b[1m\n"); /* an EEPROM that was not written */
        write_file(f, "unique_id", "\xff\n");
        read_next(f);
        assert_false(equipment_has(gpu(f, 0), GPU_utilization));
        assert_false(equipment_has(gpu(f, 0), GPU_present_us));
        assert_false(equipment_has(gpu(f, 0), GPU_power_mw));
        assert_string_equal(gpu(f, 0)->texts[0], "");
        assert_string_equal(gpu(f, 0)->texts[1], "AMD 0x74a1");
        assert_value(gpu(f, 0), GPU_temperature_mc, 41000);
        assert_false(equipment_has(gpu(f, 0), GPU_sm_clock_hz));
        assert_false(equipment_has(gpu(f, 0), GPU_sm_clock_max_hz));
}

static void write_table(const Fixture *f, uint8_t format, uint8_t version, size_t offset, uint64_t energy, size_t n) {
        scoped(closep) int fd = -1;
        char path[160], table[256] = { (char)n, 0, (char)format, (char)version };

        memcpy(table + offset, &energy, sizeof(energy));
        (void)snprintf(path, sizeof(path), "%s/" DRM "card1/device/gpu_metrics", f->root);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_int_equal(file_write_all(fd, table, n), 0);
}

/* 65536 units are a joule. */
static void energy_is_that_of_the_table_of_its_version(void **state) {
        Fixture *f = *state;

        for (uint8_t version = 1; version <= 5; version++) {
                write_table(f, 1, version, version == 5 ? 88 : 24, UINT64_C(65536) * 12345 + 32768, 120);
                read_next(f);
                assert_value(gpu(f, 0), GPU_energy_mj, 12345500);
        }
}

static void a_table_without_energy_has_none(void **state) {
        static const struct {
                uint8_t format, version;
                uint64_t energy;
                size_t n;
        } bad[] = {
                { 1, 0, 65536, 120 }, { 1, 6, 65536, 120 },      { 2, 1, 65536, 120 },
                { 1, 3, 65536, 31 },  { 1, 5, 65536, 95 },
                { 1, 3, 0, 120 },     { 1, 3, UINT64_MAX, 120 }, { 1, 3, 65536, 3 }, { 1, 3, 65536, 0 },
        };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                write_table(f, bad[i].format, bad[i].version, bad[i].version == 5 ? 88 : 24, bad[i].energy, bad[i].n);
                read_next(f);
                assert_false(equipment_has(gpu(f, 0), GPU_energy_mj));
        }
}

/* --- cards ---------------------------------------------------------------------------------------- */

static void cards_that_come_and_go_are_found_within_a_minute(void **state) {
        Fixture *f = *state;

        read_next(f);
        assert_int_equal(f->sample.equipment.n, 2);
        remove_file(f, "card1");
        assert_int_equal(read_after(f, 60 * NS_PER_S), 0);
        assert_int_equal(f->sample.equipment.n, 1);
        assert_string_equal(gpu(f, 0)->name, "amd0");
        assert_string_equal(gpu(f, 0)->texts[1], "");
        remove_file(f, "card2");
        assert_int_equal(read_after(f, 60 * NS_PER_S), EQUIPMENT_NONE);
        assert_int_equal(read_after(f, NS_PER_S), EQUIPMENT_NONE);
}

static void a_node_without_amdgpu_has_none(void **state) {
        Fixture *f = *state;

        remove_file(f, "card2");
        remove_file(f, "card1/device/mem_info_vram_total"); /* another driver */
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(read_after(f, NS_PER_S), EQUIPMENT_NONE);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, fixture_free)

int main(void) {
        const struct CMUnitTest tests[] = {
                test(every_file_of_a_gpu_is_a_value),
                test(time_in_use_is_summed_up),
                test(a_gpu_that_sleeps_is_not_woken_up),
                test(answers_that_cannot_be_are_absent),
                test(answers_above_what_is_possible_are_absent),
                test(energy_is_that_of_the_table_of_its_version),
                test(a_table_without_energy_has_none),
                test(cards_that_come_and_go_are_found_within_a_minute),
                test(a_node_without_amdgpu_has_none),
        };

        return cmocka_run_group_tests_name("amdgpu", tests, NULL, NULL);
}
