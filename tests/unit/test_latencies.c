/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "client/import/latencies.h"
#include "util/buffer.h"
#include "value/value_parse.h"

typedef struct Made {
        Arena arena;
        int r;
        unsigned line;
        Complaint complaint;
        char json[2048]; /* JSON text of the indicator */
} Made;

static void made_deinit(Made *made) {
        arena_deinit(&made->arena);
}

static void make(Made *made, const char *text, uint64_t batch_length) {
        scoped(buffer_deinit) Buffer out = {};
        const Value *document = NULL, *indicator = NULL;
        Indicator checked;
        ValueReader reader;
        ValueError error;
        Json json = { .out = &out };

        *made = (Made){};
        assert_int_equal(
                arena_init(&made->arena, value_parse_arena_size(strlen(text)) + latencies_arena_size(strlen(text))), 0);
        if (latencies_are_lines(text, strlen(text)))
                made->r = latencies_from_lines(text, strlen(text), batch_length, &made->arena, &indicator,
                                               &made->complaint, &made->line);
        else {
                value_parse_begin(&reader, text, strlen(text));
                assert_int_equal(value_parse_next(&reader, &made->arena, &document, &error), 0);
                made->r = latencies_from_value(document, batch_length, &made->arena, &indicator, &made->complaint);
        }
        if (made->r != 0)
                return;

        assert_int_equal(indicator_from_value(indicator, DOCUMENT_LIMITS_DEFAULT, &checked, &made->complaint), 0);
        value_write_json(indicator, &json);
        assert_true(out.n < sizeof(made->json));
        strcpy(made->json, out.text);
}

static void assert_has(const char *text, const char *words) {
        if (!strstr(text, words))
                fail_msg("%s does not have %s", text, words);
}

static void assert_made(const char *text, uint64_t batch_length, const char *words) {
        scoped(made_deinit) Made made;

        make(&made, text, batch_length);
        if (made.r != 0)
                fail_msg("%s: %s", made.complaint.path, made.complaint.text);
        assert_has(made.json, words);
}

static void assert_refused(const char *text, uint64_t batch_length, const char *path, const char *words) {
        scoped(made_deinit) Made made;

        make(&made, text, batch_length);
        assert_int_equal(made.r, INDICATOR_INVALID);
        assert_string_equal(made.complaint.path, path);
        assert_has(made.complaint.text, words);
}

static void a_document_becomes_an_indicator(void **state) {
        static const char text[] = "{\"time_per_batch\": [0.25, 0.5], \"batch_length\": 4}";

        (void)state;
        assert_made(text, 0,
                    "{\"name\":\"inference_latency\",\"component\":\"inference\",\"@parameters\":{\"batch_length\":4},"
                    "\"@result\":{\"prediction_batches\":2,\"prediction_queries\":8,\"prediction_latency_avg\":93750.0,"
                    "\"batch_latency_p50_usecs\":375000.0,");
        assert_made(text, 0, "\"prediction_latency_p50_usecs\":93750.0,");
        assert_made(text, 0, "\"units\":{\"prediction_latency_avg\":\"us\"}}");
}

static void other_members_become_parameters(void **state) {
        static const char text[] = "{\"model\": \"m1\", \"time_per_batch\": [1], \"framework\": \"lightgbm\", "
                                   "\"version\": \"3.3\","
                                   " \"threads\": 8, \"device\": null}";

        (void)state;
        assert_made(text, 0, "\"@parameters\":{\"batch_length\":1,\"model\":\"m1\",\"threads\":8,\"device\":null}");
        assert_made(text, 0,
                    "{\"name\":\"inference_latency\",\"framework\":\"lightgbm\",\"version\":\"3.3\",\"@parameters\":");
}

static void different_lengths_are_reported_as_minimum_and_maximum(void **state) {
        static const char text[] = "{\"time_per_batch\": [1, 1, 1], \"batch_length\": [8, 2, 8]}";

        (void)state;
        assert_made(text, 0, "\"@parameters\":{\"batch_length_min\":2,\"batch_length_max\":8}");
        assert_made(text, 0, "\"prediction_queries\":18,");
        assert_made("{\"time_per_batch\": [1, 1], \"batch_length\": [8, 8.0]}", 0,
                    "\"@parameters\":{\"batch_length\":8}");
}

static void numbers_on_lines_become_an_indicator(void **state) {
        (void)state;
        assert_made("0.25\n  0.5 \r\n\n\n", 0,
                    "\"@parameters\":{\"batch_length\":1},\"@result\":{\"prediction_batches\":2,");
        assert_made(
                "1e-3", 16,
                "\"@parameters\":{\"batch_length\":16},\"@result\":{\"prediction_batches\":1,\"prediction_queries\":16,"
                "\"prediction_latency_avg\":62.5}");
        assert_made("0\n0\n", 0, "\"batch_latency_p99_usecs\":0.0,");
}

static void the_option_replaces_the_member(void **state) {
        (void)state;
        assert_made("{\"time_per_batch\": [1]}", 4, "\"batch_length\":4");
        assert_refused("{\"time_per_batch\": [1], \"batch_length\": 4}", 4, "batch_length", "--batch-length");
}

