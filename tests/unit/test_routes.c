/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/http/measure/metric_json.c daemon/http/measure/metric_scope.c
          daemon/http/self/self_subject.c daemon/http/node/node_subject.c daemon/http/metrics.c
          daemon/http/indicators/indicators_subject.c daemon/http/jobs/job_lookup.c
          daemon/http/self/self_subject.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/judge.h"
#include "http/routes.h"
#include "http/self/self_subject.h"
#include "job/job.h"
#include "kpi/history.h"
#include "measure/sample.h"
#include "snapshot_fixture.h"

typedef struct Fixture {
        Snapshot snapshot;
        Reader *reader; /* reads a database that does not exist */
        Shares *shares;
        Buffer body;
        Exchange exchange;
        bool is_stranger; /* the caller is another user */
} Fixture;

static int setup(void **state) {
        const SnapshotSize size = { .n_cpus = 2, .n_disks = 1, .n_nets = 1, .n_filesystems = 1, .n_jobs = 2 };
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        fixture_fill(&fixture->snapshot, &size);
        assert_int_equal(shares_new(&fixture->shares, &(SharesConfig){}), 0);
        assert_int_equal(reader_new(&fixture->reader, "/nonexistent/perfd.db", NULL, NS_PER_S), 0);
        *state = fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        snapshot_deinit(&fixture->snapshot);
        reader_free(fixture->reader);
        shares_free(fixture->shares);
        buffer_deinit(&fixture->body);
        free(fixture);
        return 0;
}

/* Requests "/path?a=b&c=d". Returns the status. */
static unsigned ask(Fixture *fixture, const char *question, bool has_snapshot) {
        scoped(freep) char *text = strdup(question);
        char *query = text, *path = strsep(&query, "?");
        int r;

        exchange_init(&fixture->exchange, &fixture->body);
        fixture->exchange.sources.snapshot = has_snapshot ? &fixture->snapshot : NULL;
        fixture->exchange.sources.reader = fixture->reader;
        fixture->exchange.sources.shares = fixture->shares;
        fixture->exchange.target.viewer.sees_all = !fixture->is_stranger;
        r = exchange_set_path(&fixture->exchange.target, &fixture->exchange.response, path);
        for (char *parameter; r == 0 && (parameter = strsep(&query, "&"));) {
                char *value = parameter, *name = strsep(&value, "=");

                r = exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, name, value);
        }
        if (r == 0)
                routes_answer(&fixture->exchange);
        return fixture->exchange.response.status;
}

static bool says(const Fixture *fixture, const char *words) {
        return strstr(fixture->body.text, words);
}

static void every_route_is_described_with_its_parameters(void **state) {
        const Route *route;

        (void)state;
        for (size_t i = 0; (route = routes_at(i)); i++) {
                scoped(freep) char *parameters = strdup(route->parameters);
                char path[96], *rest = parameters;
                const char *begin, *end;

                (void)snprintf(path, sizeof(path), "\n    \"%s\": {", route->path);
                begin = strstr(self_subject_openapi, path);
                if (!begin)
                        fail_msg("%s is not in openapi.json", route->path);
                end = strstr(begin, "\n    }");
                assert_non_null(end);

                for (char *name; (name = strsep(&rest, " ")) && *name;) {
                        char reference[96], definition[96];
                        const char *at;

                        (void)snprintf(reference, sizeof(reference), "#/components/parameters/%s\"", name);
                        (void)snprintf(definition, sizeof(definition), "\"name\": \"%s\"", name);
                        at = strstr(begin, reference) && strstr(begin, reference) < end ? begin
                                                                                        : strstr(begin, definition);
                        if (!at || at >= end)
                                fail_msg("%s's parameter %s is not in openapi.json", route->path, name);
                }
        }
}

