/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/daemon_options.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon_options.h"
#include "util/scoped.h"

typedef struct Output {
        char out[4096], error[1024];
} Output;

static void read_back(int fd, char *ret, size_t n_max) {
        ssize_t n = pread(fd, ret, n_max - 1, 0);

        assert_true(n >= 0);
        ret[n] = '\0';
}

/*
 * Parses a command line that ends with NULL; returns the options and the text written to standard output and error.
 */
static int parse(const char *const *words, Options *ret, Output *ret_output) {
        int out = fileno(tmpfile()), error = fileno(tmpfile()), saved_out, saved_error, argc = 0, r;

        while (words[argc])
                argc++;
        fflush(stdout);
        saved_out = dup(STDOUT_FILENO);
        saved_error = dup(STDERR_FILENO);
        assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(error, STDERR_FILENO) >= 0);

        optind = 0; /* resets getopt */
        r = daemon_options_parse(ret, argc, (char **)words);

        fflush(stdout);
        assert_true(dup2(saved_out, STDOUT_FILENO) >= 0 && dup2(saved_error, STDERR_FILENO) >= 0);
        close(saved_out);
        close(saved_error);
        read_back(out, ret_output->out, sizeof(ret_output->out));
        read_back(error, ret_output->error, sizeof(ret_output->error));
        return r;
}

#define PARSE(options, output, ...) parse((const char *const[]){ "perfd", __VA_ARGS__, NULL }, options, output)

static void each_option_is_accepted(void **state) {
        Options options;
        Output output;

        (void)state;
        assert_int_equal(PARSE(&options, &output, "--config", "a.conf", "--socket", "/run/x.sock", "--http", "off",
                               "--state", "/var/x", "--volatile", "--root", "/host", "--check-config"),
                         0);
        assert_string_equal(options.config_path, "a.conf");
        assert_string_equal(options.socket_path, "/run/x.sock");
        assert_string_equal(options.http, "off");
        assert_string_equal(options.state_path, "/var/x");
        assert_string_equal(options.root, "/host");
        assert_true(options.is_volatile && options.check_config);
        assert_string_equal(output.error, "");
}

static void without_options_the_configuration_decides(void **state) {
        Options options;
        Output output;

        (void)state;
        assert_int_equal(parse((const char *const[]){ "perfd", NULL }, &options, &output), 0);
        assert_null(options.config_path);
        assert_null(options.socket);
        assert_null(options.http);
        assert_null(options.state);
        assert_string_equal(options.root, "/");
        assert_false(options.is_volatile || options.check_config);
}

static void relative_paths_are_made_absolute(void **state) {
        char expected[600], cwd[500];
        Options options;
        Output output;

        (void)state;
        assert_non_null(getcwd(cwd, sizeof(cwd)));
        assert_int_equal(PARSE(&options, &output, "--socket", "x.sock", "--state", "state"), 0);
        (void)snprintf(expected, sizeof(expected), "%s/x.sock", cwd);
        assert_string_equal(options.socket_path, expected);
        (void)snprintf(expected, sizeof(expected), "%s/state", cwd);
        assert_string_equal(options.state_path, expected);
}

static void help_and_version_are_answered(void **state) {
        Options options;
        Output output;

        (void)state;
        assert_int_equal(PARSE(&options, &output, "--help"), OPTIONS_DONE);
        assert_non_null(strstr(output.out, "Usage: perfd [OPTION]...\n"));
        assert_int_equal(PARSE(&options, &output, "-h"), OPTIONS_DONE);
        assert_int_equal(PARSE(&options, &output, "--version"), OPTIONS_DONE);
        assert_string_equal(output.out, "perfd " PERFD_VERSION "\n");
}

static void a_wrong_command_line_is_refused_with_advice(void **state) {
        char path[400];
        Options options;
        Output output;

        (void)state;
        assert_int_equal(PARSE(&options, &output, "--colour"), OPTIONS_USAGE);
        assert_non_null(strstr(output.error, "--colour"));
        assert_non_null(strstr(output.error, "Try 'perfd --help'."));
        assert_int_equal(PARSE(&options, &output, "--socket"), OPTIONS_USAGE);
        assert_int_equal(PARSE(&options, &output, "start"), OPTIONS_USAGE);
        assert_non_null(strstr(output.error, "unexpected argument 'start'"));

        memset(path, 'x', sizeof(path) - 1);
        path[0] = '/';
        path[sizeof(path) - 1] = '\0';
        assert_int_equal(PARSE(&options, &output, "--state", path), OPTIONS_USAGE);
        assert_non_null(strstr(output.error, "--state"));
}

static void the_command_line_wins_over_the_configuration(void **state) {
        ConfigError error = {};
        Options options;
        Output output;
        Config config;

        (void)state;
        config_defaults(&config);
        assert_int_equal(PARSE(&options, &output, "--socket", "/run/x.sock", "--http", "[::1]:80", "--state", "/var/x",
                               "--volatile"),
                         0);
        assert_int_equal(daemon_options_apply(&options, &config, &error), 0);
        assert_string_equal(config.sockets.path, "/run/x.sock");
        assert_string_equal(config.sockets.http_listen, "[::1]:80");
        assert_string_equal(config.store.directory, "/var/x");
        assert_true(config.store.is_volatile);

        assert_int_equal(PARSE(&options, &output, "--http", "localhost"), 0);
        assert_int_equal(daemon_options_apply(&options, &config, &error), CONFIG_INVALID);
        assert_string_equal(error.file, "command line");
        assert_non_null(strstr(error.text, "expected ADDRESS:PORT"));
        assert_string_equal(config.sockets.http_listen, "[::1]:80");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_option_is_accepted),
                cmocka_unit_test(without_options_the_configuration_decides),
                cmocka_unit_test(relative_paths_are_made_absolute),
                cmocka_unit_test(help_and_version_are_answered),
                cmocka_unit_test(a_wrong_command_line_is_refused_with_advice),
                cmocka_unit_test(the_command_line_wins_over_the_configuration),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
