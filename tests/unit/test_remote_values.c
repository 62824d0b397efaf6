/* SPDX-License-Identifier: Apache-2.0 */
/* Values that other servers have. */
/* tests: client/matrix/remote_values.c client/api/json_server.c client/api/http_client.c */
#include "results_fixture.h"

#include "client/matrix/remote_values.h"
#include "json_server_fixture.h"
#include "util/clock.h"

#define MATRIX(series) "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}"
#define SERIES(values) "{\"metric\":{},\"values\":[" values "]}"
#define START_NS (1000 * NS_PER_S)
#define END_NS (1004 * NS_PER_S)

/* Asks a server that gives an answer. Returns the outcome; the value or the reason is in *ret. */
static int ask(const char *status, const char *answer, ValueTake take, ValueSeries series, Buffer *ret) {
        const ValueRule rule = { .name = "v", .from = "up{a=\"b\"}", .take = take, .series = series };
        scoped(json_server_fixture_end) JsonServerFixture server;
        scoped(remote_values_deinit) RemoteValues remote = {};
        Buffer reason = {};
        int r;

        json_server_fixture_begin(&server, status, answer);
        r = remote_values_query(&remote, server.url, &rule, START_NS, END_NS, ret, &reason);
        buffer_puts(ret, reason.text ?: "");
        buffer_deinit(&reason);
        return r;
}

static void assert_value(const char *answer, ValueTake take, ValueSeries series, const char *value) {
        scoped(buffer_deinit) Buffer found = {};

        assert_int_equal(ask("200 OK", answer, take, series, &found), 0);
        assert_string_equal(found.text, value);
}

static void assert_reason(const char *status, const char *answer, int outcome, const char *text) {
        scoped(buffer_deinit) Buffer found = {};

        assert_int_equal(ask(status, answer, VALUE_TAKE_DEFAULT, VALUE_SERIES_ONE, &found), outcome);
        if (!strstr(found.text, text))
                fail_msg("'%s' is not in '%s'", text, found.text);
}

static void series_become_one_number(void **state) {
        static const char one[] = MATRIX(SERIES("[1000,\"1\"],[1001,\"9\"],[1002,\"2\"],[1004,\"4\"]"));
        static const char two[] = MATRIX(SERIES("[1000,\"1\"]") "," SERIES("[1000,\"7\"],[1001,\"NaN\"]"));

        (void)state;
        assert_value(one, VALUE_TAKE_DEFAULT, VALUE_SERIES_ONE, "9.0");
        assert_value(one, VALUE_TAKE_MIN, VALUE_SERIES_ONE, "1.0");
        assert_value(one, VALUE_TAKE_LAST, VALUE_SERIES_ONE, "4.0");
        /* a second each of 1, 9 and 2: nothing is known of the second before the last sample */
        assert_value(one, VALUE_TAKE_MEAN, VALUE_SERIES_ONE, "4.0");
        assert_value(two, VALUE_TAKE_MAX, VALUE_SERIES_MAX, "7.0");
        assert_value(two, VALUE_TAKE_MEAN, VALUE_SERIES_ALL, "[1.0,7.0]");
        assert_reason("200 OK", two, REMOTE_VALUES_WRONG, "2 series match");
}

static void what_is_no_answer_is_named(void **state) {
        (void)state;
        assert_reason("200 OK", MATRIX(""), REMOTE_VALUES_NONE, "no data");
        assert_reason("200 OK", MATRIX(SERIES("[1000,\"x\"],[1,2,3],7")), REMOTE_VALUES_NONE, "no data");
        assert_reason("200 OK", "{\"data\":[]}", REMOTE_VALUES_WRONG, "not one of Prometheus");
        assert_reason("200 OK", "<html>", REMOTE_VALUES_WRONG, "HTTP status 200: the answer is no JSON");
        assert_reason("400 Bad", "{\"error\":\"parse error\"}", REMOTE_VALUES_WRONG, "HTTP status 400: parse error");
        assert_reason("500 No", "{}", REMOTE_VALUES_WRONG, "HTTP status 500: without a reason");
}

static void a_server_that_is_away_is_asked_once(void **state) {
        const ValueRule rule = { .name = "v", .from = "up" };
        scoped(remote_values_deinit) RemoteValues remote = {};
        scoped(buffer_deinit) Buffer out = {}, reason = {}, again = {}, early = {};
        JsonServerFixture server;

        (void)state;
        json_server_fixture_begin(&server, "200 OK", MATRIX(""));
        json_server_fixture_end(&server);
        assert_int_equal(remote_values_query(&remote, server.url, &rule, START_NS, END_NS, &out, &reason),
                         REMOTE_VALUES_AWAY);
        assert_non_null(strstr(reason.text, "Connection refused"));
        assert_int_equal(remote_values_query(&remote, server.url, &rule, START_NS, END_NS, &out, &again),
                         REMOTE_VALUES_AWAY);
        assert_string_equal(reason.text, again.text);
        assert_int_equal(remote_values_query(&remote, server.url, &rule, END_NS, START_NS, &out, &early),
                         REMOTE_VALUES_NONE);
        assert_int_equal(remote_values_metric(&remote, "j", "cpu", &out, &again), REMOTE_VALUES_AWAY);
        assert_int_equal(out.n, 0);
}

static void credentials_and_content_are_sent(void **state) {
        scoped(buffer_deinit) Buffer content = {};
        scoped(freep) char *requests = NULL;
        JsonServerFixture server;
        JsonServer client;

        (void)state;
        results_put("login", "me:secret\n");
        assert_int_equal(setenv("TEST_LOGIN", "login", 1), 0);
        json_server_fixture_begin(&server, "201 Created", "{\"a\":1}");
        assert_int_equal(json_server_open(&client, server.url, "TEST_LOGIN", NS_PER_S * 20), 0);
        buffer_puts(&content, "{\"b\":2}");
        assert_int_equal(json_server_ask(&client, "/x", &(HttpContent){ "PUT", "application/json", &content }), 0);
        assert_non_null(value_get(client.answer, "a"));
        assert_int_equal(json_server_ask(&client, "/y", NULL), 0);
        json_server_deinit(&client);
        json_server_fixture_end(&server);
        requests = file_read_text(AT_FDCWD, "requests", 4096);
        assert_non_null(strstr(requests, "PUT /x HTTP/1.1"));
        assert_non_null(strstr(requests, "Authorization: Basic bWU6c2VjcmV0\r\n"));
        assert_non_null(strstr(requests, "Content-Type: application/json"));
        assert_non_null(strstr(requests, "{\"b\":2}GET /y HTTP/1.1"));
        assert_int_equal(setenv("TEST_LOGIN", "absent", 1), 0);
        assert_int_equal(json_server_open(&client, server.url, "TEST_LOGIN", NS_PER_S), JSON_SERVER_AWAY);
        assert_non_null(strstr(client.reason, "absent: No such file"));
        assert_int_equal(json_server_ask(&client, "/", NULL), JSON_SERVER_AWAY);
        json_server_deinit(&client);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(series_become_one_number, results_set_up, results_tear_down),
                cmocka_unit_test_setup_teardown(what_is_no_answer_is_named, results_set_up, results_tear_down),
                cmocka_unit_test_setup_teardown(a_server_that_is_away_is_asked_once, results_set_up, results_tear_down),
                cmocka_unit_test_setup_teardown(credentials_and_content_are_sent, results_set_up, results_tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
