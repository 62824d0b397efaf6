/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs/table/jobs.h"

static Job *add(Jobs *jobs, const char *id, uint32_t uid) {
        const Totals begin = { .boottime_ns = 1 };
        JobInfo info = { .uid = uid };
        Job *job;

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        assert_int_equal(jobs_add(jobs, &info, &begin, &job), 0);
        return job;
}

static void retire(Jobs *jobs, const char *id, JobState state, uint64_t now_ns) {
        Job *job = jobs_find(jobs, id);

        assert_non_null(job);
        job->final = calloc(1, sizeof(*job->final));
        assert_non_null(job->final);
        job->final->state = state;
        jobs_retire(jobs, job, now_ns);
}

static void thousands_of_jobs_are_each_found_and_removed(void **state) {
        Jobs jobs;
        char id[32];

        (void)state;
        assert_int_equal(jobs_init(&jobs), 0);
        for (unsigned i = 0; i < 3000; i++) {
                (void)snprintf(id, sizeof(id), "job-%u", i);
                add(&jobs, id, i % 3);
        }
        assert_int_equal(jobs.n, 3000);
        assert_int_equal(jobs_rename(&jobs, jobs_find(&jobs, "job-7"), "other"), 0);
        assert_null(jobs_find(&jobs, "job-7"));
        assert_int_equal(jobs_rename(&jobs, jobs_find(&jobs, "other"), "job-7"), 0);
        assert_string_equal(jobs.first->info.id, "job-0");

        for (unsigned i = 0; i < 3000; i += 2) {
                (void)snprintf(id, sizeof(id), "job-%u", i);
                jobs_remove(&jobs, jobs_find(&jobs, id));
        }
        for (unsigned i = 0; i < 3000; i++) {
                (void)snprintf(id, sizeof(id), "job-%u", i);
                assert_int_equal(jobs_find(&jobs, id) != NULL, i % 2 == 1);
        }
        assert_string_equal(jobs.first->info.id, "job-1");
        assert_string_equal(jobs.last->info.id, "job-2999");
        jobs_deinit(&jobs);
}

static void an_ended_job_keeps_its_labels_for_exposition(void **state) {
        JobLabel label = { .key = "queue", .value = "short" };
        JobInfo info = { .id = "a", .n_labels = 1, .labels = &label };
        const FinishedJob *finished;
        Jobs jobs;
        Job *job;

        (void)state;
        assert_int_equal(jobs_init(&jobs), 0);
        assert_int_equal(jobs_add(&jobs, &info, &(Totals){}, &job), 0);
        retire(&jobs, "a", JOB_FINISHED, 100);

        assert_null(jobs_find(&jobs, "a"));
        finished = jobs.finished.first;
        assert_string_equal(finished->info.labels[0].value, "short");
        assert_int_equal(finished->state, JOB_FINISHED);
        jobs_deinit(&jobs);
}

static void ended_jobs_are_forgotten_by_age_and_by_number(void **state) {
        Jobs jobs;

        (void)state;
        assert_int_equal(jobs_init(&jobs), 0);
        add(&jobs, "a", 0);
        add(&jobs, "b", 0);
        add(&jobs, "c", 0);
        retire(&jobs, "b", JOB_FINISHED, 100);
        retire(&jobs, "a", JOB_INTERRUPTED, 200);
        retire(&jobs, "c", JOB_FINISHED, 300);
        assert_int_equal(jobs.stats.n_finished, 2);
        assert_int_equal(jobs.stats.n_interrupted, 1);

        jobs_forget_finished(&jobs, 150, 10, 1000000000);
        assert_int_equal(jobs.finished.n, 2);
        assert_string_equal(jobs.finished.first->info.id, "a");
        jobs_forget_finished(&jobs, 0, 1, 1000000000);
        assert_string_equal(jobs.finished.first->info.id, "c");
        jobs_forget_finished(&jobs, UINT64_MAX, 10, 1000000000);
        assert_int_equal(jobs.finished.n, 0);
        assert_null(jobs.finished.last);
        jobs_deinit(&jobs);
}

