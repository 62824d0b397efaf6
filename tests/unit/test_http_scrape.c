/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/http/metrics.c daemon/http/scrape.c daemon/http/http.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http_fixture.h"

/* Cuts off what each answer has of its own. */
static void cut_own_lines(char *text) {
        char *own = strstr(text, "# TYPE perfd_http_cpu_seconds");

        assert_non_null(own);
        *own = '\0';
}

static void compressed_scrapes_have_what_the_plain_ones_have(void **state) {
        static const char *const paths[] = { "", "?collect[]=self", "?collect[]=percpu&collect[]=jobs&collect[]=self" };
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        publish_jobs(fixture, 40);
        for (size_t i = 0; i < 4 * N_ELEMENTS(paths); i++) {
                const char *accept = i % 2 ? "Accept: application/openmetrics-text\r\n" : "";
                scoped(answer_deinit) HttpAnswer plain = {}, packed = {}, head = {};
                char request[3][256];
                scoped(freep) char *text = NULL;

                (void)snprintf(request[0], 256, GET("/metrics%s") "%s\r\n", paths[i / 4], accept);
                (void)snprintf(request[1], 256, GET("/metrics%s") "%sAccept-Encoding: gzip\r\n\r\n", paths[i / 4],
                               accept);
                (void)snprintf(request[2], 256, "HEAD /metrics%s HTTP/1.1\r\nHost: node\r\n%s\r\n", paths[i / 4],
                               accept);
                ask(fixture, request[0], &plain);
                ask(fixture, request[1], &packed);
                ask(fixture, request[2], &head);
                assert_true(has_header(&packed, "\r\nContent-Encoding: gzip\r\n"));
                assert_int_equal(head.status, 200);
                assert_int_equal(head.body.n, 0);
                assert_true(has_header(&head, "\r\nContent-Length: "));
                text = unpack(&packed.body);
                cut_own_lines(plain.body.text);
                cut_own_lines(text);
                assert_string_equal(text, plain.body.text);
                if (i % 4 >= 2)
                        publish_jobs(fixture, 40);
        }
}

/* The texts of a snapshot live as long as an answer that is not read yet. */
static void an_answer_outlives_its_snapshot(void **state) {
        static const char request[] = GET("/metrics") END;
        scoped(answer_deinit) HttpAnswer large = {}, small = {};
        scoped(buffer_deinit) Buffer stream = {};
        scoped(closep) int fd = -1;
        Fixture *fixture = *state;

        start(fixture, 64, 10);
        publish_jobs(fixture, 250); /* more than the buffers of a socket hold */
        fd = dial_local(fixture);
        assert_true(say(fd, request, strlen(request)));
        assert_true(hear(fd, &stream));
        for (size_t i = 0; i < 4; i++)
                publish(fixture);
        ask(fixture, request, &small);
        read_answer(fd, &stream, true, &large);
        assert_int_equal(large.status, 200);
        assert_true(large.body.n > 500000 && small.body.n < large.body.n / 10);
        assert_non_null(strstr(large.body.text, "\nperfd_jobs_running 250\n"));
        assert_non_null(strstr(small.body.text, "\nperfd_jobs_running 2\n"));
        assert_non_null(strstr(large.body.text, "\nperfd_quota_refused_total{"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(compressed_scrapes_have_what_the_plain_ones_have, setup, teardown),
                cmocka_unit_test_setup_teardown(an_answer_outlives_its_snapshot, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
