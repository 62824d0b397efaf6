/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/table/steps.c lib/job/job_steps.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "jobs/table/steps.h"
#include "tree.h"

#define SCOPE "/system.slice/slurmstepd.scope/job_42"
#define JOB_V1 "cpuacct:/slurm/uid_1000/job_42"
#define NOW UINT64_C(1000000000)

typedef struct Fixture {
        char root[64];
        CgroupTree *tree;
        Steps *steps;
} Fixture;

static void begin(Fixture *f, const char *tree) {
        tree_copy(tree, f->root);
        assert_int_equal(cgroup_tree_new(&f->tree, f->root), 0);
}

static void end(Fixture *f) {
        steps_free(f->steps);
        cgroup_tree_free(f->tree);
        tree_remove(f->root);
}

static void find_and_read(Fixture *f, const char *group, uint64_t now_ms) {
        steps_find(&f->steps, f->tree, group, now_ms);
        steps_read(f->steps, NOW + now_ms, now_ms);
}

static JobStep *find(const Steps *steps, const char *name) {
        for (size_t i = 0; i < steps->list.n; i++)
                if (strcmp(steps->list.items[i].name, name) == 0)
                        return &steps->list.items[i];
        return NULL;
}

static void the_steps_of_v2_have_numbers_of_their_own(void **state) {
        Fixture f = {};

        (void)state;
        begin(&f, "cgroup-v2");
        assert_false(steps_may_grow(f.steps, 1000));
        find_and_read(&f, SCOPE, 1000);
        assert_int_equal(f.steps->list.n, 3);
        assert_int_equal(find(f.steps, "0")->cpu_us, 110000000);
        assert_int_equal(find(f.steps, "0")->memory_peak_bytes, 2130706432);
        assert_int_equal(find(f.steps, "batch")->read_bytes, 20000);
        assert_int_equal(find(f.steps, "extern")->begin_ms, 1000);
        assert_int_equal(find(f.steps, "extern")->end_ms, 0);

        tree_write(f.root, "sys/fs/cgroup" SCOPE "/step_0/cpu.stat",
                   "usage_usec 110500000\nuser_usec 1\nsystem_usec 2\n");
        steps_read(f.steps, NOW * 10, 2000);
        assert_int_equal(find(f.steps, "0")->cpu_us, 110500000);
        end(&f);
}

static void the_steps_of_v1_are_those_of_all_hierarchies(void **state) {
        Fixture f = {};
        char step[256], later[128];

        (void)state;
        begin(&f, "cgroup-v1");
        (void)snprintf(step, sizeof(step), "%s/sys/fs/cgroup/memory/slurm/uid_1000/job_42/step_0", f.root);
        (void)snprintf(later, sizeof(later), "%s/later", f.root);
        assert_int_equal(rename(step, later), 0);
        find_and_read(&f, JOB_V1, 1000);
        assert_int_equal(find(f.steps, "0")->cpu_us, 90000000);
        assert_int_equal(find(f.steps, "0")->have, 1U << CGROUP_CPU | 1U << CGROUP_IO);
        assert_int_equal(find(f.steps, "batch")->memory_peak_bytes, 20000);
        assert_true(steps_may_grow(f.steps, 1000 + STEPS_GROW_MS));
        assert_false(steps_may_grow(f.steps, 1001 + STEPS_GROW_MS));

        assert_int_equal(rename(later, step), 0);
        find_and_read(&f, JOB_V1, 2000);
        assert_false(steps_may_grow(f.steps, 2000));
        assert_int_equal(f.steps->list.n, 2);
        assert_int_equal(find(f.steps, "0")->memory_peak_bytes, 80000);
        assert_int_equal(find(f.steps, "0")->begin_ms, 1000);
        end(&f);
}

static void a_job_without_steps_has_none(void **state) {
        Fixture f = {};

        (void)state;
        begin(&f, "slurm-v2");
        find_and_read(&f, "/system.slice/slurmstepd.scope/job_44", 1000);
        find_and_read(&f, "/system.slice/slurmstepd.scope/job_99", 1000);
        find_and_read(&f, "/", 1000);
        assert_null(f.steps);
        end(&f);
}

