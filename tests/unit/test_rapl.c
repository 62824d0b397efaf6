/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reader_fixture.h"

#define SECOND UINT64_C(1000000000)
#define POWERCAP "sys/class/powercap/"

static int setup(void **state) {
        return fixture_new(state, &rapl_reader, "rapl");
}

static void remove_zone(const Fixture *f, const char *zone) {
        char path[160];

        (void)snprintf(path, sizeof(path), "%s/" POWERCAP "%s", f->root, zone);
        tree_remove(path);
}

static void assert_item(const Fixture *f, size_t i, const char *name, const char *part, bool is_counted, uint64_t uj) {
        const SampleEquipment *item = &f->sample.equipment.items[i];

        assert_true(i < f->sample.equipment.n);
        assert_int_equal(item->kind, EQUIPMENT_ENERGY);
        assert_string_equal(item->name, name);
        assert_string_equal(item->texts[0], part);
        assert_int_equal(item->is_counted, is_counted);
        assert_true(equipment_has(item, ENERGY_energy_uj));
        assert_int_equal(item->values[ENERGY_energy_uj], uj);
}

/* Both interfaces list package 0. */
static void packages_and_memory_are_counted_once(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_after(f, SECOND), 0);
        assert_int_equal(f->sample.equipment.n, 6);
        assert_item(f, 0, "package-0", "package", true, 262143300000);
        assert_item(f, 1, "package-0/dram", "dram", true, 65712000000);
        assert_item(f, 2, "package-1", "package", true, 120000000);
        assert_item(f, 3, "package-1/core", "core", false, 60000000);
        assert_item(f, 4, "package-1/uncore", "uncore", false, 1000000);
        assert_item(f, 5, "psys", "psys", false, 777000000);
        remove_zone(f, "intel-rapl:0");
        assert_int_equal(read_after(f, SECOND), 0); /* the files are open */
}

/* 2^32 units of 2^-14 J, as the kernel rounds them, and of 15.3 µJ. */
static void a_counter_wraps_one_unit_above_its_range(void **state) {
        Fixture *f = *state;

        tree_write(f->root, POWERCAP "intel-rapl:1/max_energy_range_uj", "4294967295\n");
        assert_int_equal(read_after(f, SECOND), 0);
        assert_int_equal(f->sample.equipment.items[0].width, 262143328912);
        assert_int_equal(f->sample.equipment.items[1].width, 65712999629);
        assert_int_equal(f->sample.equipment.items[2].width, UINT64_C(1) << 32);
}

static void a_package_that_only_the_other_interface_lists_is_read(void **state) {
        Fixture *f = *state;

        remove_zone(f, "intel-rapl:0");
        remove_zone(f, "intel-rapl:0:0");
        assert_int_equal(read_after(f, SECOND), 0);
        assert_int_equal(f->sample.equipment.n, 5);
        assert_item(f, 4, "package-0", "package", true, 262143300000);
}

static void a_virtual_machine_has_no_meter_until_a_module_is_loaded(void **state) {
        Fixture *f = *state;
        char command[256];

        (void)snprintf(command, sizeof(command), "mv %s/sys %s/hidden", f->root, f->root);
        assert_int_equal(system(command), 0);
        assert_int_equal(read_after(f, SECOND), EQUIPMENT_NONE);
        (void)snprintf(command, sizeof(command), "mv %s/hidden %s/sys", f->root, f->root);
        assert_int_equal(system(command), 0);
        assert_int_equal(read_after(f, SECOND), EQUIPMENT_NONE);
        assert_int_equal(read_after(f, 60 * SECOND), 0);
        assert_int_equal(f->sample.equipment.n, 6);
}

/* The file of a zone is tried again at the next reading, then each minute. */
static void a_counted_meter_that_cannot_be_read_is_a_failure(void **state) {
        Fixture *f = *state;

        remove_zone(f, "intel-rapl:1/energy_uj");
        assert_int_equal(read_after(f, SECOND), EQUIPMENT_FAILED);
        assert_string_equal(f->fault, "intel-rapl:1/energy_uj: No such file or directory");
        for (int i = 0; i < 3; i++)
                assert_int_equal(read_after(f, SECOND), EQUIPMENT_FAILED);
        assert_string_equal(f->fault, "intel-rapl:1/energy_uj: No such file or directory");
        tree_write(f->root, POWERCAP "intel-rapl:1/energy_uj", "120000001\n");
        assert_int_equal(read_after(f, 60 * SECOND), 0);
        assert_item(f, 2, "package-1", "package", true, 120000001);
}

static void a_part_that_cannot_be_read_is_left_out(void **state) {
        Fixture *f = *state;

        remove_zone(f, "intel-rapl:1:0/energy_uj");
        remove_zone(f, "intel-rapl:1:1/name");
        tree_write(f->root, POWERCAP "intel-rapl:2/name", "reactor\n");
        assert_int_equal(read_after(f, SECOND), 0);
        assert_int_equal(f->sample.equipment.n, 3);
}

static void what_is_no_reading_of_a_meter_is_a_failure(void **state) {
        static const char *const bad[] = { "", "\n", "many\n", "-1\n", "262143328851\n", "99999999999999999999\n" };
        Fixture *f = *state;

        assert_int_equal(read_after(f, SECOND), 0);
        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                tree_write(f->root, POWERCAP "intel-rapl:1/energy_uj", bad[i]);
                assert_int_equal(read_after(f, SECOND), EQUIPMENT_FAILED);
                assert_string_equal(f->fault, "intel-rapl:1/energy_uj: not a number within its range");
        }
        tree_write(f->root, POWERCAP "intel-rapl:1/energy_uj", "262143328850\n");
        assert_int_equal(read_after(f, SECOND), 0);
}

static void a_zone_without_range_is_none(void **state) {
        static const char *const bad[] = { "", "far\n", "0\n" };

        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                Fixture *f = *state;

                tree_write(f->root, POWERCAP "intel-rapl:2/max_energy_range_uj", bad[i]);
                assert_int_equal(read_after(f, SECOND), 0);
                assert_int_equal(f->sample.equipment.n, 5);
                assert_int_equal(fixture_free(state), 0);
                assert_int_equal(setup(state), 0);
        }
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, fixture_free)

int main(void) {
        const struct CMUnitTest tests[] = {
                test(packages_and_memory_are_counted_once),
                test(a_counter_wraps_one_unit_above_its_range),
                test(a_package_that_only_the_other_interface_lists_is_read),
                test(a_virtual_machine_has_no_meter_until_a_module_is_loaded),
                test(a_counted_meter_that_cannot_be_read_is_a_failure),
                test(a_part_that_cannot_be_read_is_left_out),
                test(what_is_no_reading_of_a_meter_is_a_failure),
                test(a_zone_without_range_is_none),
        };

        return cmocka_run_group_tests_name("rapl", tests, NULL, NULL);
}
