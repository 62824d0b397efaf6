/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/jobs/job_json.h"
#include "snapshot_fixture.h"

typedef struct Fixture {
        Snapshot snapshot;
        JobView view; /* of the only job in the snapshot */
        JobView *job;
        Buffer out;
        Json json;
} Fixture;

static const Viewer everybody = { .sees_all = true };

static int setup(void **state) {
        const SnapshotSize size = { .n_cpus = 4, .n_disks = 1, .n_nets = 1, .n_filesystems = 1, .n_jobs = 1 };
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        fixture_fill(&fixture->snapshot, &size);
        fixture->view = fixture_view(&fixture->snapshot, 0);
        fixture->job = &fixture->view;
        fixture->json = (Json){ .out = &fixture->out };
        json_object_begin(&fixture->json);
        *state = fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        snapshot_deinit(&fixture->snapshot);
        buffer_deinit(&fixture->out);
        free(fixture);
        return 0;
}

static bool says(Fixture *fixture, const char *words) {
        return strstr(fixture->out.text, words);
}

static void what_was_not_given_is_null(void **state) {
        Fixture *fixture = *state;

        fixture->job->info.rank = -1;
        job_json_write_identity(&fixture->json, fixture->job, &everybody);
        assert_true(says(fixture, "\"rank\":null,\"ranks\":null,\"node_index\":null,\"nodes\":null,"));
        assert_true(says(fixture, "\"isolation\":\"none\",\"cgroup\":null,"));
        assert_true(says(fixture, "\"end_ms\":null"));
        assert_true(says(fixture, "\"exit\":null,\"rusage\":null"));
}

static void the_place_in_the_run_and_the_cgroup_are_written(void **state) {
        Fixture *fixture = *state;

        fixture->job->info.rank = 5;
        fixture->job->info.node = 1;
        fixture->job->info.n_nodes = 2;
        fixture->job->info.n_ranks = 8;
        fixture->job->info.isolation = ISOLATION_SCOPE;
        fixture->job->info.cgroup = "/user.slice/a \"b\"\n\\x2d.scope";
        job_json_write_identity(&fixture->json, fixture->job, &everybody);
        assert_true(says(fixture, "\"rank\":5,\"ranks\":8,\"node_index\":1,\"nodes\":2,\"isolation\":\"scope\","
                                  "\"cgroup\":\"/user.slice/a \\\"b\\\"\\n\\\\x2d.scope\","));
}

static void the_command_is_for_the_jobs_user(void **state) {
        Fixture *fixture = *state;
        const Viewer user = { .has_uid = true, .uid = 1000 }, other = { .has_uid = true, .uid = 1001 };

        fixture->job->info.command = "./train --token s3cret";
        fixture->job->info.uid = 1000;
        job_json_write_identity(&fixture->json, fixture->job, &user);
        assert_true(says(fixture, "\"command\":\"./train --token s3cret\",\"hidden\":{},"));

        buffer_clear(&fixture->out);
        job_json_write_identity(&fixture->json, fixture->job, &other);
        assert_false(says(fixture, "s3cret"));
        assert_true(says(fixture, "\"command\":null,\"hidden\":{\"command\":\"" PRIVACY_REASON "\"},"));

        buffer_clear(&fixture->out);
        fixture->job->info.command = "";
        job_json_write_identity(&fixture->json, fixture->job, &other);
        assert_true(says(fixture, "\"command\":\"\",\"hidden\":{},"));
}

static void limits_are_the_effective_limits(void **state) {
        Fixture *fixture = *state;

        fixture->job->usage.value[USAGE_CPU_GIVEN] = 1.5;
        fixture->job->usage.value[USAGE_MEMORY_LIMIT] = 4294967296;
        job_json_write_limits(&fixture->json, &fixture->job->usage);
        assert_string_equal(fixture->out.text, "{\"limits\":{\"cpus\":1.5,\"memory_bytes\":4294967296}");

        fixture->job->usage.quality[USAGE_CPU_GIVEN] = QUALITY_NO_GROUP;
        fixture->job->usage.quality[USAGE_MEMORY_LIMIT] = QUALITY_NO_LIMIT;
        job_json_write_limits(&fixture->json, &fixture->job->usage);
        assert_true(says(fixture, ",\"limits\":{\"cpus\":null,\"memory_bytes\":null}"));
}