static void every_described_path_is_a_route(void **state) {
        const char *p = strstr(self_subject_openapi, "\"paths\": {");
        size_t n = 0, n_described = 0;

        (void)state;
        while (routes_at(n))
                n++;
        assert_non_null(p);
        while ((p = strstr(p, "\n    \"/"))) {
                const char *path = p + 6;
                bool is_found = false;

                for (size_t i = 0; i < n; i++) {
                        size_t n_path = strlen(routes_at(i)->path);

                        is_found = is_found || (strncmp(path, routes_at(i)->path, n_path) == 0 && path[n_path] == '"');
                }
                if (!is_found)
                        fail_msg("openapi.json has a path that is no route: %.40s", path);
                n_described++;
                p = path;
        }
        assert_int_equal(n_described, n);
}

/* Returns the number of lists that have the words as their text, which has no blanks. */
static size_t count_lists(const char *text, const char *const *words, size_t n) {
        scoped(buffer_deinit) Buffer list = {};
        size_t n_found = 0;

        for (size_t i = 0; i < n; i++)
                buffer_printf(&list, "%s\"%s\"", i == 0 ? "\"enum\":[" : ",", words[i]);
        buffer_puts(&list, "]");
        assert_int_equal(buffer_error(&list), 0);
        for (const char *at = text; (at = strstr(at, list.text)); at++)
                n_found++;
        return n_found;
}

/* A list in openapi.json that has other words than its table changes a number. */
static void the_words_of_tables_are_described(void **state) {
        const char *isolations[N_ISOLATIONS];
        const struct {
                const char *const *words;
                size_t n, n_lists;
        } tables[] = {
                { judge_verdict_names, N_JUDGE_VERDICTS, 1 },
                { judge_method_names, N_JUDGE_METHODS, 1 },
                { judge_direction_names, N_JUDGE_DIRECTIONS, 2 },
                { history_order_names, N_HISTORY_ORDERS, 2 },
                { job_state_names, N_JOB_STATES, 1 },
                { isolations, N_ISOLATIONS, 1 },
                { sample_disk_class_names, N_DISK_CLASSES, 1 },
                { sample_net_class_names, N_NET_CLASSES, 1 },
        };
        scoped(freep) char *text = strdup(self_subject_openapi);
        char *end = text;
        bool is_in_string = false;

        (void)state;
        for (const char *p = text; *p; p++) {
                is_in_string ^= *p == '"' && (p == text || p[-1] != '\\');
                if (is_in_string || (*p != ' ' && *p != '\n'))
                        *end++ = *p;
        }
        *end = '\0';
        for (Isolation i = 0; i < N_ISOLATIONS; i++)
                isolations[i] = job_isolation_name(i);
        for (size_t i = 0; i < N_ELEMENTS(tables); i++)
                if (count_lists(text, tables[i].words, tables[i].n) != tables[i].n_lists)
                        fail_msg("openapi.json has another list of '%s' …", tables[i].words[0]);
}

/* Returns true if a path matches both. */
static bool overlap(const char *a, const char *b) {
        while (*a == '/' && *b == '/') {
                size_t n_a = strcspn(++a, "/"), n_b = strcspn(++b, "/");

                if (*a != '{' && *b != '{' && (n_a != n_b || strncmp(a, b, n_a) != 0))
                        return false;
                a += n_a;
                b += n_b;
        }
        return *a == *b;
}

static void no_path_has_two_routes(void **state) {
        (void)state;
        assert_true(overlap("/jobs/{id}", "/jobs/all"));
        assert_true(overlap("/a/{b}/c", "/a/{d}/c"));
        assert_false(overlap("/jobs/{id}", "/jobs"));
        assert_false(overlap("/jobs/{id}/samples", "/jobs/{id}/metrics"));
        for (size_t i = 0; routes_at(i); i++)
                for (size_t k = 0; k < i; k++)
                        if (overlap(routes_at(i)->path, routes_at(k)->path))
                                fail_msg("%s and %s overlap", routes_at(i)->path, routes_at(k)->path);
}

