/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/http/format/gzip.c daemon/http/http_thread.c daemon/http/http.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "http/http_thread.h"
#include "http_fixture.h"

static void both_listeners_answer(void **state) {
        scoped(buffer_deinit) Buffer stream = {};
        scoped(answer_deinit) HttpAnswer tcp = {}, local = {};
        Fixture *fixture = *state;
        scoped(closep) int fd = -1;

        start(fixture, 64, 10);
        publish(fixture);
        ask(fixture, GET("/api/v1/node") END, &tcp);
        assert_int_equal(tcp.status, 200);

        fd = dial_local(fixture);
        assert_true(say(fd, GET("/api/v1/node") END, strlen(GET("/api/v1/node") END)));
        read_answer(fd, &stream, true, &local);
        assert_string_equal(local.body.text, tcp.body.text);
}

static void an_account_waits_for_its_turn_only_if_its_answers_took_long(void **state) {
        const ShareAccount *accounts = (const ShareAccount *)state; /* identity only */
        HttpThread thread = {};

        for (size_t i = 0; i < 20; i++) /* more accounts than are counted */
                http_thread_note_answer(&thread, (const void *)((const char *)accounts + i), HTTP_TURN_NS / 2);
        http_thread_note_answer(&thread, accounts, HTTP_TURN_NS / 2);
        assert_int_equal(thread.turn.n_served, N_ELEMENTS(thread.turn.served));
        assert_int_equal(thread.turn.served[0].ns, HTTP_TURN_NS);
        assert_false(http_thread_wait_turn(&thread, accounts, NULL));
        http_thread_note_answer(&thread, accounts, 1);
        assert_false(http_thread_wait_turn(&thread, (const void *)((const char *)accounts + 1), NULL));
        assert_false(http_thread_wait_turn(&thread, (const void *)((const char *)accounts + 19), NULL));
        thread.is_stopping = true; /* nothing would resume it */
        assert_false(http_thread_wait_turn(&thread, accounts, NULL));
}

static void all_connections_of_an_account_are_answered(void **state) {
        Fixture *fixture = *state;
        int fds[48];

        start(fixture, 256, 10); /* an account that is no administrator's has a part of them */
        publish(fixture);
        for (size_t i = 0; i < N_ELEMENTS(fds); i++)
                fds[i] = dial_local(fixture);
        for (size_t i = 0; i < N_ELEMENTS(fds); i++)
                assert_true(say(fds[i], GET("/metrics") END, strlen(GET("/metrics") END)));
        for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
                scoped(buffer_deinit) Buffer stream = {};
                scoped(answer_deinit) HttpAnswer answer = {};

                read_answer(fds[i], &stream, true, &answer);
                assert_int_equal(answer.status, 200);
                closep(&fds[i]);
        }
}

static void before_the_first_snapshot_clients_are_asked_to_retry(void **state) {
        scoped(answer_deinit) HttpAnswer early = {}, late = {};
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        ask(fixture, GET("/metrics") END, &early);
        assert_int_equal(early.status, 503);
        assert_true(has_header(&early, "\r\nRetry-After: 1\r\n"));
        assert_true(has_header(&early, "\r\nContent-Type: application/json\r\n"));
        publish(fixture);
        ask(fixture, GET("/metrics") END, &late);
        assert_int_equal(late.status, 200);
}

static void readiness_is_set_by_the_daemon(void **state) {
        scoped(answer_deinit) HttpAnswer before = {}, while_ready = {}, after = {};
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        ask(fixture, GET("/-/ready") END, &before);
        http_set_ready(fixture->http, true);
        ask(fixture, GET("/-/ready") END, &while_ready);
        http_set_ready(fixture->http, false);
        ask(fixture, GET("/-/ready") END, &after);
        assert_int_equal(before.status, 503);
        assert_int_equal(while_ready.status, 200);
        assert_string_equal(while_ready.body.text, "ready\n");
        assert_int_equal(after.status, 503);
}