static void an_invalid_time_is_refused_with_its_position(void **state) {
        (void)state;
        assert_refused("{\"time_per_batch\": [0.1, -0.1]}", 0, "time_per_batch[1]", "is negative: ");
        assert_refused("{\"time_per_batch\": [0.1, \"0.2\"]}", 0, "time_per_batch[1]",
                       "is a string, must be a number of seconds");
        assert_refused("{\"time_per_batch\": [null]}", 0, "time_per_batch[0]", "is null");
        assert_refused("{\"time_per_batch\": [[0.1]]}", 0, "time_per_batch[0]", "is a list");
        assert_refused("{\"time_per_batch\": [3e9]}", 0, "time_per_batch[0]", "more than 30 years");
        assert_refused("{\"time_per_batch\": []}", 0, "time_per_batch", "is empty: ");
        assert_refused("{\"time_per_batch\": 0.1}", 0, "time_per_batch", "is a number, must be a list");
        assert_refused("{\"times\": [0.1]}", 0, "time_per_batch", "missing, must be a list of seconds: expected {");
}

static void an_invalid_length_is_refused_with_its_position(void **state) {
        (void)state;
        assert_refused("{\"time_per_batch\": [1], \"batch_length\": 0}", 0, "batch_length", "a whole number from 1");
        assert_refused("{\"time_per_batch\": [1], \"batch_length\": 1.5}", 0, "batch_length", "a whole number from 1");
        assert_refused("{\"time_per_batch\": [1], \"batch_length\": \"8\"}", 0, "batch_length",
                       "a whole number from 1");
        assert_refused("{\"time_per_batch\": [1], \"batch_length\": 1e300}", 0, "batch_length",
                       "a whole number from 1");
        assert_refused("{\"time_per_batch\": [1], \"batch_length\": null}", 0, "batch_length", "a whole number from 1");
        assert_refused("{\"time_per_batch\": [1, 1], \"batch_length\": [1, -1]}", 0, "batch_length[1]",
                       "a whole number from 1");
        assert_refused("{\"time_per_batch\": [1, 1], \"batch_length\": [1]}", 0, "batch_length",
                       "has 1 items and time_per_batch 2: ");
        assert_refused("{\"time_per_batch\": [1], \"batch_length\": []}", 0, "batch_length", "has 0 items");
}

static void members_of_the_indicator_are_refused_as_parameters(void **state) {
        (void)state;
        assert_refused("{\"time_per_batch\": [1], \"@result\": {}}", 0, "@result", "remove it");
        assert_refused("{\"time_per_batch\": [1], \"name\": \"mine\"}", 0, "name", "remove it");
}

static void assert_line_refused(const char *text, unsigned line, const char *words) {
        scoped(made_deinit) Made made;

        make(&made, text, 0);
        assert_int_equal(made.r, INDICATOR_INVALID);
        assert_int_equal(made.line, line);
        assert_has(made.complaint.text, words);
}

static void a_bad_line_is_refused_with_its_number(void **state) {
        (void)state;
        assert_line_refused("0.1\n\nabc\n", 3,
                            "'abc' is not a finite number: expected one number of seconds on each line");
        assert_line_refused("0.1\nnan\n", 2, "'nan' is not a finite number");
        assert_line_refused("inf", 1, "'inf' is not a finite number");
        assert_line_refused("1e999", 1, "'1e999' is not a finite number");
        assert_line_refused("0.1 0.2\n", 1, "'0.1 0.2' is not a finite number");
        assert_line_refused("0x10", 1, "'0x10' is not a finite number");
        assert_line_refused("[0.1, 0.2]", 1, "{\"time_per_batch\": [");
        assert_line_refused("0.1\n-1\n", 2, "is negative");
        assert_line_refused("0.1\n0.1111111111111111111111111111111111111111111111111111111111111111111111111111111\n",
                            2, "is not a finite number");
        assert_line_refused("\n \n", 1, "contains no time");
        assert_line_refused("", 1, "contains no time");
}

static void dense_texts_have_room(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *document, *indicator;
        Complaint complaint;
        ValueReader reader;
        ValueError error;
        size_t n = 0;
        int r;

        (void)state;
        for (size_t i = 0; i < 20000; i++)
                buffer_puts(&text, "{\"time_per_batch\":[0,0]}");
        assert_int_equal(arena_init(&arena, value_parse_arena_size(text.n) + latencies_arena_size(text.n)), 0);
        value_parse_begin(&reader, text.text, text.n);
        while ((r = value_parse_next(&reader, &arena, &document, &error)) == 0) {
                assert_int_equal(latencies_from_value(document, 0, &arena, &indicator, &complaint), 0);
                n++;
        }
        assert_int_equal(r, VALUE_END);
        assert_int_equal(n, 20000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_document_becomes_an_indicator),
                cmocka_unit_test(other_members_become_parameters),
                cmocka_unit_test(different_lengths_are_reported_as_minimum_and_maximum),
                cmocka_unit_test(numbers_on_lines_become_an_indicator),
                cmocka_unit_test(the_option_replaces_the_member),
                cmocka_unit_test(an_invalid_time_is_refused_with_its_position),
                cmocka_unit_test(an_invalid_length_is_refused_with_its_position),
                cmocka_unit_test(members_of_the_indicator_are_refused_as_parameters),
                cmocka_unit_test(a_bad_line_is_refused_with_its_number),
                cmocka_unit_test(dense_texts_have_room),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
