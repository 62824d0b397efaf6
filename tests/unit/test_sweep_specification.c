/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications with the settings of a point in the place of their fields. */
/* tests: client/sweep/sweep_specification.c */

#include "client/sweep/sweep_specification.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/scoped.h"
#include "value/value_parse.h"

static const Value *parse(Arena *arena, const char *text) {
        const Value *value;
        ValueReader reader;
        ValueError error;

        value_parse_begin(&reader, text, strlen(text));
        assert_int_equal(value_parse_next(&reader, arena, &value, &error), 0);
        return value;
}

/* uses: a character for each setting: n(one), c(hanged), a(dded). */
static void assert_written(const char *specification, const char *settings, const char *expected, const char *uses) {
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer out = {};
        SweepUse found[SWEEP_SETTINGS_MAX];
        const Value *changes;

        assert_int_equal(arena_init(&arena, 1 << 20), 0);
        changes = parse(&arena, settings);
        assert_int_equal(sweep_specification_write(parse(&arena, specification), changes, &out, found), 0);
        assert_string_equal(out.text, expected);
        assert_int_equal(strlen(uses), changes->n_members);
        for (size_t i = 0; uses[i]; i++)
                assert_int_equal(found[i], uses[i] == 'n'   ? SWEEP_USE_NONE
                                           : uses[i] == 'c' ? SWEEP_USE_CHANGED
                                                            : SWEEP_USE_ADDED);
}

static void a_setting_replaces_the_field_at_its_path(void **state) {
        (void)state;
        assert_written("{\"a\":{\"b\":1,\"c\":[1,2]},\"d\":null}", "{\"a.b\":\"x\"}",
                       "{\"a\":{\"b\":\"x\",\"c\":[1,2]},\"d\":null}", "c");
        assert_written("{\"a\":{\"b\":1},\"d\":null}", "{\"d\":true,\"a\":2.5}", "{\"a\":2.5,\"d\":true}", "cc");
        assert_written("{\"a\":{\"ruamel.yaml\":\"==1\"}}", "{\"a.ruamel.yaml\":\"==2\"}",
                       "{\"a\":{\"ruamel.yaml\":\"==2\"}}", "c");
        assert_written("{\"ab\":1,\"a\":{\"b\":1}}", "{\"a.b\":2}", "{\"ab\":1,\"a\":{\"b\":2}}", "c");
}

static void a_field_is_added_to_an_object_that_is_there(void **state) {
        (void)state;
        assert_written("{\"a\":{\"b\":1}}", "{\"a.c\":2,\"d\":3}", "{\"a\":{\"b\":1,\"c\":2},\"d\":3}", "aa");
        assert_written("{\"a\":{\"b\":1}}", "{\"a.c.d\":2,\"a.b.c\":3,\"e.f\":4}", "{\"a\":{\"b\":1}}", "nnn");
        assert_written("{}", "{\"@repeat\":1}", "{}", "c");
}

static void a_name_is_the_key_of_a_list_of_entries(void **state) {
        static const char specification[] = "{\"environment\":[{\"name\":\"A\",\"value\":\"1\",\"more\":2},"
                                            "{\"name\":\"B\",\"value\":\"x\"},7],"
                                            "\"files\":[{\"path\":\"in.txt\",\"content\":\"a\"}]}";

        (void)state;
        assert_written(
                specification, "{\"environment.A\":4,\"files.in.txt\":\"b\"}",
                "{\"environment\":[{\"name\":\"A\",\"more\":2,\"value\":\"4\"},{\"name\":\"B\",\"value\":\"x\"},7],"
                "\"files\":[{\"path\":\"in.txt\",\"content\":\"b\"}]}",
                "cc");
        assert_written("{\"environment\":[]}", "{\"environment.C\":0.5}",
                       "{\"environment\":[{\"name\":\"C\",\"value\":\"0.5\"}]}", "c");
        assert_written("{\"base\":1}", "{\"environment.C\":true}",
                       "{\"base\":1,\"environment\":[{\"name\":\"C\",\"value\":\"true\"}]}", "c");
        assert_written("{\"files\":[],\"list\":[{\"name\":\"a\"}]}", "{\"files.b\":1,\"list.b\":2}",
                       "{\"files\":[],\"list\":[{\"name\":\"a\"}]}", "nn");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_setting_replaces_the_field_at_its_path),
                cmocka_unit_test(a_field_is_added_to_an_object_that_is_there),
                cmocka_unit_test(a_name_is_the_key_of_a_list_of_entries),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
