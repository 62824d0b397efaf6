/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_reader.h"
#include "util/clock.h"

/* tests: daemon/config_reader.c daemon/user_database.c */

#define WAIT_NS (60 * NS_PER_S)
#define UNKNOWN                                                                                  \
        "[socket]\nadmin_group = perfd-no-such-group\n[limits]\nweights = root=2 perfd-no-such-user=3\n" \
        "[metrics]\nreaders = @perfd-no-such-group\n"

typedef struct Fixture {
        char directory[32], conf[64];
        Options options;
        ConfigReader reader;
} Fixture;

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        strcpy(f->directory, "/tmp/perfd-reader-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        (void)snprintf(f->conf, sizeof(f->conf), "%s/perfd.conf", f->directory);
        f->options.config_path = f->conf;
        assert_int_equal(config_reader_init(&f->reader), 0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;

        config_reader_deinit(&f->reader);
        (void)unlink(f->conf);
        assert_int_equal(rmdir(f->directory), 0);
        free(f);
        return 0;
}

static void put(const Fixture *f, const char *text) {
        scoped(fclosep) FILE *file = fopen(f->conf, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
}

static ConfigReading *read_in_thread(Fixture *f, bool is_lenient) {
        assert_int_equal(config_reader_start(&f->reader, &f->options, is_lenient), 0);
        assert_true(config_reader_wait(&f->reader, WAIT_NS));
        return config_reader_take(&f->reader);
}

static void an_unknown_name_is_an_error_unless_it_may_be_found_later(void **state) {
        Fixture *f = *state;
        scoped(config_reader_freep) ConfigReading *strict = NULL, *lenient = NULL;

        put(f, UNKNOWN);
        strict = read_in_thread(f, false);
        assert_int_equal(strict->r, CONFIG_INVALID);
        assert_int_equal(strict->error.line, 2);
        assert_string_equal(strict->lookup.unknown, "");

        lenient = read_in_thread(f, true);
        assert_int_equal(lenient->r, 0);
        assert_string_equal(lenient->lookup.unknown,
                            "socket.admin_group: perfd-no-such-group, limits.weights: perfd-no-such-user, "
                            "metrics.readers: @perfd-no-such-group");
        assert_int_equal(lenient->config.ingest.admin_gid, INGEST_NO_ADMIN_GID);
        assert_int_equal(lenient->config.shares.weights.n, 1);
        assert_int_equal(lenient->config.http.readers.n, 0);
}

static void other_errors_are_errors_for_both(void **state) {
        Fixture *f = *state;
        scoped(config_reader_freep) ConfigReading *lenient = NULL;

        put(f, "[limits]\nweights = root=0\n");
        lenient = read_in_thread(f, true);
        assert_int_equal(lenient->r, CONFIG_INVALID);
        assert_string_equal(lenient->lookup.unknown, "");
}

static void the_files_of_this_machine_suffice_for_their_names(void **state) {
        Fixture *f = *state;
        UserLookup local = { .is_local = true, .is_lenient = true };
        ConfigError error;
        Config config;

        put(f, "[socket]\nadmin_group = root\n[limits]\nweights = root=2 @root=3\n");
        assert_int_equal(config_reader_read(&f->options, &local, &config, &error), 0);
        assert_string_equal(local.unknown, "");
        assert_int_equal(config.ingest.admin_gid, 0);
        put(f, UNKNOWN);
        assert_int_equal(config_reader_read(&f->options, &local, &config, &error), 0);
        assert_string_not_equal(local.unknown, "");
}

static void the_models_of_files_are_read_too(void **state) {
        Fixture *f = *state;
        scoped(config_reader_freep) ConfigReading *reading = NULL;
        char directory[64], text[128];
        scoped(fclosep) FILE *file = NULL;

        (void)snprintf(directory, sizeof(directory), "%s/models", f->directory);
        assert_int_equal(mkdir(directory, 0700), 0);
        (void)snprintf(text, sizeof(text), "[indicators]\ndirectory = %s\n", directory);
        put(f, text);
        (void)snprintf(text, sizeof(text), "%s/bad.yaml", directory);
        file = fopen(text, "we");
        assert_non_null(file);
        reading = read_in_thread(f, false);
        assert_int_equal(reading->r, 0);
        assert_int_equal(reading->models.files.n_bad, 1);
        assert_int_equal(reading->models.files.n_complaints, 1);
        assert_int_equal(unlink(text), 0);
        assert_int_equal(rmdir(directory), 0);
}

static void there_is_one_reading_at_a_time(void **state) {
        Fixture *f = *state;
        scoped(config_reader_freep) ConfigReading *reading = NULL;

        put(f, "");
        assert_false(config_reader_wait(&f->reader, 0));
        assert_int_equal(config_reader_start(&f->reader, &f->options, false), 0);
        assert_int_equal(config_reader_start(&f->reader, &f->options, false), CONFIG_READER_BUSY);
        assert_true(config_reader_wait(&f->reader, WAIT_NS));
        assert_int_equal(config_reader_start(&f->reader, &f->options, false), CONFIG_READER_BUSY);
        reading = config_reader_take(&f->reader);
        assert_int_equal(reading->r, 0);
        assert_int_equal(poll(&(struct pollfd){ .fd = f->reader.fd, .events = POLLIN }, 1, 0), 0);

        /* one that is not taken is freed */
        assert_int_equal(config_reader_start(&f->reader, &f->options, false), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_unknown_name_is_an_error_unless_it_may_be_found_later, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(other_errors_are_errors_for_both, setup, teardown),
                cmocka_unit_test_setup_teardown(the_files_of_this_machine_suffice_for_their_names, setup, teardown),
                cmocka_unit_test_setup_teardown(the_models_of_files_are_read_too, setup, teardown),
                cmocka_unit_test_setup_teardown(there_is_one_reading_at_a_time, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
