/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/host/equipment_readers.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure/gpu_file.h"
#include "sampler_fixture.h"

/* An adapter with a counter whose file does not answer: a FIFO, as long as nobody opens it for writing. */
#define PORT "sys/class/infiniband/mlx5_0/ports/1/"
#define SENT PORT "counters/port_xmit_data"
#define HUNG PORT "counters/symbol_error"

static atomic_uint n_questions;
static atomic_int refusal; /* errno for the directory of the port */

int openat(int dir_fd, const char *path, int flags, ...) {
        va_list args;
        mode_t mode;

        va_start(args, flags);
        mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
        va_end(args);
        if (strstr(path, "symbol_error"))
                n_questions++;
        if (refusal && strcmp(path, "sys/class/infiniband/mlx5_0/ports/1") == 0) {
                errno = refusal;
                return -1;
        }
        return (int)syscall(SYS_openat, dir_fd, path, flags, mode);
}

static void path_of(const Fixture *f, const char *path, char ret[static 256]) {
        (void)snprintf(ret, 256, "%s/%s", f->root, path);
}

static int setup_port(void **state) {
        char path[256];
        Fixture *f;

        setup(state);
        f = *state;
        start(f, "small");
        path_of(f, SENT, path);
        assert_int_equal(file_make_parents(path, 0755), 0);
        tree_write(f->root, SENT, "1000\n");
        tree_write(f->root, HUNG, "0\n");
        return 0;
}

static void hang(const Fixture *f) {
        char path[256];

        path_of(f, HUNG, path);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
}

/* Answers the question that waits, and puts a file in the place of the FIFO. Returns true if there was a question. */
static bool answer(const Fixture *f) {
        char path[256];
        int fd;

        path_of(f, HUNG, path);
        fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return false;
        assert_int_equal(unlink(path), 0);
        tree_write(f->root, HUNG, "3\n");
        close(fd);
        return true;
}

static bool has_ports(const Fixture *f) {
        return sample_has(&f->sample, SOURCE_FABRIC);
}

static uint64_t read_ns(const Fixture *f) {
        return sample_read_ns(&f->sample, SOURCE_FABRIC);
}

static void assert_error(const Fixture *f, const char *error) {
        assert_string_equal(sampler_stats(f->sampler)->error[SOURCE_FABRIC], error);
}

static void a_driver_that_hangs_is_not_waited_for(void **state) {
        Fixture *f = *state;
        unsigned n;

        EVENTUALLY((read_only_at(f, 1), has_ports(f)));
        assert_true(read_ns(f) == 1 * NS_PER_S);
        hang(f);
        n = n_questions;

        /* errors are read again after ten seconds; the last reading is shown until it is known that the driver hangs */
        EVENTUALLY((read_only_at(f, 11), n_questions > n));
        read_only_at(f, 14);
        assert_true(has_ports(f));
        assert_true(read_ns(f) == 1 * NS_PER_S);
        assert_true(sample_has(&f->sample, SOURCE_STAT));

        for (uint64_t s = 15; s < 20; s++) {
                read_only_at(f, s);
                assert_false(has_ports(f));
                assert_false(sample_lacks(&f->sample, SOURCE_FABRIC));
                assert_true(sample_has(&f->sample, SOURCE_STAT));
        }
        assert_error(f, "sys/class/infiniband: the driver of a port has not answered for 8 s");

        assert_true(n_questions == n + 1);

        EVENTUALLY(answer(f));
        EVENTUALLY((read_only_at(f, 20), has_ports(f)));
        assert_error(f, "");
        EVENTUALLY((read_only_at(f, 21), read_ns(f) == 21 * NS_PER_S));
}

/* Its text belongs to the thread, which has ended by then. */
static void an_error_that_has_no_name_is_told(void **state) {
        Fixture *f = *state;

        refusal = 524;
        EVENTUALLY((read_only_at(f, 1), !sample_lacks(&f->sample, SOURCE_FABRIC)));
        refusal = 0;
        assert_false(has_ports(f));
        assert_error(f, "sys/class/infiniband: Unknown error 524");
}

