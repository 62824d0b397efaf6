/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/run/capture.h"

typedef struct Found {
        Capture capture;
        Arena arena;
        const Value *documents[CAPTURE_DOCUMENTS_MAX];
        size_t n;
        CaptureLoss loss;
} Found;

static int set_up(void **state) {
        *state = calloc(1, sizeof(Found));
        return 0;
}

static int tear_down(void **state) {
        Found *f = *state;

        capture_deinit(&f->capture);
        arena_deinit(&f->arena);
        free(f);
        return 0;
}

static void find(Found *f, const char *output) {
        capture_deinit(&f->capture);
        arena_deinit(&f->arena);
        f->capture = (Capture){};
        capture_add(&f->capture, output, strlen(output));
        assert_int_equal(arena_init(&f->arena, value_parse_arena_size(f->capture.text.n)), 0);
        assert_int_equal(capture_find(&f->capture, &f->arena, f->documents, &f->n, &f->loss), 0);
}

static void output_of_one_document_is_found(void **state) {
        Found *f = *state;

        find(f, "{\"@parameters\":{},\n \"@result\":{\"rate\":1.5}}\n");
        assert_int_equal(f->n, 1);
        assert_non_null(value_get(f->documents[0], "@parameters"));
}

static void documents_are_found_among_other_lines(void **state) {
        Found *f = *state;

        find(f, "epoch 1\n"
                "{'loss': 0.5, 'epoch': 1}\n"
                "{\"level\":\"info\"}\n"
                "{\"@result\":{\"a\":1}}\n"
                "some { braces } in a line\n"
                "{\n  \"@result\": {\"a\": 2}\n}\n"
                "done\n");
        assert_int_equal(f->n, 2);
}

static void text_after_a_document_on_the_same_line_is_ignored(void **state) {
        Found *f = *state;

        find(f, "{\"@result\":{\"a\":1}} in 3 s\n{\"@result\":{\"a\":2}}");
        assert_int_equal(f->n, 2);
}

static void documents_may_share_a_line_and_follow_blanks(void **state) {
        Found *f = *state;

        find(f, "{\"@result\":{\"a\":1}} {\"@result\":{\"a\":2}}{\"@result\":{\"a\":3}}\n \t{\"@result\":\n  "
                "{\"a\":4}}\r\n");
        assert_int_equal(f->n, 4);
        find(f, "[\n  {\"@result\":{\"a\":1}},\n  {\"@result\":{\"a\":2}}\n]\n");
        assert_int_equal(f->n, 2);
        find(f, "  {\"@result\": {\"rate\": .5}}\n");
        assert_int_equal(f->n, 0);
        assert_int_equal(f->loss.error.line, 1);
        assert_int_equal(f->loss.error.column, 24);
        assert_true(f->loss.names_result);
        find(f, "[INFO] begin\n[[{\"@result\":{\"a\":1}}], [], [{\"x\":1},\n{\"@result\":{\"a\":2}}]]\n[\"a\"]\n");
        assert_int_equal(f->n, 2);
        assert_int_equal(f->loss.error.line, 0);
}

static void every_encoding_of_text_is_read(void **state) {
        Found *f = *state;

        find(f, "\xef\xbb\xbf{\"@result\":{\"a\":1}}\r\n\xef\xbb\xbf{\"@result\":\r\n{\"a\":2}}\r 9 "
                "%\r{\"@result\":{\"a\":3}}\r");
        assert_int_equal(f->n, 3);
        find(f, "");
        capture_add(&f->capture, "\xff\xfe{\0}\0", 6);
        assert_int_equal(capture_find(&f->capture, &f->arena, f->documents, &f->n, &f->loss), 0);
        assert_int_equal(f->n, 0);
        assert_non_null(strstr(f->loss.error.text, "UTF-16"));
}

static void a_document_within_a_line_is_ignored(void **state) {
        Found *f = *state;

        find(f, "result: {\"@result\":{}}\n");
        assert_int_equal(f->n, 0);
        assert_int_equal(f->loss.error.line, 0);
}

static void a_malformed_document_is_reported_with_its_line(void **state) {
        Found *f = *state;

        find(f, "begin\n{\"@result\": {\"rate\": .5}}\n");
        assert_int_equal(f->n, 0);
        assert_int_equal(f->loss.error.line, 2);
        assert_true(f->loss.names_result);
        assert_non_null(strstr(f->loss.error.text, "a number begins with a digit"));
}

static void numbers_that_are_not_finite_are_null_and_counted(void **state) {
        Found *f = *state;

        find(f, "{\"x\": NaN}\n{\"@result\": {\"a\": nan, \"b\": -Infinity, \"c\": [1, inf, null]}}\n{\"@result\": "
                "{\"a\": -NaN}}\n");
        assert_int_equal(f->n, 2);
        assert_int_equal(f->loss.n_not_finite, 4);
        assert_int_equal(value_get(value_get(f->documents[0], "@result"), "b")->type, VALUE_NULL);
}

