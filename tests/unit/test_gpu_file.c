/* SPDX-License-Identifier: Apache-2.0 */
/* tests: lib/measure/gpu_file.c */
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
#include "util/file.h"

typedef struct Fixture {
        char directory[64], path[96];
        GpuReadings written, read;
} Fixture;

static void put_readings(GpuReadings *readings) {
        *readings = (GpuReadings){
                .magic = GPU_FILE_MAGIC,
                .n_bytes_gpu = sizeof(GpuReading),
                .n_values = N_GPU_VALUES,
                .sequence = 7,
                .boottime_ns = 1000,
                .n_gpus = 2,
                .driver = "580.159.04",
        };
        for (uint32_t i = 0; i < readings->n_gpus; i++) {
                GpuReading *gpu = &readings->gpus[i];

                (void)snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-%u", i);
                (void)snprintf(gpu->model, sizeof(gpu->model), "NVIDIA H200");
                gpu->parent = -1;
                gpu->have = UINT32_C(1) << GPU_energy_mj;
                gpu->values[GPU_energy_mj] = 3181386 + i;
                gpu->n_processes = 1;
                gpu->processes[0] = (GpuProcess){ .pid = 509, .have = GPU_PROCESS_MEMORY, .memory_bytes = 641728512 };
        }
}

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        strcpy(f->directory, "/tmp/perfd-gpu-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        (void)snprintf(f->path, sizeof(f->path), "%s/readings", f->directory);
        put_readings(&f->written);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        (void)unlink(f->path);
        assert_int_equal(rmdir(f->directory), 0);
        free(f);
        return 0;
}

static int read_back(Fixture *f) {
        memset(&f->read, 0xa5, sizeof(f->read));
        return gpu_file_read(AT_FDCWD, f->path, &f->read);
}

static void put_bytes(Fixture *f, const void *bytes, size_t n) {
        assert_int_equal(file_replace(f->path, bytes, n, 0644, false), 0);
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static void a_reading_is_read_as_it_was_written(void **state) {
        Fixture *f = *state;
        struct stat st;

        assert_int_equal(gpu_file_write(f->path, &f->written), 0);
        assert_int_equal(read_back(f), 0);
        assert_memory_equal(&f->read, &f->written, offsetof(GpuReadings, gpus) + 2 * sizeof(GpuReading));
        assert_true(gpu_file_has(&f->read.gpus[1], GPU_energy_mj));
        assert_false(gpu_file_has(&f->read.gpus[1], GPU_sm_active_us));

        /* a later reading has fewer GPUs; others than its group cannot read it */
        f->written.n_gpus = 0;
        f->written.state = GPU_STATE_MISMATCH;
        assert_int_equal(gpu_file_write(f->path, &f->written), 0);
        assert_int_equal(read_back(f), 0);
        assert_int_equal(f->read.state, GPU_STATE_MISMATCH);
        assert_int_equal(stat(f->path, &st), 0);
        assert_int_equal(st.st_size, offsetof(GpuReadings, gpus));
        assert_int_equal(st.st_mode & 0777, 0640);
}

static void a_missing_file_is_none_and_a_fifo_is_invalid(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_back(f), GPU_FILE_NONE);
        assert_int_equal(mkfifo(f->path, 0600), 0);
        assert_int_equal(read_back(f), GPU_FILE_INVALID);
        assert_int_equal(unlink(f->path), 0);
        assert_int_equal(symlink("/proc/self/stat", f->path), 0);
        assert_int_equal(read_back(f), GPU_FILE_INVALID);
}