/* The first reading of all as well: nothing is known, and then the reason. */
static void a_driver_that_hangs_from_the_begin_on_is_named(void **state) {
        Fixture *f = *state;

        hang(f);
        read_only_at(f, 1);
        assert_true(sample_lacks(&f->sample, SOURCE_FABRIC));
        read_only_at(f, 5);
        assert_false(sample_lacks(&f->sample, SOURCE_FABRIC));
        assert_error(f, "sys/class/infiniband: the driver of a port has not answered for 4 s");
        EVENTUALLY(answer(f));
}

/* The thread frees what it uses when the driver answers: its directory, which is the last to use the tree. */
static void perfd_ends_while_a_driver_hangs(void **state) {
        Fixture *f = *state;

        hang(f);
        read_only_at(f, 1);
        f->sampler = sampler_free(f->sampler);
        EVENTUALLY(answer(f));
}

/* The rate is that between the readings, and totals are no exact ones. */
static void a_reading_has_its_own_time(void **state) {
        static const uint64_t read_ms[] = { 10000, 11600, 13200, 13200 }, sent[] = { 0, 4000, 8000, 8000 };
        const uint32_t bit = totals_bit(TOTAL_FABRIC_SENT_BYTES);
        SampleEquipment *port;
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(sent); i++) {
                read_only_at(f, 10 + 2 * i);
                f->sample.equipment.n = 0;
                assert_int_equal(equipment_add(&f->sample.equipment, EQUIPMENT_PORT, "mlx5_0:1", &port), 0);
                equipment_set(port, PORT_sent_bytes, sent[i]);
                sample_set(&f->sample, SOURCE_FABRIC);
                f->sample.equipment.read_ns[SOURCE_FABRIC] = read_ms[i] * NS_PER_MS;
                measure(f);
                assert_int_equal(meter_totals(f->meter)->partial & bit, i > 0 ? bit : 0);
                assert_int_equal(meter_totals(f->meter)->unknown & bit, 0);
                if (i == 1 || i == 2)
                        assert_true(f->observation.fabric_sent_rate == 2500);
        }
        assert_true(isnan(f->observation.fabric_sent_rate)); /* no further reading */
        assert_int_equal(total(f, TOTAL_FABRIC_SENT_BYTES), 8000);
}

/* The GPUs of NVIDIA are read with the sample, those of AMD by a thread, which does not ask again within 50 ms. */
static void the_earliest_reading_is_the_time_of_a_source(void **state) {
        static const GpuReadings nvidia = { .magic = GPU_FILE_MAGIC,
                                            .n_bytes_gpu = sizeof(GpuReading),
                                            .n_values = N_GPU_VALUES,
                                            .boottime_ns = NS_PER_S,
                                            .n_gpus = 1,
                                            .gpus = { { .uuid = "GPU-1", .parent = -1 } } };
        char path[256];
        Fixture *f = *state;

        start(f, "amdgpu");
        path_of(f, GPU_FILE_PATH, path);
        assert_int_equal(file_make_parents(path, 0755), 0);
        assert_int_equal(gpu_file_write(path, &nvidia), 0);
        EVENTUALLY((read_only_at(f, 1), f->sample.equipment.n == 3));
        assert_int_equal(sampler_read(f->sampler, 1020 * NS_PER_MS, NS_PER_S, &f->sample), 0);
        assert_int_equal(f->sample.equipment.n, 3);
        assert_true(sample_read_ns(&f->sample, SOURCE_GPU) == NS_PER_S);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup_port, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                test(a_driver_that_hangs_is_not_waited_for),
                test(a_driver_that_hangs_from_the_begin_on_is_named),
                test(an_error_that_has_no_name_is_told),
                test(perfd_ends_while_a_driver_hangs),
                test(a_reading_has_its_own_time),
                cmocka_unit_test_setup_teardown(the_earliest_reading_is_the_time_of_a_source, setup, teardown),
        };

        return cmocka_run_group_tests_name("slow_reader", tests, NULL, NULL);
}
