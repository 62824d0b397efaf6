/* SPDX-License-Identifier: Apache-2.0 */
/* Amun specifications: members that are used, members that are ignored, and errors. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "client/run/spec.h"
#include "text/yaml.h"

typedef struct Read {
        Arena arena;
        Spec spec;
        SpecError error;
} Read;

static void read_deinit(Read *read) {
        spec_deinit(&read->spec);
        arena_deinit(&read->arena);
}

static int read_text(Read *ret, const char *text) {
        const Value *value;
        YamlError error;

        assert_int_equal(arena_init(&ret->arena, yaml_arena_size(strlen(text))), 0);
        assert_int_equal(yaml_read(text, strlen(text), &ret->arena, &value, &error), 0);
        return spec_read(value, NULL, &ret->spec, &ret->error);
}

static void a_whole_specification_is_read(void **state) {
        scoped(read_deinit) Read read = {};

        (void)state;
        assert_int_equal(
                read_text(
                        &read,
                        "{base: image, identifier: id, package_manager: pipenv, batch_size: '20', packages: [gcc],\n"
                        " python_packages: null, update: true, '@created': now, files: [{path: a/b, content: text}],\n"
                        " environment: [{name: OMP_NUM_THREADS, value: '2'}], script: \"#!/bin/sh\\necho\\n\",\n"
                        " build: {requests: {cpu: '1'}},\n"
                        " run: {requests: {cpu: 500m, memory: 4Gi, hardware: {cpu_family: 6}}}}"),
                0);
        assert_string_equal(read.spec.identifier, "id");
        assert_string_equal(read.spec.script, "#!/bin/sh\necho\n");
        assert_int_equal(read.spec.batch_size, 20);
        assert_int_equal(read.spec.n_files, 1);
        assert_string_equal(read.spec.variables[0].text, "2");
        assert_true(read.spec.limits.cpus == 0.5 && read.spec.limits.memory_bytes == UINT64_C(4) << 30);
        assert_string_equal(read.spec.ignored_keys.text,
                            "base, package_manager, packages, update, build, run.requests.hardware");
}

static void a_script_alone_is_enough(void **state) {
        scoped(read_deinit) Read read = {};

        (void)state;
        assert_int_equal(read_text(&read, "script: python3 -c 'print(1)'"), 0);
        assert_int_equal(read.spec.batch_size, 1);
        assert_true(read.spec.limits.cpus == 0 && read.spec.limits.memory_bytes == 0);
        assert_int_equal(read.spec.ignored_keys.n, 0);
}

static void assert_wrong(const char *text, const char *complaint) {
        scoped(read_deinit) Read read = {};

        assert_int_equal(read_text(&read, text), SPEC_WRONG);
        if (!strstr(read.error.text, complaint))
                fail_msg("'%s' instead of '%s'", read.error.text, complaint);
}

static void errors_are_reported_with_the_key_and_a_fix(void **state) {
        (void)state;
        assert_wrong("[]", "is a list: expected an object with 'script'");
        assert_wrong("{}", "script: missing: add the text of a script");
        assert_wrong("script: ' '", "script: expected the text of a script, not an empty string");
        assert_wrong("script: [ls]", "not a list");
        assert_wrong("script: https://example.org/x.py",
                     "is an address, and perfctl downloads nothing: put the script's text");
        assert_wrong("script: ./x.sh", "script: ./x.sh is the path of a file: put the script's text");
        assert_wrong("script: a b\nbatch_size: 0", "batch_size: expected a whole number from 1 to 10000");
        assert_wrong("script: a b\nbatch_size: many", "batch_size: expected");
        assert_wrong("script: a b\nenvironment: {A: b}", "environment: is an object: expected a list of {name, value}");
        assert_wrong("script: a b\nenvironment: [{name: A, value: 2}]",
                     "environment[0]: expected {name, value}, both strings");
        assert_wrong("script: a b\nenvironment: [{name: 'A=B', value: x}]",
                     "environment[0].name: 'A=B' is not a valid variable name");
        assert_wrong("script: a b\nenvironment: [{name: A, value: x}, {name: A, value: y}]",
                     "environment[1].name: 'A' is given twice");
        assert_wrong("script: a b\nfiles: [{path: x, content: a}, {path: ../x, content: b}]",
                     "files[1].path: '../x' is outside");
        assert_wrong("script: a b\nrun: {requests: {cpu: fast}}",
                     "run.requests.cpu: expected CPUs such as 500m or 2, from 10m on, not 'fast'");
        assert_wrong("script: a b\nrun: {requests: {cpu: 9m}}", "run.requests.cpu: expected");
        assert_wrong("script: a b\nrun: {requests: {cpu: 2M}}", "run.requests.cpu: expected");
        assert_wrong("script: a b\nrun: {requests: {memory: 4GB}}", "run.requests.memory: expected");
        assert_wrong("script: a b\nrun: {requests: {memory: 1048575}}",
                     "run.requests.memory: expected bytes such as 256Mi or 4G");
        assert_wrong("script: a b\nrun: {requests: {memory: 500m}}", "from 1Mi to 7Ei, not '500m'");
        assert_wrong("script: a b\nrun: {requests: {memory: 8Ei}}", "not '8Ei'");
        assert_wrong("script: a b\nrun: {requests: {memory: -0.5}}", "not -0.5");
        assert_wrong("script: a b\nrun: {requests: {memory: [1Gi]}}", "not a list");
}

static void paths_stay_below(void **state) {
        static const char *const below[] = { "a", "a/b.txt", "..a/b..", "a/.../b", ".a" };
        static const char *const outside[] = { "",     "/",  "/etc/passwd", "..", "../a", "a/../../b",
                                               "a/..", "a/", "a//b",        ".",  "./a" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(below); i++)
                assert_true(spec_path_is_below(below[i]));
        for (size_t i = 0; i < N_ELEMENTS(outside); i++)
                assert_false(spec_path_is_below(outside[i]));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_whole_specification_is_read),
                cmocka_unit_test(a_script_alone_is_enough),
                cmocka_unit_test(errors_are_reported_with_the_key_and_a_fix),
                cmocka_unit_test(paths_stay_below),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
