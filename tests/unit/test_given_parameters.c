/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/facts/object_builder.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/facts/object_builder.h"
#include "util/buffer.h"
#include "util/scoped.h"
#include "value/value_parse.h"

static int add(const char *given, const char *document, char *ret_text, size_t n, Complaint *complaint) {
        scoped(arena_deinit) Arena tree = {}, arena = {};
        scoped(buffer_deinit) Buffer out = {};
        const Value *value, *completed;
        ValueError error;
        int r;

        assert_int_equal(setenv(GIVEN_PARAMETERS_VARIABLE, given, 1), 0);
        assert_int_equal(value_parse_only(document, strlen(document), &tree, &value, &error), 0);
        assert_int_equal(arena_init(&arena, value_parse_arena_size(strlen(given))), 0);
        r = object_builder_add_given(value, &arena, &completed, complaint);
        if (r == 0) {
                value_write_json(completed, &(Json){ .out = &out });
                assert_true(out.n < n);
                strcpy(ret_text, out.text);
        }
        return r;
}

static void assert_added(const char *given, const char *document, const char *expected) {
        Complaint complaint;
        char text[400];

        assert_int_equal(add(given, document, text, sizeof(text), &complaint), 0);
        assert_string_equal(text, expected);
}

static void a_document_gets_the_parameters_that_it_lacks(void **state) {
        (void)state;
        assert_added("", "{\"@parameters\":{\"a\":1}}", "{\"@parameters\":{\"a\":1}}");
        assert_added("{\"a\":2,\"b\":\"x\"}", "{\"@parameters\":{\"a\":1},\"@result\":{\"r\":1}}",
                     "{\"@parameters\":{\"a\":1,\"b\":\"x\"},\"@result\":{\"r\":1}}");
        assert_added("{\"a\":2}", "{\"name\":\"n\"}", "{\"name\":\"n\",\"@parameters\":{\"a\":2}}");
        /* what the document names in another place is no parameter */
        assert_added("{\"r\":2,\"version\":\"2.0\"}", "{\"version\":\"1.0\",\"@parameters\":{},\"@result\":{\"r\":1}}",
                     "{\"version\":\"1.0\",\"@parameters\":{},\"@result\":{\"r\":1}}");
        /* documents that are refused later */
        assert_added("{\"a\":2}", "[1]", "[1]");
        assert_added("{\"a\":2}", "{\"@parameters\":3}", "{\"@parameters\":3}");
}

static void a_variable_that_is_no_object_is_refused(void **state) {
        static const char *const wrong[] = { "threads=4", "[1]", "{\"a\":" };
        Complaint complaint;
        char text[400];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
                assert_int_equal(add(wrong[i], "{}", text, sizeof(text), &complaint), INDICATOR_INVALID);
                assert_string_equal(complaint.path, "$PERFD_PARAMETERS");
                assert_non_null(strstr(complaint.text, "must be a JSON object"));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_document_gets_the_parameters_that_it_lacks),
                cmocka_unit_test(a_variable_that_is_no_object_is_refused),
        };

        return cmocka_run_group_tests_name("given_parameters", tests, NULL, NULL);
}
