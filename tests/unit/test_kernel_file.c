/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "sample/kernel_file.h"
#include "tree.h"

typedef struct Fixture {
        char root[64];
        int root_fd;
        KernelText text;
        KernelFile file;
} Fixture;

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        tree_copy("small", f->root);
        f->root_fd = open(f->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        kernel_file_init(&f->file, "proc/file", NULL, false);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;

        kernel_file_deinit(&f->file);
        kernel_file_text_deinit(&f->text);
        closep(&f->root_fd);
        tree_remove(f->root);
        free(f);
        return 0;
}

static void assert_reads(Fixture *f, size_t n) {
        scoped(freep) char *text = malloc(n + 1);
        int error;

        for (size_t i = 0; i < n; i++)
                text[i] = (char)('a' + i % 23);
        text[n] = '\0';
        tree_write(f->root, "proc/file", text);
        assert_int_equal(kernel_file_read(&f->file, f->root_fd, 1, &f->text, &error), 0);
        assert_int_equal(f->text.n, n);
        assert_string_equal(f->text.bytes, text);
}

static void a_file_of_any_length_is_read_whole(void **state) {
        static const size_t lengths[] = {
                0, 1, 3071, 3072, 3073, 4095, 4096, 4097, 16382, 16383, 16384, 32767, 100000, 5,
        };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(lengths); i++)
                assert_reads(f, lengths[i]);
}

static void a_missing_file_is_tried_again_after_a_minute(void **state) {
        Fixture *f = *state;
        uint64_t now_ns = 1000;
        int error = 0;

        assert_int_equal(kernel_file_read(&f->file, f->root_fd, now_ns, &f->text, &error), KERNEL_FILE_FAILED);
        assert_int_equal(error, ENOENT);

        tree_write(f->root, "proc/file", "here\n");
        now_ns += KERNEL_FILE_RETRY_NS - 1;
        assert_int_equal(kernel_file_read(&f->file, f->root_fd, now_ns, &f->text, &error), KERNEL_FILE_WAITING);
        now_ns += 1;
        assert_int_equal(kernel_file_read(&f->file, f->root_fd, now_ns, &f->text, &error), 0);
        assert_string_equal(f->text.bytes, "here\n");
}

static void a_file_that_was_opened_stays_open(void **state) {
        Fixture *f = *state;
        char path[128];
        int error;

        tree_write(f->root, "proc/file", "here\n");
        assert_int_equal(kernel_file_read(&f->file, f->root_fd, 1, &f->text, &error), 0);
        (void)snprintf(path, sizeof(path), "%s/proc/file", f->root);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(kernel_file_read(&f->file, f->root_fd, 2, &f->text, &error), 0);
        assert_string_equal(f->text.bytes, "here\n");
}

static void the_second_path_serves_when_the_first_cannot_be_opened(void **state) {
        Fixture *f = *state;
        int error;

        kernel_file_init(&f->file, "proc/no-such-file", "proc/loadavg", false);
        assert_int_equal(kernel_file_read(&f->file, f->root_fd, 1, &f->text, &error), 0);
        assert_string_equal(f->text.bytes, "0.12 1.05 10.50 3/417 8123\n");
}

static void a_file_that_cannot_be_read_is_opened_anew_the_next_time(void **state) {
        Fixture *f = *state;
        int error = 0;

        kernel_file_init(&f->file, "proc/self", NULL, false); /* a directory: can be opened, but not read */
        assert_int_equal(kernel_file_read(&f->file, f->root_fd, 1, &f->text, &error), KERNEL_FILE_FAILED);
        assert_int_equal(error, EISDIR);
        assert_int_equal(f->file.fd, -1);
        assert_int_equal(kernel_file_read(&f->file, f->root_fd, 2, &f->text, &error), KERNEL_FILE_FAILED);
}

static void a_file_without_end_is_refused(void **state) {
        scoped(closep) int dev_fd = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
        Fixture *f = *state;
        int error = 0;

        kernel_file_init(&f->file, "zero", NULL, false);
        assert_int_equal(kernel_file_read(&f->file, dev_fd, 1, &f->text, &error), KERNEL_FILE_FAILED);
        assert_int_equal(error, EFBIG);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                test(a_file_of_any_length_is_read_whole),
                test(a_missing_file_is_tried_again_after_a_minute),
                test(a_file_that_was_opened_stays_open),
                test(the_second_path_serves_when_the_first_cannot_be_opened),
                test(a_file_that_cannot_be_read_is_opened_anew_the_next_time),
                test(a_file_without_end_is_refused),
        };

        return cmocka_run_group_tests_name("kernel_file", tests, NULL, NULL);
}
