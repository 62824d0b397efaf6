/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/http/pagination.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "http/exchange.h"
#include "http/pagination.h"

typedef struct Fixture {
        Buffer body;
        Exchange exchange;
} Fixture;

static int setup(void **state) {
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        exchange_init(&fixture->exchange, &fixture->body);
        *state = fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        buffer_deinit(&fixture->body);
        free(fixture);
        return 0;
}

/* Requests a path with a new exchange. */
static int ask(Fixture *fixture, const char *path) {
        exchange_init(&fixture->exchange, &fixture->body);
        return exchange_set_path(&fixture->exchange.target, &fixture->exchange.response, path);
}

static void check_refused(Fixture *fixture, int r, unsigned status, const char *words) {
        assert_int_equal(r, EXCHANGE_ANSWERED);
        assert_int_equal(fixture->exchange.response.status, status);
        assert_non_null(strstr(fixture->body.text, words));
}

static void a_path_is_cut_into_decoded_segments(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/api/v1/jobs/a%2Fb%20c%25"), 0);
        assert_int_equal(fixture->exchange.target.n_segments, 4);
        assert_string_equal(fixture->exchange.target.segments[0], "api");
        assert_string_equal(fixture->exchange.target.segments[3], "a/b c%");

        assert_int_equal(ask(fixture, "/"), 0);
        assert_int_equal(fixture->exchange.target.n_segments, 1);
        assert_string_equal(fixture->exchange.target.segments[0], "");

        assert_int_equal(ask(fixture, "//metrics/"), 0);
        assert_int_equal(fixture->exchange.target.n_segments, 3);
}

static void the_absolute_form_of_a_proxy_is_understood(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "http://node7:9699/metrics"), 0);
        assert_int_equal(fixture->exchange.target.n_segments, 1);
        assert_string_equal(fixture->exchange.target.segments[0], "metrics");
        assert_int_equal(ask(fixture, "http://node7"), 0);
        assert_string_equal(fixture->exchange.target.segments[0], "");
}

static void broken_escapes_and_nul_are_refused(void **state) {
        static const char *const paths[] = { "/%", "/%4", "/%zz", "/a%00b", "/%%41", "/%4/1" };
        Fixture *fixture = *state;

        for (size_t i = 0; i < N_ELEMENTS(paths); i++)
                check_refused(fixture, ask(fixture, paths[i]), 400, "hexadecimal");
        check_refused(fixture, ask(fixture, "*"), 400, "begin with /");
        check_refused(fixture, ask(fixture, "metrics"), 400, "begin with /");
}

static void too_long_or_too_deep_values_are_refused(void **state) {
        Fixture *fixture = *state;
        char path[2 * REQUEST_BYTES_MAX];

        memset(path, 'a', sizeof(path));
        path[0] = '/';
        path[sizeof(path) - 1] = '\0';
        check_refused(fixture, ask(fixture, path), 414, "longer than");

        path[REQUEST_BYTES_MAX] = '\0';
        assert_int_equal(ask(fixture, path), 0);
        check_refused(fixture,
                      exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, "limit", "1"), 414,
                      "longer than");

        check_refused(fixture, ask(fixture, "/a/b/c/d/e/f/g/h/i"), 404, "no such path");
}

static void parameters_are_decoded_and_found(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, "collect%5B%5D",
                                                "no%64e"),
                         0);
        assert_string_equal(exchange_parameter(&fixture->exchange.target, "collect[]"), "node");
        assert_null(exchange_parameter(&fixture->exchange.target, "collect"));
        check_refused(fixture,
                      exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, "page", NULL), 400,
                      "'page' needs a value");
        check_refused(fixture,
                      exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, "a", "%00"), 400,
                      "hexadecimal");
}

static void there_is_a_limit_on_parameters(void **state) {
        Fixture *fixture = *state;

        for (unsigned i = 0; i < PARAMETERS_MAX; i++)
                assert_int_equal(
                        exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, "a", "1"), 0);
        check_refused(fixture, exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, "a", "1"),
                      414, "more than");
}

static void a_number_out_of_range_is_named_with_its_range(void **state) {
        static const char *const values[] = { "0", "1001", "-1", "1e2", "", " 1", "99999999999999999999", "1x" };
        Fixture *fixture = *state;
        uint64_t v = 7;

        for (size_t i = 0; i < N_ELEMENTS(values); i++) {
                assert_int_equal(ask(fixture, "/"), 0);
                assert_int_equal(exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, "limit",
                                                        values[i]),
                                 0);
                check_refused(fixture,
                              exchange_parameter_u64(&fixture->exchange.target, &fixture->exchange.response, "limit", 1,
                                                     1000, 100, &v),
                              400, "'limit' must be a whole number from 1 to 1000");
                assert_int_equal(v, 7);
        }

        assert_int_equal(ask(fixture, "/"), 0);
        assert_int_equal(exchange_parameter_u64(&fixture->exchange.target, &fixture->exchange.response, "limit", 1,
                                                1000, 100, &v),
                         0);
        assert_int_equal(v, 100);
}

static void an_error_replaces_what_was_written(void **state) {
        Fixture *fixture = *state;

        fixture->exchange.response.type = CONTENT_HTML;
        buffer_puts(&fixture->body, "half an answer");
        check_refused(fixture, exchange_error(&fixture->exchange.response, 404, "No \"%s\"", "job\x01"), 404, "");
        assert_string_equal(fixture->body.text, "{\"error\":{\"status\":404,\"message\":\"No \\\"job\\u0001\\\"\"}}");
        assert_int_equal(fixture->exchange.response.type, CONTENT_JSON);
}

