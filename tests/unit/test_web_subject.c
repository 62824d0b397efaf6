/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/http/web/web_subject.c daemon/http/routes.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "http/routes.h"
#include "http/web/web_subject.h"
#include "util/scoped.h"

/* Requests a path as a browser or another program. Returns the status. */
static unsigned ask(Exchange *exchange, Buffer *body, const char *path, bool is_browser) {
        exchange_init(exchange, body);
        exchange->target.wants_html = is_browser;
        if (exchange_set_path(&exchange->target, &exchange->response, path) == 0)
                assert_int_equal(routes_answer(exchange), 0);
        return exchange->response.status;
}

static void each_file_has_its_path_type_and_checksum(void **state) {
        scoped(buffer_deinit) Buffer body = {};
        Exchange exchange;
        size_t n = 0;

        (void)state;
        assert_string_equal(web_files[0].path, "index.html");
        for (const Asset *file = web_files; file->path; file++, n++) {
                char path[128];

                (void)snprintf(path, sizeof(path), "/%s", file == web_files ? "" : file->path);
                assert_int_equal(ask(&exchange, &body, path, false), 200);
                assert_ptr_equal(exchange.response.file, file);
                assert_non_null(strstr(file->type, "charset=utf-8"));
                assert_int_equal(strlen(file->bytes), file->n);
                assert_memory_equal(file->packed, "\x1f\x8b", 2);
                assert_true(file->n_packed < file->n + 64);
                for (const Asset *other = web_files; other < file; other++)
                        assert_string_not_equal(other->etag, file->etag);
        }
        assert_true(n > 5);
}

static void other_files_are_not_found(void **state) {
        static const char *const paths[] = {
                "/app/none.js", "/app/..%2findex.html", "/app/../index.html", "/figures/main.js", "/app", "/app/",
                "/app/main.js/", "/app/main.js%00", "/app/main.jsx", "/vendor/uplot/LICENSE", "/index.html",
        };
        scoped(buffer_deinit) Buffer body = {};
        Exchange exchange;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
                unsigned status = ask(&exchange, &body, paths[i], false);

                if ((status != 404 && status != 400) || exchange.response.file)
                        fail_msg("%s is answered with %u", paths[i], status);
        }
}

static void links_of_a_page_are_relative_to_the_root(void **state) {
        static const struct { const char *path, *base; } cases[] = {
                { "/indicators/a", "<base href=\"../\">" }, { "/a/b/c", "<base href=\"../../\">" }, { "/a/b/", "<base href=\"../../\">" },
        };
        scoped(buffer_deinit) Buffer body = {};
        Exchange exchange;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                (void)ask(&exchange, &body, cases[i].path, true);
                assert_int_equal(exchange.response.type, CONTENT_HTML);
                assert_null(exchange.response.file);
                assert_non_null(strstr(body.text, cases[i].base));
                assert_null(strstr(body.text, "\"./\""));
                assert_non_null(strstr(body.text, "</html>"));
        }
        assert_int_equal(ask(&exchange, &body, "/nothing", true), 404);
        assert_ptr_equal(exchange.response.file, web_files);
}

static void programs_get_errors_in_json(void **state) {
        static const char *const paths[] = { "/api/v1/nothing", "/metrics/x", "/-/x", "/api" };
        scoped(buffer_deinit) Buffer body = {};
        Exchange exchange;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
                assert_int_equal(ask(&exchange, &body, paths[i], true), 404);
                assert_int_equal(exchange.response.type, CONTENT_JSON);
        }
        assert_int_equal(ask(&exchange, &body, "/nothing", false), 404);
        assert_int_equal(exchange.response.type, CONTENT_JSON);
}

static void a_job_needs_the_store(void **state) {
        scoped(buffer_deinit) Buffer body = {};
        Exchange exchange;

        (void)state;
        exchange_init(&exchange, &body);
        assert_int_equal(exchange_set_path(&exchange.target, &exchange.response, "/jobs/x"), 0);
        assert_int_equal(routes_answer(&exchange), ROUTES_NEEDS_STORE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_file_has_its_path_type_and_checksum),
                cmocka_unit_test(other_files_are_not_found),
                cmocka_unit_test(links_of_a_page_are_relative_to_the_root),
                cmocka_unit_test(programs_get_errors_in_json),
                cmocka_unit_test(a_job_needs_the_store),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
