/* SPDX-License-Identifier: Apache-2.0 */
/* Sweep files: combinations, additions, exclusions, and errors. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "sweep_fixture.h"
#include "util/utf8.h"

#define COMMAND "command: [./b, '{a}', '{b}']\n"

static void assert_points(const char *text, const char *points) {
        scoped(planned_deinit) Planned planned = {};
        scoped(buffer_deinit) Buffer out = {};
        int r = planned_read(&planned, text);

        if (r != 0)
                fail_msg("%s", planned.error.text);
        for (size_t i = 0; i < planned.plan.n_points; i++) {
                sweep_plan_put_point(&planned.plan, &planned.plan.points[i], &out);
                buffer_putc(&out, '|');
        }
        assert_string_equal(out.text, points);
}

static void the_last_setting_changes_fastest(void **state) {
        (void)state;
        assert_points(COMMAND "settings: {b: [x, y], a: [1, 2, 3]}",
                      "b=x a=1|b=x a=2|b=x a=3|b=y a=1|b=y a=2|b=y a=3|");
        assert_points(COMMAND "settings: {a: 1, b: one}", "a=1 b=one|");
}

static void values_keep_their_texts(void **state) {
        (void)state;
        assert_points(COMMAND "settings: {a: [1, 1.0, 1e300, true, null, '', yes, \"01\"], b: 0}",
                      "a=1 b=0|a=1.0 b=0|a=1.0e+300 b=0|a=true b=0|a=null b=0|a= b=0|a=yes b=0|a=01 b=0|");
}

static void extra_replaces_and_adds_settings(void **state) {
        (void)state;
        assert_points(COMMAND "settings: {a: [1, 2], b: 0}\nextra: [{a: 8}, {b: [5, 6], c: z}]",
                      "a=1 b=0|a=2 b=0|a=8 b=0|a=1 b=5 c=z|a=1 b=6 c=z|a=2 b=5 c=z|a=2 b=6 c=z|");
        assert_points(COMMAND "extra: [{a: 1, b: 2}, {a: 3, b: [4, 5]}]", "a=1 b=2|a=3 b=4|a=3 b=5|");
}

static void exclude_removes_points_that_match_completely(void **state) {
        (void)state;
        assert_points(COMMAND "settings: {a: [1, 2, 3], b: [x, y]}\nexclude: [{a: [1, 2], b: x}, {a: '3'}]",
                      "a=1 b=y|a=2 b=y|");
        /* A point of `extra` that equals one of `settings` without both null values is a duplicate. */
        assert_points(COMMAND "settings: {a: [1, 2], b: 0}\nextra: [{a: 2}]\nexclude: [{a: 2}]", "a=1 b=0|");
}

static void assert_wrong(const char *text, const char *complaint) {
        scoped(planned_deinit) Planned planned = {};

        assert_int_equal(planned_read(&planned, text), SWEEP_WRONG);
        if (!strstr(planned.error.text, complaint))
                fail_msg("'%s' instead of '%s'", planned.error.text, complaint);
        assert_true(utf8_is_valid(planned.error.text, strlen(planned.error.text)));
}

static void errors_are_reported_with_the_key_and_a_fix(void **state) {
        (void)state;
        assert_wrong("[1]", "is a list: expected a mapping with 'command' and 'settings'");
        assert_wrong(COMMAND "setings: {a: 1, b: 2}", "setings: unknown key: did you mean 'settings'?");
        assert_wrong("settings: {a: 1}", "command: missing: give a list of words");
        assert_wrong("command: []\nsettings: {a: 1}", "command: is empty: give");
        assert_wrong("command: 7\nsettings: {a: 1}", "command: is an integer: give");
        assert_wrong("command: [./b, {a}]\nsettings: {a: 1}", "command[1]: is an object: expected a word; quote");
        assert_wrong("12345678901234567890123456789012345678901234567890123456789\xc3\xa4: 1", "12345678901234567890");
        assert_wrong(COMMAND, "settings: missing: add at least one");
        assert_wrong(COMMAND "settings: [a, b]", "settings: is a list: expected a mapping");
        assert_wrong(COMMAND "settings: {a: [], b: 1}", "settings.a: is an empty list: give it a value, or remove it");
        assert_wrong(COMMAND "settings: {a: [[1]], b: 1}", "settings.a: has a list in it: give a string, a number");
        assert_wrong(COMMAND "settings: {a: {x: 1}, b: 1}", "settings.a: has an object in it");
        assert_wrong(COMMAND "settings: {a: [1, 2, 1], b: 1}", "settings.a: the value '1' is given twice: remove one");
        assert_wrong(COMMAND "settings: {a: [1, '1'], b: 1}", "settings.a: the value '1' is given twice");
        assert_wrong(COMMAND "settings: {a/b: 1}", "settings.a/b: is not a valid name");
        assert_wrong(COMMAND "settings: {directory: 1}",
                     "settings.directory: {directory} stands for the directory of a point: give");
        assert_wrong(COMMAND "settings: {a: 1}", "command: {b} is not a setting: add it to settings");
        assert_wrong(COMMAND "extra: [{a: 1, b: 1}, {a: 2}]", "command: {b} is not a setting");
        assert_wrong(COMMAND "settings: {a: 1, b: 2}\nextra: []", "extra: is an empty list: remove it");
        assert_wrong(COMMAND "settings: {a: 1, b: 2}\nextra: {a: 3}", "extra: is an object: expected a list");
        assert_wrong(COMMAND "settings: {a: 1, b: 2}\nextra: [{}]",
                     "extra[0]: is an empty mapping: name the settings that differ");
        assert_wrong(COMMAND "settings: {a: [1, 2], b: 2}\nextra: [{a: 2}]",
                     "extra: the point a=2 b=2 is given twice: remove it");
        assert_wrong(COMMAND "settings: {a: 1, b: 2}\nexclude: [{c: 1}]", "exclude[0].c: no such setting");
        assert_wrong(COMMAND "settings: {a: 1, b: 2}\nexclude: [{}]",
                     "exclude[0]: is an empty mapping, which would exclude every point");
        assert_wrong(COMMAND "settings: {a: 1, b: 2}\nexclude: [{a: 1}]", "exclude: no point is left: remove an entry");
        assert_wrong(COMMAND "name: \"a\\nb\"\nsettings: {a: 1, b: 2}", "name: expected a string of 1 to 128 bytes");
}

