/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks: their documents, canonical form and digest. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "stack/stack.h"
#include "value/value_parse.h"

#define ARENA_BYTES (64U << 20)

static int set_up(void **state) {
        Arena *arena = calloc(1, sizeof(*arena));

        *state = arena;
        return arena_init(arena, ARENA_BYTES);
}

static int tear_down(void **state) {
        arena_deinit(*state);
        free(*state);
        return 0;
}

static int read_stack(Arena *arena, const char *text, Stack *ret, Complaint *complaint) {
        const Value *document;
        bool is_canonical;
        ValueError error;

        arena_reset(arena);
        assert_int_equal(value_parse(text, strlen(text), arena, &document, &is_canonical, &error), 0);
        return stack_from_value(document, arena, ret, complaint);
}

static void assert_form(Arena *arena, const char *text, const char *expected) {
        scoped(buffer_deinit) Buffer form = {};
        Complaint complaint;
        Stack stack;

        assert_int_equal(read_stack(arena, text, &stack, &complaint), 0);
        assert_int_equal(stack_put_canonical(&stack, &form), 0);
        assert_string_equal(form.text, expected);
}

static void assert_refused(Arena *arena, const char *text, const char *path, const char *words) {
        Complaint complaint;
        Stack stack;

        assert_int_equal(read_stack(arena, text, &stack, &complaint), STACK_INVALID);
        assert_string_equal(complaint.path, path);
        if (!strstr(complaint.text, words))
                fail_msg("\"%s\" does not have \"%s\"", complaint.text, words);
}

static void equal_stacks_have_one_form(void **state) {
        static const char form[] = "{\"base_image\":\"ubi8\",\"build\":{\"a\":{\"c\":1,\"d\":2},\"b\":1},\"os\":{"
                                   "\"name\":\"rhel\",\"version\":\"8.2\"},"
                                   "\"packages\":[{\"kind\":\"python\",\"name\":\"numpy\",\"version\":\"1.18\"},"
                                   "{\"kind\":\"python\",\"name\":\"typing-extensions\",\"version\":\"3.7\"}],"
                                   "\"python\":{\"version\":\"3.6\"}}";

        assert_form(*state, form, form);
        assert_form(*state,
                    "{\"python\":{\"version\":\"3.6\",\"name\":\"\"},"
                    "\"os\":{\"version\":\"8.2\",\"name\":\"rhel\"},\"package_manager\":null,"
                    "\"packages\":[{\"name\":\"Typing_.Extensions\",\"version\":\"3.7\"},"
                    "{\"version\":\"1.18\",\"name\":\"NumPy\",\"build\":\"\"},"
                    "{\"name\":\"numpy\",\"version\":\"1.18\"}],\"build\":{\"b\":1,\"a\":{\"d\":2,\"c\":1}},\"base_"
                    "image\":\"ubi8\"}",
                    form);
        assert_form(*state, "{}", "{\"packages\":[]}");
}

static void names_of_other_kinds_are_kept(void **state) {
        assert_form(*state, "{\"packages\":[{\"name\":\"libX11.so_6\",\"kind\":\"rpm\"}]}",
                    "{\"packages\":[{\"kind\":\"rpm\",\"name\":\"libX11.so_6\"}]}");
}

#define WITH_HASHES(list) "{\"packages\":[{\"name\":\"x\",\"hashes\":" list "}]}"

static void several_hashes_are_kept_as_one(void **state) {
        char first[8 + 64 + 1];
        Complaint complaint;
        Stack stack;

        assert_int_equal(read_stack(*state, WITH_HASHES("[\"sha256:2\",\"sha256:1\"]"), &stack, &complaint), 0);
        assert_int_equal(strncmp(stack.packages[0].hash, "sha256s:", 8), 0);
        assert_int_equal(strlen(stack.packages[0].hash), sizeof(first) - 1);
        strcpy(first, stack.packages[0].hash);
        assert_int_equal(read_stack(*state, WITH_HASHES("[\"sha256:1\",\"sha256:2\"]"), &stack, &complaint), 0);
        assert_string_equal(stack.packages[0].hash, first);
        assert_int_equal(read_stack(*state, WITH_HASHES("[\"sha256:1\"]"), &stack, &complaint), 0);
        assert_string_equal(stack.packages[0].hash, "sha256:1");
}