static void before_the_first_snapshot_live_numbers_are_unavailable(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/metrics", false), 503);
        assert_true(says(fixture, "has not taken a sample yet"));
        assert_int_equal(ask(fixture, "/api/v1/node", false), 503);
        assert_int_equal(ask(fixture, "/", false), 200);
        assert_int_equal(ask(fixture, "/-/healthy", false), 200);
        assert_int_equal(ask(fixture, "/-/ready", false), 503);
        assert_int_equal(ask(fixture, "/api/v1/openapi.json", false), 200);
}

static void invalid_paths_are_not_found(void **state) {
        static const char *const paths[] = {
                "/metrics/",
                "//metrics",
                "/Metrics",
                "/api",
                "/api/v1",
                "/api/v1/",
                "/api/v1/jobs/",
                "/api/v1/jobs/a/",
                "/api/v1/jobs//metrics",
                "/api/v1/jobs/a/metrics/b",
                "/index.html",
                "/-/",
                "/-/ready/now",
                "/..",
                "/%2e%2e/etc/passwd",
                "/api%2Fv1%2Fnode",
                "/ ",
        };
        Fixture *fixture = *state;

        for (size_t i = 0; i < N_ELEMENTS(paths); i++)
                if (ask(fixture, paths[i], true) != 404)
                        fail_msg("%s is answered with %u", paths[i], fixture->exchange.response.status);
}

static void names_with_odd_characters_are_refused(void **state) {
        static const char *const paths[] = {
                "/api/v1/jobs/%20",
                "/api/v1/jobs/a%2Fb",
                "/api/v1/jobs/%27%3B--/metrics",
                "/api/v1/jobs/%ff/samples",
                "/api/v1/jobs/%0a",
                "/api/v1/indicators/a%20b/results",
                "/api/v1/indicators/%25/results",
                "/api/v1/jobs/a%00b",
                "/api/v1/jobs/%c3%bc",
        };
        Fixture *fixture = *state;

        for (size_t i = 0; i < N_ELEMENTS(paths); i++)
                if (ask(fixture, paths[i], true) != 400)
                        fail_msg("%s is answered with %u", paths[i], fixture->exchange.response.status);
}

static void unknown_and_repeated_parameters_are_named(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/api/v1/jobs?limt=5", true), 400);
        assert_true(says(fixture, "'limt'"));
        assert_true(says(fixture, "limit"));
        assert_int_equal(ask(fixture, "/api/v1/node?x=1", true), 400);
        assert_true(says(fixture, "available: none"));
        assert_int_equal(ask(fixture, "/api/v1/jobs?limit=5&limit=6", true), 400);
        assert_true(says(fixture, "'limit' is given more than once"));
        assert_int_equal(ask(fixture, "/metrics?collect=node", true), 400);
        assert_int_equal(ask(fixture, "/api/v1/jobs?=5", true), 400);
}

static void invalid_values_are_named_with_the_expected_ones(void **state) {
        static const struct {
                const char *question, *words;
        } cases[] = {
                { "/metrics?collect[]=cpu", "must be one of: node, percpu, self, jobs, kpis; not 'cpu'" },
                { "/api/v1/jobs?limit=1001", "from 1 to 1000" },
                { "/api/v1/jobs?since_ms=yesterday", "'since_ms'" },
                { "/api/v1/jobs?state=done", "running, finished or interrupted" },
                { "/api/v1/jobs?page=2", "'next'" },
                { "/api/v1/jobs?sort=name", "begin, duration, cpus or memory" },
                { "/api/v1/jobs?sort=-", "begin, duration, cpus or memory" },
                { "/api/v1/jobs?pipeline=maybe", "'pipeline'" },
                { "/api/v1/node/samples?step_ms=0", "'step_ms'" },
                { "/api/v1/node/samples?until_ms=-1", "'until_ms'" },
                { "/api/v1/node/samples?limit=0", "'limit'" },
                { "/api/v1/jobs/a/metrics?compat=maybe", "'compat'" },
                { "/api/v1/jobs/a/metrics?names=pretty", "one of sanitised, raw" },
                { "/api/v1/jobs/a/metrics?scope=cgroup", "node or job, not 'cgroup'" },
                { "/api/v1/indicators/a/results?page=zz", "'page'" },
        };
        Fixture *fixture = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                if (ask(fixture, cases[i].question, true) != 400 || !says(fixture, cases[i].words))
                        fail_msg("%s is answered with %s", cases[i].question, fixture->body.text);
        }
}

