/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a point: settings are read back unchanged, and names of directories are safe. */


#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/sweep/sweep_layout.h"
#include "sweep_fixture.h"

static void settings_of_a_point_identify_as_the_point(void **state) {
        scoped(planned_deinit) Planned planned = {};

        (void)state;
        assert_int_equal(planned_read(&planned, "command: x\nsettings: {b: [1, 1.5, \"a\\nb\"], a: [true, null, 'null ']}", NULL, NULL), 0);
        for (size_t i = 0; i < planned.plan.n_points; i++) {
                scoped(buffer_deinit) Buffer file = {}, of_point = {}, of_file = {};
                scoped(arena_deinit) Arena arena = {};
                const Value *value;
                YamlError error;

                sweep_layout_put_settings(&file, &planned.plan, &planned.plan.points[i]);
                assert_int_equal(arena_init(&arena, yaml_arena_size(file.n)), 0);
                assert_int_equal(yaml_read(file.text, file.n, &arena, &value, &error), 0);
                assert_int_equal(sweep_text_identify_value(value, &of_file), 0);
                assert_int_equal(sweep_layout_identify(&planned.plan, &planned.plan.points[i], &of_point), 0);
                assert_string_equal(of_file.text, of_point.text);
        }
}

static void assert_directory(const char *text, size_t number, const char *name) {
        scoped(planned_deinit) Planned planned = {};
        scoped(buffer_deinit) Buffer out = {};

        assert_int_equal(planned_read(&planned, text, NULL, NULL), 0);
        sweep_layout_put_directory(&out, &planned.plan, &planned.plan.points[0], number);
        assert_string_equal(out.text, name);
}

static void directories_are_named_after_settings(void **state) {
        (void)state;
        assert_directory("command: x\nsettings: {threads: 4, dtype: float32}", 7, "007__threads=4__dtype=float32");
        assert_directory("command: x\nsettings: {a: 0.5}", 12345, "12345__a=0.5");
}

static void names_of_directories_are_harmless(void **state) {
        (void)state;
        assert_directory("command: x\nsettings: {a: '../../etc/passwd'}", 1, "001__a=.__.__etc_passwd");
        assert_directory("command: x\nsettings: {a: \"x y\\n'\\\"$*\\\\\"}", 1, "001__a=x_y______");
        assert_directory("command: x\nsettings: {a: \"\xc3\xa4-\xf0\x9f\x98\x80\"}", 1, "001__a=_-_");
}

static void names_of_directories_have_a_bounded_length(void **state) {
        scoped(planned_deinit) Planned planned = {};
        scoped(buffer_deinit) Buffer text = {}, out = {};

        (void)state;
        buffer_puts(&text, "command: x\nsettings: {");
        for (int i = 0; i < 200; i++)
                buffer_printf(&text, "key%d: some_value, ", i);
        buffer_puts(&text, "z: 1}");
        assert_int_equal(planned_read(&planned, text.text, NULL, NULL), 0);
        sweep_layout_put_directory(&out, &planned.plan, &planned.plan.points[0], 1);
        assert_in_range(out.n, SWEEP_DIRECTORY_MAX - 3, SWEEP_DIRECTORY_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(settings_of_a_point_identify_as_the_point),
                cmocka_unit_test(directories_are_named_after_settings),
                cmocka_unit_test(names_of_directories_are_harmless),
                cmocka_unit_test(names_of_directories_have_a_bounded_length),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
