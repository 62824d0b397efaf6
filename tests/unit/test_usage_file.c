/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/table/usage_file.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs/table/jobs.h"
#include "jobs/table/usage_file.h"
#include "json/record.h"

typedef struct Fixture {
        char directory[64], path[96];
        UsageFile counters;
        Jobs jobs;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        strcpy(f->directory, "/tmp/perfd-jobs-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        (void)snprintf(f->path, sizeof(f->path), "%s/account.jobs", f->directory);
        assert_int_equal(usage_file_open(&f->counters, f->path, "a-boot"), 0);
        assert_int_equal(jobs_init(&f->jobs), 0);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        jobs_deinit(&f->jobs);
        usage_file_deinit(&f->counters);
        (void)unlink(f->path);
        assert_int_equal(rmdir(f->directory), 0);
        free(f);
        return 0;
}

static void reopen(Fixture *f, const char *boot_id) {
        usage_file_deinit(&f->counters);
        assert_int_equal(usage_file_open(&f->counters, f->path, boot_id), 0);
}

/* Adds a job with a different value in each counter. */
static Job *add(Fixture *f, const char *id, uint64_t begin_ms) {
        JobInfo info = { .rank = -1, .node = -1 };
        uint64_t value = 0;
        Job *job;

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        assert_int_equal(jobs_add(&f->jobs, &info, &(Totals){}, &job), 0);
        job->begin_realtime_ms = begin_ms;
        job->group.id = 77;
        job->group.usage = calloc(1, sizeof(*job->group.usage));
        assert_non_null(job->group.usage);
        *job->group.usage = (Usage){
                .is_fresh = true, .unseen_us = 5, .seen = 6, .memory_max_bytes = 7, .pids_max = 8
        };
        job->group.usage->begin = (CgroupSample){ .boottime_ns = 10, .have = 11, .n_cpus = 12 };
        job->group.usage->last = (CgroupSample){ .boottime_ns = begin_ms, .have = 21, .n_cpus = 22 };
#define X(member, ...)                                            \
        job->group.usage->begin.member = UINT64_MAX - value++; \
        job->group.usage->last.member = value++;
        CGROUP_VALUES(X)
#undef X
        return job;
}

static void counters_continue_after_any_end(void **state) {
        Fixture *f = *state;
        Job *job = add(f, "job", 1000);
        FormerUsage group;

        (void)add(f, "job2", 2000);
        usage_file_write(&f->counters, f->jobs.first);
        assert_false(usage_file_find(&f->counters, "job", 1000, &group)); /* the former perfd wrote nothing */
        reopen(f, "a-boot");
        assert_true(usage_file_find(&f->counters, "job", 1000, &group));
        assert_int_equal(group.id, 77);
        assert_false(group.is_usage_cut);
        assert_memory_equal(&group.usage, job->group.usage, sizeof(group.usage));
        assert_true(usage_file_find(&f->counters, "job2", 2000, &group));
        assert_int_equal(group.usage.last.boottime_ns, 2000);
        assert_false(usage_file_find(&f->counters, "job", 1001, &group)); /* another job of the same name */
        assert_false(usage_file_find(&f->counters, "jo", 1000, &group));
        usage_file_forget(&f->counters);
        assert_false(usage_file_find(&f->counters, "job", 1000, &group));
}

/* All that a checkpoint has, apart from the rate and its base. */
static void every_number_of_a_checkpoint_is_kept(void **state) {
        scoped(freep) char *put = NULL, *found = NULL;
        Fixture *f = *state;
        Usage *usage = add(f, "job", 1000)->group.usage;
        FormerUsage group;

        memset(usage, 1, sizeof(*usage));
        usage_file_write(&f->counters, f->jobs.first);
        reopen(f, "a-boot");
        assert_true(usage_file_find(&f->counters, "job", 1000, &group));

        usage->has_cpu_max = false;
        usage->cpu_max = 0;
        usage->cpu_base = (UsageCpuBase){};
        assert_int_equal(record_format(&usage_record, usage, &put), 0);
        assert_int_equal(record_format(&usage_record, &group.usage, &found), 0);
        assert_string_equal(put, found);
}

static void another_boot_has_no_counters(void **state) {
        Fixture *f = *state;
        FormerUsage group;

        (void)add(f, "job", 1000);
        usage_file_write(&f->counters, f->jobs.first);
        reopen(f, "another-boot");
        assert_false(usage_file_find(&f->counters, "job", 1000, &group));
}

static void ended_jobs_leave_the_file(void **state) {
        Fixture *f = *state;
        Job *job = add(f, "job", 1000);
        FormerUsage group;

        usage_file_write(&f->counters, f->jobs.first);
        jobs_remove(&f->jobs, job);
        usage_file_write(&f->counters, f->jobs.first);
        reopen(f, "a-boot");
        assert_false(usage_file_find(&f->counters, "job", 1000, &group));
}

static void jobs_work_without_a_file(void **state) {
        Fixture *f = *state;
        UsageFile counters = {};

        (void)add(f, "job", 1000);
        assert_true(usage_file_open(&counters, "/nonexistent/account.jobs", "a-boot") < 0);
        usage_file_write(&counters, f->jobs.first);
        assert_int_equal(counters.n_text, 0);
        usage_file_deinit(&counters);
}

#define KEPT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void no_job_is_left_in_the_file(void **state) {
        Fixture *f = *state;
        char command[160];

        add(f, "last-job", 1000);
        usage_file_write(&f->counters, f->jobs.first);
        usage_file_write(&f->counters, f->jobs.first);
        for (int i = 0; i < 2; i++)
                usage_file_write(&f->counters, NULL);
        (void)snprintf(command, sizeof(command), "grep -qa last-job %s", f->path);
        assert_int_not_equal(system(command), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                KEPT_TEST(no_job_is_left_in_the_file),
                KEPT_TEST(counters_continue_after_any_end),
                KEPT_TEST(every_number_of_a_checkpoint_is_kept),
                KEPT_TEST(another_boot_has_no_counters),
                KEPT_TEST(ended_jobs_leave_the_file),
                KEPT_TEST(jobs_work_without_a_file),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
