/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/host/nvidia.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "measure/gpu_file.h"
#include "sample/host/equipment_reader.h"
#include "tree.h"
#include "util/clock.h"

#define NOW (100 * NS_PER_S)

typedef struct Fixture {
        char root[64], path[128];
        int root_fd;
        void *nvidia;
        Sample sample;
        GpuReadings written;
        const char *fault;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        strcpy(f->root, "/tmp/perfd-nvidia-XXXXXX");
        assert_non_null(mkdtemp(f->root));
        f->root_fd = open(f->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(f->root_fd >= 0);
        (void)snprintf(f->path, sizeof(f->path), "%s/" GPU_FILE_PATH, f->root);
        assert_int_equal(equipment_reader_new(&nvidia_reader, &f->nvidia, f->root, f->root_fd), 0);
        f->sample.boottime_ns = NOW;
        f->written = (GpuReadings){
                .magic = GPU_FILE_MAGIC,
                .n_bytes_gpu = sizeof(GpuReading),
                .n_values = N_GPU_VALUES,
                .boottime_ns = NOW - 100 * NS_PER_MS,
                .n_gpus = 1,
                .driver = "580.159.04",
        };
        f->written.gpus[0] = (GpuReading){ .uuid = "GPU-1", .model = "NVIDIA H200", .parent = -1, .index = 0 };
        f->written.gpus[0].have = UINT32_C(1) << GPU_power_mw | UINT32_C(1) << GPU_energy_mj;
        f->written.gpus[0].values[GPU_power_mw] = 693939;
        f->written.gpus[0].values[GPU_energy_mj] = 3181386;
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        nvidia_reader.free(f->nvidia);
        sample_deinit(&f->sample);
        assert_int_equal(close(f->root_fd), 0);
        tree_remove(f->root);
        free(f);
        return 0;
}

static void write_readings(Fixture *f) {
        assert_int_equal(file_make_parents(f->path, 0755), 0);
        assert_int_equal(gpu_file_write(f->path, &f->written), 0);
}

static int read_now(Fixture *f) {
        f->sample.equipment.n = 0;
        return nvidia_reader.read(f->nvidia, &f->sample, &f->fault);
}

static void assert_fault(Fixture *f, const char *text) {
        assert_int_equal(read_now(f), EQUIPMENT_FAILED);
        assert_string_equal(f->fault, text);
}

static void a_gpu_is_an_item(void **state) {
        Fixture *f = *state;
        const SampleEquipment *item;

        write_readings(f);
        assert_int_equal(read_now(f), 0);
        assert_int_equal(f->sample.equipment.n, 1);
        item = &f->sample.equipment.items[0];
        assert_int_equal(item->kind, EQUIPMENT_GPU);
        assert_true(item->is_counted);
        assert_string_equal(item->name, "0");
        assert_string_equal(item->texts[0], "GPU-1");
        assert_string_equal(item->texts[1], "NVIDIA H200");
        assert_string_equal(item->texts[2], "580.159.04");
        assert_string_equal(item->texts[3], "");
        assert_string_equal(item->texts[4], "ok");
        assert_int_equal(item->values[GPU_power_mw], 693939);
        assert_true(equipment_has(item, GPU_energy_mj));
        assert_false(equipment_has(item, GPU_sm_active_us));
}

static void instances_are_named_by_their_gpu_and_in_no_total(void **state) {
        Fixture *f = *state;
        GpuReading *gpus = f->written.gpus;

        f->written.n_gpus = 3;
        gpus[0].has_instances = 1;
        gpus[1] = (GpuReading){ .uuid = "MIG-1", .parent = 0, .index = 2 };
        gpus[2] = (GpuReading){ .uuid = "GPU-2", .parent = -1, .index = 1, .state = GPU_STATE_LOST };
        write_readings(f);
        assert_int_equal(read_now(f), 0);
        assert_int_equal(f->sample.equipment.n, 3);
        assert_false(f->sample.equipment.items[0].is_counted);
        assert_false(f->sample.equipment.items[1].is_counted);
        assert_string_equal(f->sample.equipment.items[1].name, "0/2");
        assert_string_equal(f->sample.equipment.items[1].texts[3], "0");
        assert_true(f->sample.equipment.items[2].is_counted);
        assert_string_equal(f->sample.equipment.items[2].name, "1");
        assert_string_equal(f->sample.equipment.items[2].texts[4], "lost");
}

static void a_node_without_driver_has_no_gpu(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_now(f), EQUIPMENT_NONE);
        f->written.n_gpus = 0;
        write_readings(f);
        assert_int_equal(read_now(f), EQUIPMENT_NONE);
}

static void a_driver_without_readings_is_a_failure(void **state) {
        Fixture *f = *state;
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/proc/driver/nvidia", f->root);
        assert_int_equal(file_make_dirs(path, 0755), 0);
        assert_fault(f, "a driver is loaded, but perfd-gpu does not run");
        write_readings(f);
        assert_int_equal(read_now(f), 0);
}

static void old_readings_are_a_failure(void **state) {
        Fixture *f = *state;

        f->written.boottime_ns = NOW - GPU_FILE_AGE_MAX_NS;
        write_readings(f);
        assert_int_equal(read_now(f), 0);
        f->sample.boottime_ns += 5 * NS_PER_S;
        assert_fault(f, "8 s old: the driver hangs, or perfd-gpu does not run");

        /* of the future: the clock of the system does not run backwards */
        f->written.boottime_ns = f->sample.boottime_ns + 4 * NS_PER_S;
        write_readings(f);
        assert_fault(f, "not a file of this version: restart perfd-gpu");
}

static void the_reason_of_the_driver_is_said(void **state) {
        Fixture *f = *state;

        f->written.state = GPU_STATE_MISMATCH;
        f->written.boottime_ns = 1; /* true until perfd-gpu says otherwise */
        strcpy(f->written.reason, "driver/library version mismatch");
        write_readings(f);
        assert_fault(f, "driver/library version mismatch");
}

static void files_that_are_none_are_a_failure(void **state) {
        Fixture *f = *state;

        assert_int_equal(file_make_parents(f->path, 0755), 0);
        assert_int_equal(file_replace(f->path, "nonsense", 8, 0644, false), 0);
        assert_fault(f, "not a file of this version: restart perfd-gpu");
        assert_int_equal(unlink(f->path), 0);
        assert_int_equal(symlink(f->path, f->path), 0);
        assert_fault(f, "not a file of this version: restart perfd-gpu");
}

static void gpus_beyond_the_limit_of_a_sample_are_a_failure(void **state) {
        Fixture *f = *state;
        SampleEquipment *item;

        write_readings(f);
        f->sample.equipment.n = 0;
        for (size_t i = 0; i < EQUIPMENT_GPU_MAX; i++)
                assert_int_equal(equipment_add(&f->sample.equipment, EQUIPMENT_GPU, "x", &item), 0);
        assert_int_equal(nvidia_reader.read(f->nvidia, &f->sample, &f->fault), EQUIPMENT_FAILED);
        assert_string_equal(f->fault, "too many GPUs");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_gpu_is_an_item),
                TEST(instances_are_named_by_their_gpu_and_in_no_total),
                TEST(a_node_without_driver_has_no_gpu),
                TEST(a_driver_without_readings_is_a_failure),
                TEST(old_readings_are_a_failure),
                TEST(the_reason_of_the_driver_is_said),
                TEST(files_that_are_none_are_a_failure),
                TEST(gpus_beyond_the_limit_of_a_sample_are_a_failure),
        };

        return cmocka_run_group_tests_name("nvidia", tests, NULL, NULL);
}