/* A step that is not found again has ended when perfd did not run. */
static void a_restart_continues_with_the_steps(void **state) {
        JobStep items[] = {
                { .name = "0", .n_steps = 1, .begin_ms = 500, .seen_ms = 600, .cpu_us = 7 },
                { .name = "gone", .n_steps = 1, .begin_ms = 300, .seen_ms = 400, .cpu_us = 9, .have = 1U << CGROUP_CPU },
        };
        const JobSteps before = { items, 2, { .n_steps = 3, .cpu_us = 11 } };
        Fixture f = {};

        (void)state;
        begin(&f, "cgroup-v2");
        find_and_read(&f, SCOPE, 500);
        items[0].group_id = find(f.steps, "0")->group_id;
        f.steps = steps_free(f.steps);

        assert_int_equal(steps_restore(&f.steps, &before), 0);
        find_and_read(&f, SCOPE, 1000);
        assert_int_equal(f.steps->list.n, 4);
        assert_int_equal(find(f.steps, "0")->begin_ms, 500);
        assert_int_equal(find(f.steps, "0")->cpu_us, 110000000);
        assert_int_equal(find(f.steps, "gone")->cpu_us, 9);
        assert_int_equal(find(f.steps, "gone")->end_ms, 1000);
        assert_int_equal(find(f.steps, "gone")->unseen_ms, 600);
        assert_int_equal(f.steps->list.others.cpu_us, 11);
        end(&f);

        f.steps = NULL;
        assert_int_equal(steps_restore(&f.steps, &(JobSteps){}), 0);
        assert_null(f.steps);
}

static void make_steps(const Fixture *f, unsigned n) {
        char path[256];

        for (unsigned i = 0; i < n; i++) {
                (void)snprintf(path, sizeof(path), "%s/sys/fs/cgroup" SCOPE "/step_1%03u", f->root, i);
                assert_int_equal(mkdir(path, 0755), 0);
                (void)snprintf(path, sizeof(path), "sys/fs/cgroup" SCOPE "/step_1%03u/cpu.stat", i);
                tree_write(f->root, path, "usage_usec 5\nuser_usec 2\nsystem_usec 3\n");
        }
}

static void no_more_steps_are_kept_than_the_limit(void **state) {
        JobStep items[JOB_STEPS_MAX];
        JobSteps full = { items, JOB_STEPS_MAX, {} };
        Fixture f = {};

        (void)state;
        begin(&f, "cgroup-v2");
        make_steps(&f, JOB_STEPS_MAX);
        find_and_read(&f, SCOPE, 1000);
        assert_int_equal(f.steps->list.n, JOB_STEPS_MAX); /* none has ended: three are not followed */
        assert_int_equal(f.steps->list.others.n_steps, 0);
        f.steps = steps_free(f.steps);

        for (unsigned i = 0; i < JOB_STEPS_MAX; i++) {
                items[i] = (JobStep){ .n_steps = 1, .begin_ms = 100 + i, .end_ms = 200 + i, .unseen_ms = 1,
                                      .have = 1U << CGROUP_CPU, .cpu_us = 50 - i, .memory_peak_bytes = i,
                                      .read_bytes = 1, .written_bytes = 2 };
                (void)snprintf(items[i].name, sizeof(items[i].name), "%u", 5000 + i);
        }
        assert_int_equal(steps_restore(&f.steps, &full), 0);
        find_and_read(&f, SCOPE, 1000);
        assert_int_equal(f.steps->list.n, JOB_STEPS_MAX);
        assert_int_equal(f.steps->list.others.n_steps, JOB_STEPS_MAX); /* each made room for a new one */
        assert_int_equal(f.steps->list.others.begin_ms, 100);
        assert_int_equal(f.steps->list.others.end_ms, 200 + JOB_STEPS_MAX - 1);
        assert_int_equal(f.steps->list.others.memory_peak_bytes, JOB_STEPS_MAX - 1);
        assert_int_equal(f.steps->list.others.written_bytes, 2 * JOB_STEPS_MAX);
        end(&f);
}