static void a_malformed_indicator_is_distinguished_from_other_text(void **state) {
        Found *f = *state;

        find(f, "{'loss': 0.5}\n{\"@parameters\": {},\n \"@result\": {\"rate\": 1e999}}\n{'loss': "
                "0.4}\n{\"@result\":{\"a\":1}}\n");
        assert_int_equal(f->n, 1);
        assert_true(f->loss.names_result);
        assert_int_equal(f->loss.error.line, 3);
        find(f, "{'loss': 0.5}\n\"@result\"\n{\"@result\":{\"a\":1}}\n");
        assert_int_equal(f->n, 1);
        assert_true(f->loss.names_result); /* the unread output may contain a result */
        find(f, "{'loss': 0.5}\n{\"@result\":{\"a\":1}}\n");
        assert_int_equal(f->loss.error.line, 1);
        assert_false(f->loss.names_result);
}

static void empty_output_contains_no_documents(void **state) {
        Found *f = *state;

        find(f, "");
        assert_int_equal(f->n, 0);
        assert_int_equal(f->loss.error.line, 0);
}

static void output_beyond_the_limit_is_forgotten(void **state) {
        Found *f = *state;
        char chunk[65536];

        memset(chunk, ' ', sizeof(chunk));
        for (size_t i = 0; i < CAPTURE_BYTES_MAX / sizeof(chunk); i++)
                capture_add(&f->capture, chunk, sizeof(chunk));
        assert_false(f->capture.is_too_long);
        assert_int_equal(f->capture.text.n, CAPTURE_BYTES_MAX);

        capture_add(&f->capture, "x", 1);
        assert_true(f->capture.is_too_long);
        assert_null(f->capture.text.text);
        assert_false(f->capture.names_result);

        capture_add(&f->capture, "{\"@param\": {}, \"\"@res", 21);
        capture_add(&f->capture, "ul", 2);
        assert_false(f->capture.names_result);
        capture_add(&f->capture, "t\": {}}", 7);
        assert_true(f->capture.names_result);
        capture_clear(&f->capture);
        assert_false(f->capture.names_result);
}

static void the_name_of_a_result_is_found_wherever_it_is_cut(void **state) {
        static const char text[] = "\"@result\": {\"rate\": 1.5}}";
        Found *f = *state;

        for (size_t at = 1; at < sizeof(text) - 1; at++) {
                capture_clear(&f->capture);
                f->capture.is_too_long = true;
                capture_add(&f->capture, text, at);
                capture_add(&f->capture, text + at, sizeof(text) - 1 - at);
                assert_true(f->capture.names_result);
        }
}

/* Each brace could be the start of a document as long as the rest of the text. */
static void text_similar_to_json_is_scanned_in_linear_time(void **state) {
        Found *f = *state;
        size_t n = CAPTURE_BYTES_MAX;

        for (size_t i = 0; i + 6 <= n; i += 6)
                capture_add(&f->capture, i % 12 == 0 ? "{\"a\":\n" : " {\"a\"\n", 6);

        assert_int_equal(arena_init(&f->arena, value_parse_arena_size(f->capture.text.n)), 0);
        assert_int_equal(capture_find(&f->capture, &f->arena, f->documents, &f->n, &f->loss), 0);
        assert_int_equal(f->n, 0);
}

static void the_number_of_documents_is_limited(void **state) {
        Found *f = *state;

        for (size_t i = 0; i < CAPTURE_DOCUMENTS_MAX + 10; i++)
                capture_add(&f->capture, "{\"@result\":{}}\n", 15);
        assert_int_equal(arena_init(&f->arena, value_parse_arena_size(f->capture.text.n)), 0);
        assert_int_equal(capture_find(&f->capture, &f->arena, f->documents, &f->n, &f->loss), 0);
        assert_int_equal(f->n, CAPTURE_DOCUMENTS_MAX);
        assert_true(f->loss.is_cut);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(output_of_one_document_is_found),
                TEST(documents_are_found_among_other_lines),
                TEST(text_after_a_document_on_the_same_line_is_ignored),
                TEST(documents_may_share_a_line_and_follow_blanks),
                TEST(every_encoding_of_text_is_read),
                TEST(numbers_that_are_not_finite_are_null_and_counted),
                TEST(a_document_within_a_line_is_ignored),
                TEST(a_malformed_document_is_reported_with_its_line),
                TEST(a_malformed_indicator_is_distinguished_from_other_text),
                TEST(empty_output_contains_no_documents),
                TEST(output_beyond_the_limit_is_forgotten),
                TEST(the_name_of_a_result_is_found_wherever_it_is_cut),
                TEST(text_similar_to_json_is_scanned_in_linear_time),
                TEST(the_number_of_documents_is_limited),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