static void routes_that_need_the_store_report_read_errors(void **state) {
        static const char *const questions[] = {
                "/api/v1/jobs",         "/api/v1/indicators",   "/api/v1/indicators/a/results",
                "/api/v1/node/samples", "/api/v1/jobs/unknown", "/api/v1/jobs/job-0/samples",
        };
        Fixture *fixture = *state;

        for (size_t i = 0; i < N_ELEMENTS(questions); i++)
                if (ask(fixture, questions[i], true) != 503 || !says(fixture, "store"))
                        fail_msg("%s is answered with %s", questions[i], fixture->body.text);
}

static void a_running_job_is_answered_without_the_store(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/api/v1/jobs/job-1", true), 200);
        assert_true(says(fixture, "\"id\":\"job-1\""));
        assert_true(says(fixture, "\"state\":\"running\""));
        assert_true(says(fixture, "\"end_ms\":null"));
        assert_true(says(fixture, "\"quality\":\"exact\""));

        assert_int_equal(ask(fixture, "/api/v1/jobs/job-1/metrics?key=max_t_mem_percent", true), 200);
        assert_string_equal(fixture->body.text,
                            "{\"metrics\":[{\"key\":\"max_t_mem_percent\",\"value\":1033.3333333333335,"
                            "\"timestamp\":1763676000000,\"step\":1}]}");
}

static void metrics_are_served_under_both_paths(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0/metrics?compat=1&names=raw", true), 200);
        assert_true(says(fixture, "\"key\":\"max_t_(mem_percent)\",\"value\":50.5"));
        assert_false(says(fixture, "duration_seconds"));
        assert_int_equal(
                ask(fixture, "/api/v1/jobs/job-0/metrics?compat=1&names=sanitised&key=max_t_(mem_percent)", true), 200);
        assert_true(says(fixture, "[{\"key\":\"max_t_mem_percent\",\"value\":50.5,"));
        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0/metrics?key=nothing", true), 200);
        assert_string_equal(fixture->body.text, "{\"metrics\":[]}");
}

static void the_jobs_own_metrics_come_after_the_nodes(void **state) {
        const char *own, *last;
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0", true), 200);
        own = strstr(fixture->body.text, "{\"key\":\"job_cpus_given\",\"value\":0.6666666666666666,");
        last = strstr(fixture->body.text, "{\"key\":\"unobserved_seconds\",");
        assert_true(last && own > last);
        assert_true(says(fixture, "\"unit\":\"cpus\",\"quality\":\"exact\",\"scope\":\"job\"}"));
        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0/metrics", true), 200);
        assert_true(says(fixture, "\"job_cpus_given\"") && says(fixture, "\"duration_seconds\""));
}

static void the_gpus_of_a_job_have_metrics_and_members(void **state) {
        Fixture *fixture = *state;
        JobGpu gpu = { .name = "3", .have = 1U << GPU_present_us | 1U << GPU_utilized_us, .total_us = 2000000,
                       .values = { [GPU_present_us] = 2000000, [GPU_utilized_us] = 500000 } };

        fixture->snapshot.jobs.records[0].gpus = (JobGpus){ &gpu, 1 };
        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0", true), 200);
        assert_true(says(fixture, "{\"key\":\"gpu_3_utilization_percentage\",\"value\":25.0,"
                                  "\"timestamp\":1763676000000,\"step\":0,"
                                  "\"unit\":\"%\",\"quality\":\"sampled\",\"scope\":\"job\"}"));
        assert_true(says(fixture, "\"gpus\":[{\"gpu\":\"3\",\"uuid\":null,"));
        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0/metrics?key=gpu_3_utilization_percentage", true), 200);
        assert_string_equal(fixture->body.text, "{\"metrics\":[{\"key\":\"gpu_3_utilization_percentage\","
                                                "\"value\":25.0,\"timestamp\":1763676000000,\"step\":0}]}");
        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0/metrics?scope=node", true), 200);
        assert_false(says(fixture, "gpu_3"));
}