static void names_that_are_too_long_are_left_out(void **state) {
        char path[512], name[JOB_STEP_NAME_MAX + 1];
        Fixture f = {};

        (void)state;
        begin(&f, "cgroup-v2");
        memset(name, '7', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        (void)snprintf(path, sizeof(path), "%s/sys/fs/cgroup" SCOPE "/step_%s", f.root, name);
        assert_int_equal(mkdir(path, 0755), 0);
        find_and_read(&f, SCOPE, 1000);
        assert_int_equal(f.steps->list.n, 3);
        end(&f);
}

/* --- texts -------------------------------------------------------------------------------------------- */

static void json_has_the_steps_then_the_rest(void **state) {
        JobStep items[] = { { .name = "0", .n_steps = 1, .have = 1U << CGROUP_CPU, .begin_ms = 5, .end_ms = 9,
                              .unseen_ms = 500, .cpu_us = 1500000 } };
        const JobSteps steps = {
                items, 1, { .n_steps = 2, .have = 1U << CGROUP_IO, .begin_ms = 1, .end_ms = 2, .read_bytes = 7 }
        };
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };
        UsageSet usage = {};

        (void)state;
        usage.value[USAGE_CPU_SECONDS] = 2;
        usage.quality[USAGE_CPU_SECONDS] = QUALITY_EXACT;
        json_object_begin(&json);
        job_steps_write_json(&steps, &usage, 20, &json);
        json_object_end(&json);
        assert_string_equal(out.text,
                            "{\"steps\":[{\"kind\":\"step\",\"name\":\"0\",\"n_steps\":1,\"begin_ms\":5,\"end_ms\":9,"
                            "\"unobserved_seconds\":0.5,\"cpu_seconds\":1.5,\"memory_peak_bytes\":null,"
                            "\"read_bytes\":null,\"written_bytes\":null},"
                            "{\"kind\":\"other\",\"name\":null,\"n_steps\":2,\"begin_ms\":1,\"end_ms\":2,"
                            "\"unobserved_seconds\":0.0,\"cpu_seconds\":null,\"memory_peak_bytes\":null,"
                            "\"read_bytes\":7.0,\"written_bytes\":0.0},"
                            "{\"kind\":\"rest\",\"name\":null,\"cpu_seconds\":0.5,\"memory_peak_bytes\":null,"
                            "\"read_bytes\":null,\"written_bytes\":null}]}");
}

static void a_step_that_runs_ends_with_its_job(void **state) {
        JobStep items[] = { { .name = "0", .n_steps = 1 } };
        const JobSteps steps = { items, 1, {} };
        scoped(buffer_deinit) Buffer running = {}, ended = {};
        Json json = { .out = &running }, other = { .out = &ended };
        UsageSet usage = {};

        (void)state;
        json_object_begin(&json);
        job_steps_write_json(&steps, &usage, 0, &json);
        assert_non_null(strstr(running.text, "\"end_ms\":null"));
        json_object_begin(&other);
        job_steps_write_json(&steps, &usage, 20, &other);
        assert_non_null(strstr(ended.text, "\"end_ms\":20"));
}

static void the_record_round_trips(void **state) {
        JobStep items[] = { { .name = "batch", .n_steps = 1, .have = 1U << CGROUP_IO, .group_id = 3, .begin_ms = 4,
                              .seen_ms = 5, .end_ms = 6, .unseen_ms = 1, .cpu_us = 7, .memory_peak_bytes = 8,
                              .read_bytes = 9, .written_bytes = 10 } };
        const JobSteps steps = { items, 1, { .n_steps = 2 } };
        scoped(freep) char *text = NULL;
        JobSteps parsed;

        (void)state;
        assert_int_equal(record_format(&job_steps_record, &steps, &text), 0);
        assert_int_equal(record_parse(&job_steps_record, text, &parsed), 0);
        assert_int_equal(parsed.n, 1);
        assert_memory_equal(&parsed.items[0], &items[0], sizeof(items[0]));
        assert_int_equal(parsed.others.n_steps, 2);
        record_deinit(&job_steps_record, &parsed);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_steps_of_v2_have_numbers_of_their_own),
                cmocka_unit_test(the_steps_of_v1_are_those_of_all_hierarchies),
                cmocka_unit_test(a_job_without_steps_has_none),
                cmocka_unit_test(a_restart_continues_with_the_steps),
                cmocka_unit_test(no_more_steps_are_kept_than_the_limit),
                cmocka_unit_test(names_that_are_too_long_are_left_out),
                cmocka_unit_test(json_has_the_steps_then_the_rest),
                cmocka_unit_test(a_step_that_runs_ends_with_its_job),
                cmocka_unit_test(the_record_round_trips),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