static void the_node_is_as_it_was_sampled(void **state) {
        Fixture *fixture = *state;

        job_json_write_node(&fixture->json, &fixture->snapshot.node);
        assert_string_equal(fixture->out.text,
                            "{\"on\":{\"hostname\":\"node<7>\",\"cpus\":4,\"memory_bytes\":68719476736,"
                            "\"interval_ms\":1000,\"cpu_interval_ms\":1000,\"time_ms\":1763676000000}");

        fixture->snapshot.node.sample.have = 0;
        job_json_write_node(&fixture->json, &fixture->snapshot.node);
        assert_true(
                says(fixture,
                     ",\"on\":{\"hostname\":\"node<7>\",\"cpus\":null,\"memory_bytes\":null,\"interval_ms\":1000,"));
        job_json_write_node(&fixture->json, NULL);
        assert_true(says(fixture, ",\"on\":{\"hostname\":null,\"cpus\":null,\"memory_bytes\":null,\"interval_ms\":null"
                                  ",\"cpu_interval_ms\":null,\"time_ms\":null}"));
}

static void advice_comes_with_its_rule(void **state) {
        Fixture *fixture = *state;
        const JobGpus none = {};

        memset(fixture->job->usage.quality, QUALITY_NO_GROUP, sizeof(fixture->job->usage.quality));
        memset(fixture->job->metrics.quality, QUALITY_TOO_SHORT, sizeof(fixture->job->metrics.quality));
        job_json_write_advice(&fixture->json, fixture->job, &none, &fixture->snapshot.node);
        assert_string_equal(fixture->out.text, "{\"advice\":[]");

        fixture->job->usage.quality[USAGE_OOM_KILLS] = QUALITY_EXACT;
        fixture->job->usage.value[USAGE_OOM_KILLS] = 2;
        job_json_write_advice(&fixture->json, fixture->job, &none, NULL);
        assert_true(says(fixture, ",\"advice\":[{\"rule\":\"oom-killed\",\"text\":\"2 processes "));
}

static void unknown_numbers_are_null_and_not_missing(void **state) {
        Fixture *fixture = *state;

        job_json_write_no_numbers(&fixture->json);
        assert_string_equal(fixture->out.text, "{\"metrics\":[],\"absent\":[],\"compat\":[],\"advice\":[],"
                                               "\"limits\":{\"cpus\":null,\"memory_bytes\":null}");
}

static void labels_are_an_object(void **state) {
        const DescriptionLabel labels[] = { { "a", "1" }, { "b", "\"" } };
        JobView view = { .info = { .command = "", .labels = labels, .n_labels = N_ELEMENTS(labels) } };
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };

        (void)state;
        json_object_begin(&json);
        job_json_write_identity(&json, &view, &everybody);
        assert_non_null(strstr(out.text, ",\"labels\":{\"a\":\"1\",\"b\":\"\\\"\"}"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_was_not_given_is_null, setup, teardown),
                cmocka_unit_test_setup_teardown(the_place_in_the_run_and_the_cgroup_are_written, setup, teardown),
                cmocka_unit_test_setup_teardown(the_command_is_for_the_jobs_user, setup, teardown),
                cmocka_unit_test_setup_teardown(limits_are_the_effective_limits, setup, teardown),
                cmocka_unit_test_setup_teardown(the_node_is_as_it_was_sampled, setup, teardown),
                cmocka_unit_test_setup_teardown(advice_comes_with_its_rule, setup, teardown),
                cmocka_unit_test_setup_teardown(unknown_numbers_are_null_and_not_missing, setup, teardown),
                cmocka_unit_test(labels_are_an_object),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