static void two_versions_in_one_environment_are_refused(void **state) {
        assert_refused(*state,
                       "{\"packages\":[{\"name\":\"numpy\",\"version\":\"1\"},{\"name\":\"Numpy\",\"version\":\"2\"}]}",
                       "packages", "'numpy' (python) twice, with versions 1 and 2");
        assert_form(*state, "{\"packages\":[{\"name\":\"kernel\",\"kind\":\"rpm\",\"version\":\"2\"},"
                            "{\"name\":\"kernel\",\"kind\":\"rpm\",\"version\":\"1\"}]}",
                    "{\"packages\":[{\"kind\":\"rpm\",\"name\":\"kernel\",\"version\":\"1\"},"
                    "{\"kind\":\"rpm\",\"name\":\"kernel\",\"version\":\"2\"}]}");
}

static void wrong_documents_are_refused_at_their_place(void **state) {
        assert_refused(*state, "{\"pakages\":[]}", "", "unknown member 'pakages'");
        assert_refused(*state, "{\"packages\":{}}", "packages", "is an object, must be a list");
        assert_refused(*state, "{\"packages\":[{\"version\":\"1\"}]}", "packages[0]", "has no name");
        assert_refused(*state, "{\"packages\":[{\"name\":\"a\"},{\"name\":1}]}", "packages[1].name",
                       "must be a string");
        assert_refused(*state, "{\"packages\":[{\"name\":\"a\",\"hash\":\"1\",\"hashes\":[\"2\"]}]}", "packages[0]",
                       "either");
        assert_refused(*state, "{\"packages\":[{\"name\":\"a\",\"hashes\":[1]}]}", "packages[0]", "'hashes'");
        assert_refused(*state, "{\"os\":\"rhel\"}", "os", "must be an object");
        assert_refused(*state, "{\"python\":{\"version\":3}}", "python.version", "must be a string");
        assert_refused(*state, "{\"build\":1}", "build", "must be an object");
        assert_refused(*state, "{\"base_image\":\"a\\nb\"}", "base_image", "control characters");
        assert_refused(*state, "{\"os\":{},\"os\":{}}", "os", "is given twice");
}

static char *write_many(size_t n) {
        scoped(buffer_deinit) Buffer text = {};

        buffer_puts(&text, "{\"packages\":[");
        for (size_t i = 0; i < n; i++)
                buffer_printf(&text, "%s{\"name\":\"p%zu\"}", i > 0 ? "," : "", i);
        buffer_puts(&text, "]}");
        return buffer_take(&text);
}

static void more_packages_than_the_limit_are_refused(void **state) {
        scoped(freep) char *most = write_many(STACK_PACKAGES_MAX), *more = write_many(STACK_PACKAGES_MAX + 1);
        Complaint complaint;
        Stack stack;

        assert_int_equal(read_stack(*state, most, &stack, &complaint), 0);
        assert_int_equal(stack.n_packages, STACK_PACKAGES_MAX);
        assert_refused(*state, more, "packages", "has 50001 packages, may have up to 50000");
}

static void the_facts_leave_the_packages_out(void **state) {
        scoped(buffer_deinit) Buffer facts = {}, form = {};
        uint8_t a[STACK_DIGEST_BYTES], b[STACK_DIGEST_BYTES];
        Complaint complaint;
        Stack stack;

        assert_int_equal(
                read_stack(*state, "{\"base_image\":\"b\",\"packages\":[{\"name\":\"a\"}]}", &stack, &complaint), 0);
        assert_int_equal(stack_put_facts(&stack, &facts), 0);
        assert_string_equal(facts.text, "{\"base_image\":\"b\"}");
        assert_int_equal(stack_put_canonical(&stack, &form), 0);
        stack_digest(&form, a);
        stack_digest(&facts, b);
        assert_memory_not_equal(a, b, sizeof(a));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(equal_stacks_have_one_form, set_up, tear_down),
                cmocka_unit_test_setup_teardown(names_of_other_kinds_are_kept, set_up, tear_down),
                cmocka_unit_test_setup_teardown(several_hashes_are_kept_as_one, set_up, tear_down),
                cmocka_unit_test_setup_teardown(two_versions_in_one_environment_are_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(wrong_documents_are_refused_at_their_place, set_up, tear_down),
                cmocka_unit_test_setup_teardown(more_packages_than_the_limit_are_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_facts_leave_the_packages_out, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