static void requests_on_one_connection_are_answered_in_order(void **state) {
        static const char requests[] = GET("/-/healthy") END GET("/nothing") END GET("/-/ready") END;
        scoped(answer_deinit) HttpAnswer first = {}, second = {}, third = {};
        scoped(buffer_deinit) Buffer stream = {};
        scoped(closep) int fd = -1;
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        http_set_ready(fixture->http, true);
        fd = dial_tcp(fixture);
        assert_true(say(fd, requests, strlen(requests)));
        read_answer(fd, &stream, true, &first);
        read_answer(fd, &stream, true, &second);
        read_answer(fd, &stream, true, &third);
        assert_string_equal(first.body.text, "ok\n");
        assert_int_equal(second.status, 404);
        assert_string_equal(third.body.text, "ready\n");
}

static void head_is_get_without_the_body(void **state) {
        scoped(answer_deinit) HttpAnswer head = {}, get = {};
        Fixture *fixture = *state;
        char length[64];

        start(fixture, 64, 10);
        publish(fixture);
        ask(fixture, GET("/api/v1/node") END, &get);
        ask(fixture, "HEAD /api/v1/node HTTP/1.1\r\nHost: node\r\n\r\n", &head);
        (void)snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n", get.body.n);
        assert_int_equal(head.status, 200);
        assert_true(has_header(&head, length));
}

static void methods_that_change_something_are_refused(void **state) {
        static const char *const methods[] = { "POST",  "PUT",     "DELETE", "OPTIONS", "PATCH",
                                               "TRACE", "CONNECT", "BREW",   "get" };
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        publish(fixture);
        for (size_t i = 0; i < N_ELEMENTS(methods); i++) {
                scoped(answer_deinit) HttpAnswer answer = {};
                char request[128];

                (void)snprintf(request, sizeof(request),
                               "%s /metrics HTTP/1.1\r\nHost: node\r\nContent-Length: 5\r\n\r\nhello", methods[i]);
                ask(fixture, request, &answer);
                assert_int_equal(answer.status, 405);
                assert_true(has_header(&answer, "\r\nAllow: GET, HEAD\r\n"));
        }
}

static void a_get_with_a_body_is_answered_all_the_same(void **state) {
        scoped(answer_deinit) HttpAnswer answer = {};
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        ask(fixture, GET("/-/healthy") "Content-Length: 5\r\n\r\nhello", &answer);
        assert_int_equal(answer.status, 200);
}

