/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/indicators/label_parameters.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "indicators/label_parameters.h"
#include "util/scoped.h"
#include "value/value_parse.h"

static Property properties[] = {
        { .name = "model_name", .types = PROPERTY_STR },
        { .name = "users", .types = PROPERTY_INT },
        { .name = "share", .types = PROPERTY_FLOAT },
        { .name = "warm", .types = PROPERTY_BOOL },
        { .name = "rate", .is_result = true },
};
static const IndicatorModel model = { .name = "M", .properties = properties, .n_properties = N_ELEMENTS(properties) };

/* expected NULL: the item is unchanged. */
static void assert_added(const char *document, const char *run, const char *expected) {
        scoped(label_parameters_deinit) LabelParameters added = {};
        scoped(arena_deinit) Arena arena = {}, arena_of_run = {};
        Submission item = {};
        ValueError error;
        const Value *tree;

        assert_int_equal(value_parse_only(document, strlen(document), &arena, &tree, &error), 0);
        if (run)
                assert_int_equal(value_parse_only(run, strlen(run), &arena_of_run, &item.run, &error), 0);
        item.indicator = (Indicator){ .document = tree, .parameters = value_get(tree, "@parameters"),
                                      .result = value_get(tree, "@result") };
        assert_int_equal(label_parameters_add(&model, &item, &added), 0);
        if (!expected) {
                assert_ptr_equal(item.indicator.document, tree);
                assert_null(item.document_text.text);
                return;
        }
        assert_int_equal(item.document_text.n, strlen(expected));
        assert_memory_equal(item.document_text.text, expected, strlen(expected));
        assert_ptr_equal(item.indicator.parameters, value_get(item.indicator.document, "@parameters"));
        assert_ptr_not_equal(item.indicator.document, tree);
}

static void a_declared_parameter_is_the_label_of_its_name(void **state) {
        (void)state;
        assert_added("{\"@parameters\":{\"x\":1},\"@result\":{\"rate\":1},\"@labels\":"
                     "{\"model_name\":\"llama3\",\"other\":\"o\"}}",
                     NULL,
                     "{\"@parameters\":{\"x\":1,\"model_name\":\"llama3\"},\"@result\":{\"rate\":1},\"@labels\":"
                     "{\"model_name\":\"llama3\",\"other\":\"o\"}}");
        /* those of the run come second; null is a missing value */
        assert_added("{\"@parameters\":{\"users\":null},\"@labels\":{\"model_name\":\"llama3\"}}",
                     "{\"labels\":{\"model_name\":\"granite\",\"users\":\"8\",\"share\":\"0.5\",\"warm\":\"true\"}}",
                     "{\"@parameters\":{\"model_name\":\"llama3\",\"users\":8,\"share\":0.5,\"warm\":true},\"@labels\":"
                     "{\"model_name\":\"llama3\"}}");
        /* a text that is not of the type is stored as it is, and counts as a deviation */
        assert_added("{\"@parameters\":{},\"@labels\":{\"users\":\"many\"}}", NULL,
                     "{\"@parameters\":{\"users\":\"many\"},\"@labels\":{\"users\":\"many\"}}");
        assert_added("{\"@parameters\":{},\"@labels\":{\"users\":\"-1\"}}", NULL,
                     "{\"@parameters\":{\"users\":-1},\"@labels\":{\"users\":\"-1\"}}");
}

static void other_results_are_unchanged(void **state) {
        (void)state;
        assert_added("{\"@parameters\":{},\"@result\":{}}", NULL, NULL);
        assert_added("{\"@parameters\":{\"model_name\":\"a\"},\"@labels\":{\"model_name\":\"b\"}}", NULL, NULL);
        assert_added("{\"@parameters\":{},\"@result\":{\"users\":1},\"@labels\":{\"users\":\"2\",\"rate\":\"3\"}}",
                     NULL, NULL);
        assert_added("{\"@parameters\":{},\"@labels\":{\"users\":[1]}}", "{\"labels\":{\"users\":{}}}", NULL);
        assert_added("{\"@labels\":{\"users\":\"1\"}}", NULL, NULL); /* a failed run that printed no parameters */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_declared_parameter_is_the_label_of_its_name),
                cmocka_unit_test(other_results_are_unchanged),
        };

        return cmocka_run_group_tests_name("label_parameters", tests, NULL, NULL);
}