static void one_scope_can_be_chosen(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0/metrics?scope=node", true), 200);
        assert_true(says(fixture, "\"duration_seconds\""));
        assert_false(says(fixture, "\"job_"));
        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0/metrics?scope=job", true), 200);
        assert_true(says(
                fixture,
                "{\"metrics\":[{\"key\":\"job_cpus_given\",\"value\":0.6666666666666666,\"timestamp\":1763676000000,"
                "\"step\":0}"));
        assert_false(says(fixture, "\"duration_seconds\""));
        assert_int_equal(ask(fixture, "/api/v1/jobs/job-0/metrics?scope=job&compat=1", true), 200);
        assert_string_equal(fixture->body.text, "{\"metrics\":[]}");
}

static void absent_metrics_of_the_node_come_with_a_reason(void **state) {
        Fixture *fixture = *state;

        fixture->snapshot.node.sample.have &= ~(1U << SOURCE_LOADAVG);
        (void)snprintf(fixture->snapshot.node.sampler.error[SOURCE_LOADAVG],
                       sizeof(fixture->snapshot.node.sampler.error[0]), "%s", "proc/loadavg: Permission denied");
        assert_int_equal(ask(fixture, "/api/v1/node", true), 200);
        assert_true(
                says(fixture, "\"absent\":[{\"key\":\"max_t_cpu_pct_per_cpu_avg\",\"scope\":\"node\",\"reason\":\""));
        assert_true(says(fixture, "\"load\":null"));
        assert_true(says(fixture, "\"up\":false,\"failures\":0,\"error\":\"proc/loadavg: Permission denied\""));
}

static void quotas_name_the_users_and_their_shares(void **state) {
        const SharesConfig config = { .limits = { [RESOURCE_JOBS] = 100, [RESOURCE_QUERIES] = 10 } };
        const Owner host = { .type = OWNER_ADDRESS, .address = { [10] = 0xff, 0xff, 192, 0, 2, 7 } };
        Fixture *fixture = *state;
        ShareAccount *user, *far;
        Charge jobs, none;

        shares_configure(fixture->shares, &config);
        user = shares_open_account(fixture->shares, &OWNER_OF_UID(1234));
        far = shares_open_account(fixture->shares, &host);
        assert_int_equal(shares_charge(user, RESOURCE_JOBS, 7, &jobs), 0);
        assert_int_equal(shares_charge(far, RESOURCE_QUERIES, 1000, &none), SHARES_REFUSED);

        assert_int_equal(ask(fixture, "/api/v1/quota", true), 200);
        assert_non_null(strstr(fixture->body.text,
                               "{\"name\":\"jobs\",\"unit\":\"running jobs\",\"limit\":100,\"held\":7,\"users\":1,"));
        assert_non_null(strstr(fixture->body.text, "\"user\":\"192.0.2.7\",\"uid\":null,\"administrator\":false"));
        assert_non_null(strstr(fixture->body.text, "\"user\":\"uid 1234\",\"uid\":1234"));

        assert_int_equal(ask(fixture, "/api/v1/quota?uid=99", true), 200);
        assert_null(strstr(fixture->body.text, "192.0.2.7"));
        assert_non_null(strstr(fixture->body.text, "\"uid\":99"));
        assert_non_null(strstr(fixture->body.text, "\"refused_last_ms\":null"));
        assert_int_equal(ask(fixture, "/api/v1/quota?uid=root", true), 400);

        shares_release(&jobs);
        shares_close_account(user);
        shares_close_account(far);
}