static void a_file_of_another_layout_is_invalid(void **state) {
        Fixture *f = *state;
        GpuReadings *w = &f->written;
        size_t n = offsetof(GpuReadings, gpus) + 2 * sizeof(GpuReading);

        for (size_t i = 0; i < n; i += 97) {
                put_bytes(f, w, i);
                assert_int_equal(read_back(f), GPU_FILE_INVALID);
        }
        put_bytes(f, w, n + 1);
        assert_int_equal(read_back(f), GPU_FILE_INVALID);
        assert_int_equal(truncate(f->path, 1 << 30), 0);
        assert_int_equal(read_back(f), GPU_FILE_INVALID);

#define SPOILT(member, value) { put_readings(w); w->member = (value); put_bytes(f, w, n); \
                                assert_int_equal(read_back(f), GPU_FILE_INVALID); }
        SPOILT(magic, 0)
        SPOILT(n_bytes_gpu, 8)
        SPOILT(n_values, N_GPU_VALUES + 1)
        SPOILT(state, N_GPU_STATES)
        SPOILT(n_gpus, 3)
        SPOILT(n_gpus, UINT32_MAX)
#undef SPOILT
}

static void texts_and_numbers_out_of_range_are_corrected(void **state) {
        Fixture *f = *state;
        GpuReading *gpu = &f->written.gpus[1];

        memset(f->written.driver, 'x', sizeof(f->written.driver));
        strcpy(f->written.reason, "line\nline");
        memset(gpu->uuid, 0xff, sizeof(gpu->uuid));
        gpu->state = 99;
        gpu->parent = 1;
        gpu->have = UINT32_MAX;
        gpu->n_processes = UINT32_MAX;
        gpu->processes[0].pid = -1;
        gpu->processes[5].pid = 12;
        assert_int_equal(gpu_file_write(f->path, &f->written), 0);

        assert_int_equal(read_back(f), 0);
        gpu = &f->read.gpus[1];
        assert_int_equal(strlen(f->read.driver), sizeof(f->read.driver) - 1);
        assert_string_equal(f->read.reason, "");
        assert_string_equal(gpu->uuid, "");
        assert_int_equal(gpu->state, GPU_STATE_FAILED);
        assert_int_equal(gpu->parent, -1);
        assert_true(gpu->have < UINT32_C(1) << N_GPU_VALUES);
        assert_int_equal(gpu->n_processes, 1);
        assert_int_equal(gpu->processes[0].pid, 12);
}

/* One to eight bytes at once. */
static void damaged_bytes_hurt_nothing(void **state) {
        Fixture *f = *state;
        size_t n = offsetof(GpuReadings, gpus) + 2 * sizeof(GpuReading);
        unsigned char *bytes = malloc(n);
        uint32_t random = 1;

        assert_non_null(bytes);
        for (unsigned i = 0; i < 3000; i++) {
                memcpy(bytes, &f->written, n);
                for (unsigned k = 0; k <= i % 8; k++) {
                        random = random * 1664525 + 1013904223;
                        bytes[(random >> 8) % (i % 2 ? n : 700)] = (unsigned char)random;
                }
                put_bytes(f, bytes, n);
                if (read_back(f) != 0)
                        continue;
                for (uint32_t k = 0; k < f->read.n_gpus; k++) {
                        const GpuReading *gpu = &f->read.gpus[k];

                        assert_non_null(memchr(gpu->uuid, 0, sizeof(gpu->uuid)));
                        assert_true(gpu->state < N_GPU_STATES && gpu->parent < (int32_t)k);
                        assert_true(gpu->n_processes <= GPU_FILE_PROCESSES_MAX && gpu->have >> N_GPU_VALUES == 0);
                }
        }
        free(bytes);
}

static void a_missing_directory_is_an_error_when_written(void **state) {
        Fixture *f = *state;

        assert_true(gpu_file_write("/tmp/perfd-gpu-missing/readings", &f->written) < 0);
        assert_int_equal(gpu_file_read(AT_FDCWD, "/tmp/perfd-gpu-missing/readings", &f->read), GPU_FILE_NONE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_reading_is_read_as_it_was_written, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_missing_file_is_none_and_a_fifo_is_invalid, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_file_of_another_layout_is_invalid, set_up, tear_down),
                cmocka_unit_test_setup_teardown(texts_and_numbers_out_of_range_are_corrected, set_up, tear_down),
                cmocka_unit_test_setup_teardown(damaged_bytes_hurt_nothing, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_missing_directory_is_an_error_when_written, set_up, tear_down),
        };

        return cmocka_run_group_tests_name("gpu_file", tests, NULL, NULL);
}