static void a_group_belongs_to_one_job_until_the_job_is_removed(void **state) {
        Job *a, *b;
        Jobs jobs;

        (void)state;
        assert_int_equal(jobs_init(&jobs), 0);
        a = add(&jobs, "a", 0);
        b = add(&jobs, "b", 0);
        assert_int_equal(jobs_set_group(&jobs, a, "/slice/one"), 0);
        assert_int_equal(jobs_set_group(&jobs, a, "/slice/one"), 0);
        assert_int_equal(jobs_set_group(&jobs, b, "/slice/one"), JOBS_TAKEN);
        assert_null(b->info.cgroup);
        assert_ptr_equal(jobs_find_group(&jobs, "/slice/one"), a);

        assert_int_equal(jobs_set_group(&jobs, a, "/slice/two"), 0);
        assert_null(jobs_find_group(&jobs, "/slice/one"));
        assert_int_equal(jobs_set_group(&jobs, b, "/slice/one"), 0);
        assert_int_equal(jobs.stats.n_with_cgroup, 2);

        retire(&jobs, "a", JOB_FINISHED, 1);
        assert_string_equal(jobs.finished.first->info.cgroup, "/slice/two");
        assert_null(jobs_find_group(&jobs, "/slice/two"));
        assert_int_equal(jobs.stats.n_with_cgroup, 1);
        jobs_deinit(&jobs);
}

static void running_and_ended_jobs_are_published(void **state) {
        JobsSnapshot snapshot = {};
        Phase *phase;
        Jobs jobs;
        Job *job;

        (void)state;
        assert_int_equal(jobs_init(&jobs), 0);
        add(&jobs, "beginning", 0);
        job = add(&jobs, "marked", 0);
        job->stage = JOB_ACTIVE;
        phase = calloc(1, sizeof(*phase));
        assert_non_null(phase);
        (void)snprintf(phase->name, sizeof(phase->name), "load");
        job->phase = phase;
        job->n_phases = 1;
        job = add(&jobs, "over", 0);
        job->stage = JOB_ACTIVE;
        job->final = calloc(1, sizeof(*job->final));
        assert_non_null(job->final);
        job->final->result.end.exit_status = 4;
        add(&jobs, "ended", 0);
        retire(&jobs, "ended", JOB_FINISHED, 100);

        assert_int_equal(jobs_publish(&jobs, 2, &snapshot), 0);
        assert_int_equal(snapshot.n_running, 2);
        assert_int_equal(snapshot.used.n_records, 3);
        assert_null(snapshot_jobs_find(&snapshot, "beginning"));
        assert_string_equal(snapshot_jobs_find(&snapshot, "marked")->phase->name, "load");
        assert_non_null(snapshot_jobs_find(&snapshot, "marked")->peaks);
        assert_int_equal(snapshot_jobs_find(&snapshot, "marked")->begin->totals.boottime_ns, 1);
        assert_null(snapshot_jobs_find(&snapshot, "over")->begin);
        assert_int_equal(snapshot_jobs_find(&snapshot, "over")->result->end.exit_status, 4);
        assert_int_equal(snapshot_jobs_find(&snapshot, "ended")->state, JOB_FINISHED);
        assert_int_equal(snapshot_jobs_n_exposed(&snapshot), 2);
        snapshot_jobs_deinit(&snapshot);
        jobs_deinit(&jobs);
}

static void totals_at_a_begin_are_freed_with_the_last_snapshot_of_the_job(void **state) {
        JobsSnapshot snapshots[2] = {};
        SharedTotals *begin = NULL;
        Jobs jobs;
        Job *job;

        (void)state;
        assert_int_equal(jobs_init(&jobs), 0);
        job = add(&jobs, "a", 0);
        job->stage = JOB_ACTIVE;
        snapshot_totals_share(job->begin, &begin);
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(jobs_publish(&jobs, 1, &snapshots[i % 2]), 0);
        assert_int_equal(begin->n_references, 4); /* here, the job, and two snapshots */

        jobs_remove(&jobs, job);
        assert_int_equal(snapshots[0].records[0].begin->totals.boottime_ns, 1);
        snapshot_jobs_deinit(&snapshots[0]);
        add(&jobs, "b", 0)->stage = JOB_ACTIVE;
        assert_int_equal(jobs_publish(&jobs, 1, &snapshots[1]), 0);
        assert_int_equal(begin->n_references, 1);
        assert_null(snapshot_totals_unref(begin));
        snapshot_jobs_deinit(&snapshots[1]);
        jobs_deinit(&jobs);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(running_and_ended_jobs_are_published),
                cmocka_unit_test(totals_at_a_begin_are_freed_with_the_last_snapshot_of_the_job),
                cmocka_unit_test(thousands_of_jobs_are_each_found_and_removed),
                cmocka_unit_test(an_ended_job_keeps_its_labels_for_exposition),
                cmocka_unit_test(ended_jobs_are_forgotten_by_age_and_by_number),
                cmocka_unit_test(a_group_belongs_to_one_job_until_the_job_is_removed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