static void only_chosen_collectors_answer(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/metrics", true), 200);
        assert_true(says(fixture, "perfd_node_load1") && says(fixture, "perfd_job_info") &&
                    says(fixture, "perfd_build_info"));
        assert_false(says(fixture, "perfd_node_cpu_core_seconds"));
        assert_int_equal(ask(fixture, "/metrics?collect[]=percpu&collect%5B%5D=self", true), 200);
        assert_false(says(fixture, "perfd_node_load1") || says(fixture, "perfd_job_info"));
        assert_true(says(fixture, "perfd_node_cpu_core_seconds") && says(fixture, "perfd_build_info"));
}

static void a_job_has_a_web_page(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, "/jobs/job-1", true), 200);
        assert_int_equal(fixture->exchange.response.type, CONTENT_HTML);
        assert_true(says(fixture, "<base href=\"../\">"));
        assert_int_equal(ask(fixture, "/jobs/unknown", true), 503);
        assert_int_equal(ask(fixture, "/jobs/a%20b", true), 400);
        assert_int_equal(ask(fixture, "/jobs/", true), 404);
}

static void a_stranger_sees_a_job_without_its_command(void **state) {
        static const char *const paths[] = { "/api/v1/jobs/job-1", "/metrics" };
        Fixture *fixture = *state;

        fixture->is_stranger = true;
        fixture->snapshot.jobs.records[1].info.command = "./train --token s3cret";
        for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
                assert_int_equal(ask(fixture, paths[i], true), 200);
                if (says(fixture, "s3cret"))
                        fail_msg("%s tells the command to a stranger", paths[i]);
        }
        assert_int_equal(ask(fixture, "/api/v1/jobs/job-1", true), 200);
        assert_true(says(fixture, "\"hidden\":{\"command\":\"" PRIVACY_REASON "\"}"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(every_route_is_described_with_its_parameters, setup, teardown),
                cmocka_unit_test_setup_teardown(every_described_path_is_a_route, setup, teardown),
                cmocka_unit_test(the_words_of_tables_are_described),
                cmocka_unit_test_setup_teardown(no_path_has_two_routes, setup, teardown),
                cmocka_unit_test_setup_teardown(before_the_first_snapshot_live_numbers_are_unavailable, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(invalid_paths_are_not_found, setup, teardown),
                cmocka_unit_test_setup_teardown(names_with_odd_characters_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(unknown_and_repeated_parameters_are_named, setup, teardown),
                cmocka_unit_test_setup_teardown(invalid_values_are_named_with_the_expected_ones, setup, teardown),
                cmocka_unit_test_setup_teardown(routes_that_need_the_store_report_read_errors, setup, teardown),
                cmocka_unit_test_setup_teardown(a_running_job_is_answered_without_the_store, setup, teardown),
                cmocka_unit_test_setup_teardown(metrics_are_served_under_both_paths, setup, teardown),
                cmocka_unit_test_setup_teardown(the_jobs_own_metrics_come_after_the_nodes, setup, teardown),
                cmocka_unit_test_setup_teardown(the_gpus_of_a_job_have_metrics_and_members, setup, teardown),
                cmocka_unit_test_setup_teardown(one_scope_can_be_chosen, setup, teardown),
                cmocka_unit_test_setup_teardown(absent_metrics_of_the_node_come_with_a_reason, setup, teardown),
                cmocka_unit_test_setup_teardown(quotas_name_the_users_and_their_shares, setup, teardown),
                cmocka_unit_test_setup_teardown(only_chosen_collectors_answer, setup, teardown),
                cmocka_unit_test_setup_teardown(a_job_has_a_web_page, setup, teardown),
                cmocka_unit_test_setup_teardown(a_stranger_sees_a_job_without_its_command, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