static void too_many_points_are_refused_with_the_limit(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        char list[4096] = "[0";

        (void)state;
        for (int i = 1; i < 400; i++)
                (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%d", i);
        buffer_printf(&text, "%ssettings: {a: %s], b: %s]}", COMMAND, list, list);
        assert_wrong(text.text, "settings: define more than 100000 points, before exclusions: split the sweep");

        /* A product of any size is counted without overflow. */
        buffer_clear(&text);
        buffer_puts(&text, COMMAND "settings: {");
        for (char c = 'a'; c <= 'z'; c++)
                buffer_printf(&text, "%c: %s], ", c, list);
        buffer_puts(&text, "zz: 1}");
        assert_wrong(text.text, "more than 100000 points");
}

static void suspicious_settings_are_a_warning(void **state) {
        scoped(planned_deinit) Planned planned = {};

        (void)state;
        assert_int_equal(
                planned_read(&planned, COMMAND "settings: {a: 1, b: 2, c: 3, '@n': [1, 2]}\nexclude: [{a: 7}]"), 0);
        assert_string_equal(planned.plan.warnings.text,
                            "exclude[0]: matches no point\nsettings.c: the command does not use {c}\n");
}

#define SPECIFICATION                                                                                                  \
        "specification: {script: 'echo a', run: {requests: {cpu: 1}}, environment: [{name: A, value: b}]}\n"

static void settings_of_a_specification_are_its_fields(void **state) {
        scoped(planned_deinit) Planned planned = {};

        (void)state;
        assert_int_equal(planned_read(&planned, SPECIFICATION
                                      "settings: {run.requests.cpu: [1, 2], environment.A: c, '@i': [1, 2], base: "
                                      "d}"), 0);
        assert_non_null(planned.plan.specification);
        assert_int_equal(planned.plan.n_points, 4);
        assert_string_equal(planned.plan.warnings.text, "settings.base: no field of the specification: added\n");

        assert_wrong(SPECIFICATION "settings: {run.limits.cpu: 1}",
                     "settings.run.limits.cpu: the specification has no such field");
        assert_wrong(SPECIFICATION "settings: {environment.A.b: 1, base.a: 1}",
                     "settings.base.a: the specification has no such field");
        assert_wrong(SPECIFICATION "command: ls\nsettings: {base: 1}",
                     "command: the script of the specification is run");
        assert_wrong("specification: [1]\nsettings: {a: 1}", "specification: is a list: expected the path");
        assert_wrong("specification: {script: ''}\nsettings: {a: 1}",
                     "specification: script: expected the text of a script");
        assert_wrong(COMMAND "script: a.sh\nsettings: {a: 1, b: 2}", "script: requires a specification");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_last_setting_changes_fastest),
                cmocka_unit_test(values_keep_their_texts),
                cmocka_unit_test(extra_replaces_and_adds_settings),
                cmocka_unit_test(exclude_removes_points_that_match_completely),
                cmocka_unit_test(errors_are_reported_with_the_key_and_a_fix),
                cmocka_unit_test(too_many_points_are_refused_with_the_limit),
                cmocka_unit_test(suspicious_settings_are_a_warning),
                cmocka_unit_test(settings_of_a_specification_are_its_fields),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