static void each_store_error_has_a_message(void **state) {
        Fixture *fixture = *state;

        fixture->exchange.response.query_timeout_ns = 5000000000;
        check_refused(fixture, exchange_store_error(&fixture->exchange.response, READER_TIMEOUT), 503, "5000 ms");
        check_refused(fixture, exchange_store_error(&fixture->exchange.response, READER_BROKEN), 503, "cannot be read");
        check_refused(fixture, exchange_store_error(&fixture->exchange.response, -12), 503, "memory");
}

/* Writes the token of a page with one row, which has that key. */
static void token_after(Fixture *fixture, PageKey key, char ret[static 64]) {
        Pagination page = { .limit = 1 };
        const char *token;
        Json json;

        buffer_clear(&fixture->body);
        pagination_begin(&json, &fixture->body, "rows");
        assert_true(pagination_admit(&page, &fixture->body, key));
        assert_false(pagination_admit(&page, &fixture->body, (PageKey){}));
        pagination_end(&page, &json);
        token = strstr(fixture->body.text, ":\"");
        assert_non_null(token);
        (void)snprintf(ret, 64, "%.*s", (int)strcspn(token + 2, "\""), token + 2);
}

static void a_page_continues_after_the_previous_one(void **state) {
        static const PageKey keys[] = { { 1, 1 }, { 1763676000123, 987654321 }, { INT64_MAX, INT64_MAX } };
        Fixture *fixture = *state;
        char token[64];
        Pagination page;

        for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
                token_after(fixture, keys[i], token);
                assert_int_equal(ask(fixture, "/"), 0);
                assert_int_equal(
                        exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, "page", token),
                        0);
                assert_int_equal(pagination_parse(&fixture->exchange.target, &fixture->exchange.response, &page), 0);
                assert_int_equal(page.before.time_ms, keys[i].time_ms);
                assert_int_equal(page.before.row, keys[i].row);
        }
}

static void an_invalid_token_is_refused(void **state) {
        static const char *const tokens[] = { "",
                                              "1",
                                              "0000000000000000000000000000000g",
                                              "ffffffffffffffff0000000000000001",
                                              "000000000000000100000000000000011",
                                              "+000000000000001 000000000000001" };
        Fixture *fixture = *state;
        Pagination page;

        for (size_t i = 0; i < N_ELEMENTS(tokens); i++) {
                assert_int_equal(ask(fixture, "/"), 0);
                assert_int_equal(exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, "page",
                                                        tokens[i]),
                                 0);
                check_refused(fixture, pagination_parse(&fixture->exchange.target, &fixture->exchange.response, &page),
                              400, "'page'");
        }
}

static void a_page_ends_early_when_it_grows_long(void **state) {
        Fixture *fixture = *state;
        Pagination page = { .limit = 10 };

        fixture->body.n = PAGINATION_BYTES_MAX; /* simulates a body of this size */
        assert_true(pagination_admit(&page, &fixture->body, (PageKey){ 2, 2 }));
        assert_false(pagination_admit(&page, &fixture->body, (PageKey){ 1, 1 }));
        assert_true(page.has_more);
        assert_int_equal(page.last.row, 2);
        fixture->body.n = 0;
}

/* An error is not a page of a list. */
static void an_error_has_no_following_page(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/"), 0);
        strcpy(fixture->exchange.response.next, "2.3");
        (void)exchange_error(&fixture->exchange.response, 429, "later");
        assert_string_equal(fixture->exchange.response.next, "");
}

static void a_body_is_limited(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/"), 0);
        assert_non_null(buffer_extend(&fixture->body, ANSWER_BYTES_MAX));
        assert_int_equal(exchange_check_body(&fixture->exchange.response), 0);
        buffer_putc(&fixture->body, 'x');
        buffer_puts(&fixture->body, "");
        assert_int_equal(fixture->body.n, ANSWER_BYTES_MAX);
        check_refused(fixture, exchange_check_body(&fixture->exchange.response), 413, "more than 8388608 bytes");
        assert_int_equal(exchange_check_body(&fixture->exchange.response), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_path_is_cut_into_decoded_segments, setup, teardown),
                cmocka_unit_test_setup_teardown(the_absolute_form_of_a_proxy_is_understood, setup, teardown),
                cmocka_unit_test_setup_teardown(broken_escapes_and_nul_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(too_long_or_too_deep_values_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(parameters_are_decoded_and_found, setup, teardown),
                cmocka_unit_test_setup_teardown(there_is_a_limit_on_parameters, setup, teardown),
                cmocka_unit_test_setup_teardown(a_number_out_of_range_is_named_with_its_range, setup, teardown),
                cmocka_unit_test_setup_teardown(an_error_replaces_what_was_written, setup, teardown),
                cmocka_unit_test_setup_teardown(each_store_error_has_a_message, setup, teardown),
                cmocka_unit_test_setup_teardown(a_page_continues_after_the_previous_one, setup, teardown),
                cmocka_unit_test_setup_teardown(an_invalid_token_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(a_page_ends_early_when_it_grows_long, setup, teardown),
                cmocka_unit_test_setup_teardown(an_error_has_no_following_page, setup, teardown),
                cmocka_unit_test_setup_teardown(a_body_is_limited, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