static void answers_carry_the_headers_browsers_need(void **state) {
        scoped(answer_deinit) HttpAnswer page = {}, error = {}, metrics = {};
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        publish(fixture);
        ask(fixture, GET("/") END, &page);
        assert_true(has_header(&page, "\r\nContent-Type: text/html; charset=utf-8\r\n"));
        assert_true(has_header(&page, "\r\nContent-Security-Policy: default-src 'self'; "));
        assert_true(has_header(&page, "\r\nX-Content-Type-Options: nosniff\r\n"));
        assert_true(has_header(&page, "\r\nCache-Control: no-cache\r\n"));
        assert_false(has_header(&page, "Access-Control-Allow-Origin"));

        ask(fixture, GET("/nothing/here") "Accept: text/html,*/*;q=0.8\r\n\r\n", &error);
        assert_int_equal(error.status, 404);
        assert_true(has_header(&error, "\r\nContent-Type: text/html; charset=utf-8\r\n"));
        assert_true(has_header(&error, "\r\nContent-Security-Policy: default-src 'self'; "));
        assert_true(has_header(&error, "\r\nCache-Control: no-store\r\n"));

        ask(fixture, GET("/metrics") "Accept: application/openmetrics-text\r\n\r\n", &metrics);
        assert_true(has_header(&metrics,
                               "\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
        assert_true(has_header(&metrics, "\r\nVary: Accept-Encoding, Accept\r\n"));
        assert_string_equal(metrics.body.text + metrics.body.n - 6, "# EOF\n");
}

static void a_file_of_the_page_is_sent_once(void **state) {
        scoped(answer_deinit) HttpAnswer plain = {}, packed = {}, same = {}, other = {}, head = {};
        Fixture *fixture = *state;
        scoped(freep) char *text = NULL;
        char request[256], etag[64] = "";

        start(fixture, 64, 10);
        ask(fixture, GET("/app/main.js") END, &plain);
        assert_int_equal(plain.status, 200);
        assert_true(has_header(&plain, "\r\nContent-Type: text/javascript; charset=utf-8\r\n"));
        assert_false(has_header(&plain, "Content-Encoding"));

        ask(fixture, GET("/app/main.js") "Accept-Encoding: gzip\r\n\r\n", &packed);
        assert_true(has_header(&packed, "\r\nContent-Encoding: gzip\r\n"));
        assert_true(packed.body.n < plain.body.n / 2);
        text = unpack(&packed.body);
        assert_string_equal(text, plain.body.text);

        assert_int_equal(sscanf(strstr(packed.head.text, "ETag: "), "ETag: %63s", etag), 1);
        (void)snprintf(request, sizeof(request), GET("/app/main.js") "If-None-Match: \"x\", %s\r\n\r\n", etag);
        ask(fixture, request, &same);
        assert_int_equal(same.status, 304);
        assert_int_equal(same.body.n, 0);
        assert_true(has_header(&same, etag));
        ask(fixture, GET("/app/main.js") "If-None-Match: W/\"another\"\r\n\r\n", &other);
        assert_int_equal(other.status, 200);
        assert_int_equal(other.body.n, plain.body.n);
        ask(fixture, "HEAD /app/main.js HTTP/1.1\r\nHost: node\r\n\r\n", &head);
        assert_int_equal(head.status, 200);
}

static void gzip_is_used_if_requested_and_useful(void **state) {
        scoped(answer_deinit) HttpAnswer plain = {}, small = {};
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        publish(fixture);
        ask(fixture, GET("/metrics?collect[]=node") END, &plain);
        assert_false(has_header(&plain, "Content-Encoding"));
        ask(fixture, GET("/-/healthy") "Accept-Encoding: gzip\r\n\r\n", &small);
        assert_false(has_header(&small, "Content-Encoding"));

        for (unsigned i = 0; i < 3; i++) { /* the compressor is reused */
                scoped(answer_deinit) HttpAnswer packed = {};
                scoped(freep) char *text = NULL;

                ask(fixture, GET("/metrics?collect[]=node") "Accept-Encoding: deflate, gzip;q=0.5\r\n\r\n", &packed);
                assert_true(has_header(&packed, "\r\nContent-Encoding: gzip\r\n"));
                assert_true(packed.body.n < plain.body.n / 2);
                text = unpack(&packed.body);
                assert_string_equal(text, plain.body.text);
        }
}

static void too_long_requests_are_refused_without_affecting_others(void **state) {
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        for (unsigned i = 0; i < 3; i++) {
                scoped(answer_deinit) HttpAnswer answer = {}, other = {};
                scoped(buffer_deinit) Buffer request = {};

                buffer_puts(&request, i == 0 ? "GET /" : GET("/-/healthy"));
                for (unsigned k = 0; k < 40000; k++)
                        buffer_puts(&request, i == 0   ? "a"
                                              : i == 1 ? "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaa\r\n"
                                                       : "X:y\r\n");
                buffer_puts(&request, i == 0 ? " HTTP/1.1\r\nHost: node\r\n\r\n" : "\r\n");
                ask(fixture, request.text, &answer);
                assert_in_range(answer.status, 413, 431);
                ask(fixture, GET("/-/healthy") END, &other);
                assert_int_equal(other.status, 200);
        }
}

static void invalid_bytes_close_the_connection(void **state) {
        static const char *const openings[] = {
                "\x16\x03\x01\x02",
                "GET\r\n\r\n",
                "GET / HTTP/9.9\r\n\r\n",
                "GET / HTTP/1.1\r\n\r\n",
                " / HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
                "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        };
        scoped(answer_deinit) HttpAnswer other = {};
        Fixture *fixture = *state;

        start(fixture, 64, 1);
        for (size_t i = 0; i < N_ELEMENTS(openings); i++) {
                scoped(buffer_deinit) Buffer stream = {};
                scoped(closep) int fd = dial_tcp(fixture);

                (void)say(fd, openings[i], strlen(openings[i]));
                (void)shutdown(fd, SHUT_WR);
                while (hear(fd, &stream))
                        ;
                if (stream.n > 0)
                        assert_memory_equal(stream.text, "HTTP/1.1 ", 9);
        }
        ask(fixture, GET("/-/healthy") END, &other);
        assert_int_equal(other.status, 200);
}

static void an_idle_connection_is_closed(void **state) {
        scoped(buffer_deinit) Buffer stream = {};
        scoped(closep) int fd = -1;
        Fixture *fixture = *state;

        start(fixture, 64, 1);
        fd = dial_tcp(fixture);
        assert_true(say(fd, "GET / HT", 8));
        while (hear(fd, &stream))
                ;
}

static void a_peer_that_trickles_is_cut_off(void **state) {
        scoped(closep) int fd = -1;
        Fixture *fixture = *state;
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_MS * NS_PER_MS;
        struct pollfd poller;

        start(fixture, 64, 1);
        fd = dial_tcp(fixture);
        poller = (struct pollfd){ .fd = fd, .events = POLLIN | POLLRDHUP };
        assert_true(say(fd, "GET /", 5));

        /* One byte every 100 ms: the connection is never idle for a second. */
        while (poll(&poller, 1, 100) == 0) {
                assert_true(clock_boottime_ns() < deadline_ns);
                (void)say(fd, "a", 1);
                publish(fixture);
        }
}

static void connections_beyond_a_share_get_a_reason(void **state) {
        Fixture *fixture = *state;
        int tcp[HTTP_THREAD_REFUSED_MAX + 3];

        start(fixture, 2, 10);
        for (size_t i = 0; i < N_ELEMENTS(tcp); i++)
                tcp[i] = dial_tcp(fixture);
        for (size_t i = N_ELEMENTS(tcp); i-- > 0; close(tcp[i])) {
                scoped(buffer_deinit) Buffer stream = {};

                while (i >= 2 && hear(tcp[i], &stream))
                        ;
                assert_true(i < 2 || strstr(stream.text, "429 Too Many Requests"));
                assert_true(i < 2 || strstr(stream.text, "[limits] http_connections = 2"));
        }
}

static void a_foreign_host_is_misdirected_over_tcp(void **state) {
        static const struct { const char *request; unsigned status; } rows[] = {
                { "GET /-/ready HTTP/1.1\r\nHost: evil.example\r\n" END, 421 }, { "GET / HTTP/1.1\r\nHost: evil.example\r\n" END, 421 },
                { "GET / HTTP/1.0\r\n" END, 200 }, { "GET / HTTP/1.1\r\nHost: perf.example.org:9847\r\n" END, 200 },
        };
        scoped(answer_deinit) HttpAnswer local = {};
        scoped(buffer_deinit) Buffer stream = {};
        scoped(closep) int fd = -1;
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                scoped(answer_deinit) HttpAnswer answer = {};

                ask(fixture, rows[i].request, &answer);
                assert_int_equal(answer.status, rows[i].status);
                assert_int_equal(!strstr(answer.body.text, "'evil.example' is not a name"), answer.status == 200);
        }
        fd = dial_local(fixture);
        assert_true(say(fd, rows[1].request, strlen(rows[1].request)));
        read_answer(fd, &stream, true, &local);
        assert_int_equal(local.status, 200);
}

static void every_answer_is_counted(void **state) {
        Fixture *fixture = *state;
        HttpStats stats;

        start(fixture, 64, 10);
        publish(fixture);
        for (unsigned i = 0; i < 10; i++) {
                scoped(answer_deinit) HttpAnswer good = {}, bad = {};

                ask(fixture, GET("/metrics") END, &good);
                ask(fixture, GET("/nothing") END, &bad);
        }
        http_stats(fixture->http, &stats);
        assert_int_equal(stats.n_requests_by_class[2], 10);
        assert_int_equal(stats.n_requests_by_class[4], 10);
        assert_true(stats.n_bytes_sent > 10000);
        assert_true(stats.cpu_ns > 0);
}

typedef struct HttpClient {
        const Fixture *fixture;
        atomic_bool *is_over;
        atomic_uint n_answers;
        unsigned n_bad;
} HttpClient;

static void *on_asker(void *userdata) {
        HttpClient *asker = userdata;

        while (!atomic_load(asker->is_over)) {
                scoped(answer_deinit) HttpAnswer answer = {};

                ask(asker->fixture,
                    atomic_fetch_add(&asker->n_answers, 1) % 2 ? GET("/metrics") END : GET("/api/v1/node") END,
                    &answer);
                asker->n_bad += answer.status != 200;
        }
        return NULL;
}

static void answers_stay_whole_while_snapshots_change(void **state) {
        HttpClient askers[2] = {};
        pthread_t threads[N_ELEMENTS(askers)];
        Fixture *fixture = *state;
        atomic_bool is_over = false;

        start(fixture, 64, 10);
        publish(fixture);
        for (size_t i = 0; i < N_ELEMENTS(askers); i++) {
                askers[i].fixture = fixture;
                askers[i].is_over = &is_over;
                assert_int_equal(pthread_create(&threads[i], NULL, on_asker, &askers[i]), 0);
        }
        while (atomic_load(&askers[0].n_answers) < 100 || atomic_load(&askers[1].n_answers) < 100)
                publish(fixture);
        atomic_store(&is_over, true);
        for (size_t i = 0; i < N_ELEMENTS(askers); i++) {
                pthread_join(threads[i], NULL);
                assert_int_equal(askers[i].n_bad, 0);
        }
}

static void the_end_does_not_wait_for_peers(void **state) {
        scoped(closep) int idle = -1, half = -1;
        scoped(buffer_deinit) Buffer stream = {};
        Fixture *fixture = *state;

        start(fixture, 64, 3600);
        idle = dial_tcp(fixture);
        half = dial_local(fixture);
        assert_true(say(half, "GET /metrics HT", 15));
        fixture->http = http_free(fixture->http);
        assert_false(hear(idle, &stream));
        assert_false(hear(half, &stream));
}

static void the_threads_leave_signals_to_the_loop(void **state) {
        scoped(answer_deinit) HttpAnswer answer = {};
        sigset_t blocked, before, now, pending;
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        (void)sigemptyset(&blocked);
        (void)sigaddset(&blocked, SIGTERM);
        assert_int_equal(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
        assert_false(sigismember(&before, SIGTERM)); /* starting the server did not change this thread's mask */

        /* If all threads block the signal, it stays pending instead of ending the process. */
        assert_int_equal(kill(getpid(), SIGTERM), 0);
        ask(fixture, GET("/-/healthy") END, &answer);
        assert_int_equal(answer.status, 200);
        assert_int_equal(sigpending(&pending), 0);
        assert_true(sigismember(&pending, SIGTERM));
        assert_int_equal(sigwaitinfo(&blocked, NULL), SIGTERM);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, &now), 0);
}

static void publish_point(Fixture *fixture, uint64_t end_ms) {
        Snapshot *snapshot = publisher_begin(fixture->publisher);
        const SnapshotSize size = { .n_cpus = 2, .n_disks = 1, .n_nets = 1, .n_filesystems = 1 };
        RecentPoint point = { .end_realtime_ms = end_ms };

        assert_non_null(snapshot);
        fixture_fill(snapshot, &size);
        assert_int_equal(recent_add(&snapshot->node.recent, &point, (const uint8_t[]){ 7, RECENT_UNKNOWN }, 2), 0);
        publisher_publish(fixture->publisher, snapshot);
        http_tick(fixture->http);
}

static void await(int fd, const char *wanted) {
        char bytes[8192] = "";

        for (size_t n = 0; !strstr(bytes, wanted);) {
                ssize_t r = recv(fd, bytes + n, sizeof(bytes) - n - 1, 0);

                assert_true(r > 0);
                n += (size_t)r;
        }
}

/* The last stream is open when the server ends. */
static void each_snapshot_is_an_event_of_a_stream(void **state) {
        static const char request[] = GET("/api/v1/events") END;
        scoped(buffer_deinit) Buffer rest = {};
        Fixture *fixture = *state;
        int fds[4];

        start(fixture, 64, 10);
        publish_point(fixture, 1000);
        for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
                fds[i] = dial_tcp(fixture);
                assert_true(say(fds[i], request, strlen(request)));
                await(fds[i], i < 2 ? "\"cores\":[[7],[null]]" : "429");
        }
        publish_point(fixture, 500); /* a clock that was set back */
        await(fds[0], "\"times_ms\":[500]");
        await(fds[1], "\"times_ms\":[500]");
        for (size_t i = 1; i < N_ELEMENTS(fds); i++)
                close(fds[i]);
        publish_point(fixture, 2000);
        await(fds[0], "\"times_ms\":[2000]");
        assert_int_equal(http_listen(fixture->http, -1), 0);
        while (hear(fds[0], &rest)) /* the port was closed */
                ;
        close(fds[0]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(both_listeners_answer, setup, teardown),
                cmocka_unit_test(an_account_waits_for_its_turn_only_if_its_answers_took_long),
                cmocka_unit_test_setup_teardown(all_connections_of_an_account_are_answered, setup, teardown),
                cmocka_unit_test_setup_teardown(before_the_first_snapshot_clients_are_asked_to_retry, setup, teardown),
                cmocka_unit_test_setup_teardown(readiness_is_set_by_the_daemon, setup, teardown),
                cmocka_unit_test_setup_teardown(requests_on_one_connection_are_answered_in_order, setup, teardown),
                cmocka_unit_test_setup_teardown(head_is_get_without_the_body, setup, teardown),
                cmocka_unit_test_setup_teardown(each_snapshot_is_an_event_of_a_stream, setup, teardown),
                cmocka_unit_test_setup_teardown(methods_that_change_something_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(a_get_with_a_body_is_answered_all_the_same, setup, teardown),
                cmocka_unit_test_setup_teardown(answers_carry_the_headers_browsers_need, setup, teardown),
                cmocka_unit_test_setup_teardown(a_file_of_the_page_is_sent_once, setup, teardown),
                cmocka_unit_test_setup_teardown(gzip_is_used_if_requested_and_useful, setup, teardown),
                cmocka_unit_test_setup_teardown(too_long_requests_are_refused_without_affecting_others, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(invalid_bytes_close_the_connection, setup, teardown),
                cmocka_unit_test_setup_teardown(an_idle_connection_is_closed, setup, teardown),
                cmocka_unit_test_setup_teardown(a_peer_that_trickles_is_cut_off, setup, teardown),
                cmocka_unit_test_setup_teardown(connections_beyond_a_share_get_a_reason, setup, teardown),
                cmocka_unit_test_setup_teardown(a_foreign_host_is_misdirected_over_tcp, setup, teardown),
                cmocka_unit_test_setup_teardown(every_answer_is_counted, setup, teardown),
                cmocka_unit_test_setup_teardown(answers_stay_whole_while_snapshots_change, setup, teardown),
                cmocka_unit_test_setup_teardown(the_end_does_not_wait_for_peers, setup, teardown),
                cmocka_unit_test_setup_teardown(the_threads_leave_signals_to_the_loop, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
