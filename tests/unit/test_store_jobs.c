/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in the store: begun, ended, amended, and recovered at the start. */
/* tests: daemon/store/jobs/job_rows.c
 daemon/store/jobs/job_reader.c
 daemon/store/retention/retention.c daemon/store/subject_states.c */

#include "store/indicators/indicator_reader.h"
#include "store/indicators/result_reader.h"
#include "store/indicators/result_rows.h"
#include "store/jobs/job_reader.h"
#include "store/jobs/job_rows.h"
#include "store/retention/retention.h"
#include "store/opening.h"
#include "store_fixture.h"

static JobInfo make_job(const char *id, JobLabel *labels, size_t n_labels) {
        JobInfo info = {
                .name = "train", .command = "python3 train.py", .user = "ada", .uid = 1000, .gid = 100,
                .pid = 4711, .pid_start_ticks = 123456789, .rank = -1, .n_labels = n_labels, .labels = labels,
        };

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        return info;
}

static StoreOutcome begin_job(Store *store, const char *id, uint64_t begin_ms) {
        JobInfo info = make_job(id, NULL, 0);

        assert_int_equal(
                store_put(store, pack_begin_row(&info, begin_ms, "boot-1", "window-1", "meter-1", cookie_of(1))), 0);
        return outcome_of(store, 1);
}

static StoreOutcome end_job(Store *store, const char *id, JobState job_state, const JobEnd *end,
                            const MetricSet *metrics) {
        StoreJobEnd row = {
                .job = id, .state = job_state, .end_realtime_ms = 2000, .end = end,
                .note = "a note", .metrics = metrics, .timeline = &BYTES("a timeline"),
        };

        assert_int_equal(store_put(store, job_rows_pack_end(&row, cookie_of(2))), 0);
        return outcome_of(store, 2);
}

static StoreOutcome amend_job(Store *store, const char *id, uint32_t uid) {
        JobEnd end = { .has_exit_status = true, .exit_status = 3, .has_rusage = true, .rusage = { .ru_utime = 1.25 } };

        assert_int_equal(
                store_put(store, job_rows_pack_amend(id, &(Peer){ .uid = uid }, &end, 0, 0, 1, cookie_of(3))), 0);
        return outcome_of(store, 3);
}

static void a_job_round_trips(void **state) {
        Place *place = *state;
        JobLabel labels[] = { { "queue", "gpu=a100\nline\\two" }, { "k=1", "" } };
        JobInfo info = make_job("job-1", labels, 2);
        JobEnd end = {
                .has_exit_status = true, .exit_status = 143, .signal = 15, .has_rusage = true,
                .rusage = { .ru_utime = 0.1, .ru_stime = 1e-6, .ru_maxrss = INT64_MAX, .ru_nivcsw = -1 },
        };
        scoped(job_gpus_deinit) JobGpus gpus = {};
        MetricSet metrics = {};
        const StoreJobEnd last = {
                .job = "job-1", .state = JOB_FINISHED, .end_realtime_ms = 2000, .end = &end, .note = "a note",
                .metrics = &metrics, .gpus = &gpus, .timeline = &BYTES("a timeline"),
        };
        JobRow row;

        assert_non_null(job_gpus_add(&gpus, "0", 17));
        gpus.items[0].values[GPU_energy_mj] = UINT64_MAX / 3;
        for (size_t i = 0; i < N_METRICS; i++) {
                metrics.quality[i] = (uint8_t)(i % N_QUALITIES);
                metrics.value[i] = quality_is_present(metrics.quality[i]) ? (double)i / 3 : 0;
        }
        for (size_t i = 0; i < N_PERFPY_METRICS; i += 2) {
                metrics.has_compat[i] = true;
                metrics.compat[i] = 1e9 / (double)(i + 7);
        }

        assert_int_equal(store_put(place->store, pack_begin_row(&info, 1000, "boot-1", "w", "m", cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_end(&last, cookie_of(2))), 0);
        assert_int_equal(outcome_of(place->store, 2), STORE_DONE);

        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_string_equal(row.view.info.id, "job-1");
        assert_string_equal(row.view.info.name, "train");
        assert_string_equal(row.view.info.command, "python3 train.py");
        assert_string_equal(row.view.info.user, "ada");
        assert_int_equal(row.view.info.uid, 1000);
        assert_int_equal(row.view.info.gid, 100);
        assert_int_equal(row.view.info.pid, 4711);
        assert_int_equal(row.view.info.pid_start_ticks, 123456789);
        assert_int_equal(row.view.info.rank, -1);
        assert_int_equal(row.view.info.n_labels, 2);
        for (size_t i = 0; i < 2; i++) {
                assert_string_equal(row.view.info.labels[i].key, labels[i].key);
                assert_string_equal(row.view.info.labels[i].value, labels[i].value);
        }
        assert_int_equal(row.view.state, JOB_FINISHED);
        assert_int_equal(row.view.begin_realtime_ms, 1000);
        assert_int_equal(row.view.end_realtime_ms, 2000);
        assert_string_equal(row.view.info.note, "a note");
        assert_memory_equal(&row.view.end.rusage, &end.rusage, sizeof(end.rusage));
        assert_int_equal(row.view.end.exit_status, 143);
        assert_int_equal(row.view.end.signal, 15);
        assert_true(row.has_metrics);
        assert_memory_equal(&row.view.metrics, &metrics, sizeof(metrics));
        assert_memory_equal(row.timeline.bytes, "a timeline", row.timeline.n);
        assert_int_equal(row.gpus.n, 1);
        assert_memory_equal(&row.gpus.items[0], &gpus.items[0], sizeof(JobGpu));
}

static StoreOutcome put_for_jobs(Store *store, uint64_t n, uint32_t uid, const char *first_job,
                                 const char *second_job) {
        Submission both[2];
        Item items[2];

        for (size_t i = 0; i < 2; i++) {
                item_make(&items[i], "PiMatmul", "tensorflow", n + i);
                both[i] = items[i].submission;
        }
        both[0].job = first_job;
        both[1].job = second_job;
        assert_int_equal(store_put(store, result_rows_pack(both, 2, &(Peer){ .uid = uid }, 1, cookie_of(n))), 0);
        return outcome_of(store, n);
}

static void results_belong_to_own_jobs_also_after_their_end(void **state) {
        Place *place = *state;
        IndicatorRow row;

        assert_int_equal(begin_job(place->store, "job-1", 1), STORE_DONE);
        assert_int_equal(end_job(place->store, "job-1", JOB_FINISHED, &(JobEnd){}, NULL), STORE_DONE);

        assert_int_equal(put_for_jobs(place->store, 10, 1001, "job-1", "job-1"), STORE_DENIED);
        assert_int_equal(put_for_jobs(place->store, 20, 1001, "", "job-1"), STORE_DENIED);
        assert_int_equal(put_for_jobs(place->store, 30, 1001, "elsewhere", "job-1"), STORE_DENIED);
        assert_int_equal(put_for_jobs(place->store, 40, 1001, "elsewhere", ""), STORE_DONE);
        assert_int_equal(put_for_jobs(place->store, 50, 1000, "job-1", "job-1"), STORE_DONE);
        assert_int_equal(put_for_jobs(place->store, 60, 0, "job-1", "job-1"), STORE_DONE);

        assert_int_equal(indicator_reader_list(place->reader), 0);
        assert_int_equal(indicator_reader_next(place->reader, &row), 0);
        assert_int_equal(row.n_results, 6);
}

static StoreOutcome put_inherited(Store *store, uint64_t n, uint32_t uid, const char *job) {
        Item item;

        item_make(&item, "PiMatmul", "tensorflow", n);
        item.submission.job = job;
        item.submission.is_job_inherited = true;
        assert_int_equal(
                store_put(store, result_rows_pack(&item.submission, 1, &(Peer){ .uid = uid }, 1, cookie_of(n))), 0);
        return outcome_of(store, n);
}

static void an_inherited_job_is_ignored_after_its_end(void **state) {
        static const char *const jobs[] = { "running", "over", "elsewhere" };
        Place *place = *state;
        Submission all[3];
        Item items[3];
        StoreDone done;

        assert_int_equal(begin_job(place->store, "running", 1), STORE_DONE);
        assert_int_equal(begin_job(place->store, "over", 2), STORE_DONE);
        assert_int_equal(end_job(place->store, "over", JOB_FINISHED, &(JobEnd){}, NULL), STORE_DONE);
        for (size_t i = 0; i < 3; i++) {
                item_make(&items[i], "PiMatmul", "tensorflow", 10 + i);
                all[i] = items[i].submission;
                all[i].job = jobs[i];
                all[i].is_job_inherited = true;
        }

        assert_int_equal(store_put(place->store, result_rows_pack(all, 3, &(Peer){ .uid = 1000 }, 1, cookie_of(10))),
                         0);
        assert_true(wait_done(place->store, &done, 5000));
        assert_int_equal(done.outcome, STORE_DONE);
        assert_true(result_rows_stored(done.rows)->has_left_job);
        for (size_t i = 0; i < 3; i++) {
                ResultRow row;

                assert_int_equal(result_reader_list(place->reader, &(ResultFilter){ .job = jobs[i] }), 0);
                assert_int_equal(result_reader_next(place->reader, &row), i == 1 ? READER_END : 0);
                reader_reset(place->reader);
        }

        /*
         * For a running job, an inherited id is checked like any other claim; a job that has ended is no reason to
         * refuse.
         */
        assert_int_equal(put_inherited(place->store, 20, 1001, "running"), STORE_DENIED);
        assert_int_equal(put_inherited(place->store, 30, 1001, "over"), STORE_DONE);
}

static void an_administrator_acts_for_others_under_his_own_name(void **state) {
        const Peer admin = { .uid = 2000, .is_admin = true };
        Place *place = *state;
        JobEnd end = { .has_exit_status = true };
        ResultRow row;
        Item item;

        assert_int_equal(begin_job(place->store, "job-1", 1), STORE_DONE);
        item_make(&item, "PiMatmul", "tensorflow", 1);
        item.submission.job = "job-1";
        assert_int_equal(store_put(place->store, result_rows_pack(&item.submission, 1, &admin, 1, cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){ .job = "job-1" }), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        assert_int_equal(row.uid, 2000);
        reader_reset(place->reader);

        assert_int_equal(end_job(place->store, "job-1", JOB_INTERRUPTED, &(JobEnd){}, NULL), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_amend("job-1", &admin, &end, 0, 0, 1, cookie_of(3))), 0);
        assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
}

static void a_job_id_can_be_used_once_by_any_user(void **state) {
        Place *place = *state;

        assert_int_equal(begin_job(place->store, "job-1", 1), STORE_DONE);
        assert_int_equal(begin_job(place->store, "job-1", 2), STORE_CONFLICT);
        assert_int_equal(end_job(place->store, "job-1", JOB_FINISHED, &(JobEnd){}, NULL), STORE_DONE);
        assert_int_equal(begin_job(place->store, "job-1", 3), STORE_CONFLICT);
}

static void the_end_of_a_job_never_begun_is_missing(void **state) {
        Place *place = *state;

        assert_int_equal(end_job(place->store, "nobody", JOB_FINISHED, &(JobEnd){}, NULL), STORE_MISSING);
        assert_int_equal(amend_job(place->store, "nobody", 0), STORE_MISSING);
}

static void a_late_end_makes_an_interrupted_job_finished_and_keeps_its_numbers(void **state) {
        Place *place = *state;
        MetricSet metrics = {};
        JobRow row;

        metrics.quality[METRIC_DURATION] = QUALITY_EXACT;
        metrics.value[METRIC_DURATION] = 12.5;
        assert_int_equal(begin_job(place->store, "job-1", 1), STORE_DONE);
        assert_int_equal(end_job(place->store, "job-1", JOB_INTERRUPTED, &(JobEnd){}, &metrics), STORE_DONE);

        assert_int_equal(amend_job(place->store, "job-1", 1001), STORE_DENIED);
        assert_int_equal(amend_job(place->store, "job-1", 1000), STORE_DONE);
        assert_int_equal(amend_job(place->store, "job-1", 1000), STORE_DUPLICATE);

        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_int_equal(row.view.state, JOB_FINISHED);
        assert_true(row.view.end.has_exit_status);
        assert_int_equal(row.view.end.exit_status, 3);
        assert_true(row.view.end.rusage.ru_utime == 1.25);
        assert_true(row.view.metrics.value[METRIC_DURATION] == 12.5);
        assert_string_equal(row.view.info.note, "a note");
        assert_int_equal(row.view.end_realtime_ms, 2000);
}

/* An epilog reports the end when the machine is up again; what a client kept before the reboot has seen the end. */
static void a_report_after_a_reboot_changes_nothing(void **state) {
        const StoreJobEnd closed = {
                .job = "job-1", .state = JOB_INTERRUPTED, .end_realtime_ms = 2000, .end = &(JobEnd){},
                .note = JOB_REBOOT_NOTE "; totals end at the last checkpoint",
        };
        const Peer owner = { .uid = 1000 };
        JobEnd end = { .realtime_ms = 5000, .has_exit_status = true };
        Place *place = *state;
        JobRow row;

        assert_int_equal(begin_job(place->store, "job-1", 1), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_end(&closed, cookie_of(2))), 0);
        assert_int_equal(outcome_of(place->store, 2), STORE_DONE);
        for (uint64_t start_ms = 4999; start_ms <= 5000; start_ms++) {
                RowSet *amend = job_rows_pack_amend("job-1", &owner, &end, start_ms, 6000, 1, cookie_of(3));

                assert_int_equal(store_put(place->store, amend), 0);
                assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
                assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
                assert_int_equal(row.view.state, start_ms == 5000 ? JOB_FINISHED : JOB_INTERRUPTED);
                assert_int_equal(row.view.end.has_exit_status, start_ms == 5000);
                reader_reset(place->reader);
        }
}

/* perfd was not running when the job ended: the report has the end, of which only the last sample before was known. */
static void a_late_end_replaces_an_unknown_end(void **state) {
        Place *place = *state;
        MetricSet metrics = {};
        UsageSet usage;
        JobEnd end = {
                .realtime_ms = 4000, .has_exit_status = true, .has_rusage = true, .rusage = { .ru_utime = 1.25 }
        };
        const StoreJobEnd closed = {
                .job = "job-1",
                .state = JOB_INTERRUPTED,
                .end_realtime_ms = 2000,
                .end = &(JobEnd){},
                .note = JOB_NO_END_NOTE,
                .metrics = &metrics,
                .usage = &usage,
        };
        JobRow row;

        usage_none(&usage);
        metrics.quality[METRIC_DURATION] = QUALITY_SAMPLED;
        metrics.value[METRIC_DURATION] = 1;
        assert_int_equal(begin_job(place->store, "job-1", 1000), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_end(&closed, cookie_of(2))), 0);
        assert_int_equal(outcome_of(place->store, 2), STORE_DONE);
        assert_int_equal(store_put(place->store,
                                   job_rows_pack_amend("job-1", &(Peer){ .uid = 1000 }, &end, 0, 9000, 2,
                                                       cookie_of(3))),
                         0);
        assert_int_equal(outcome_of(place->store, 3), STORE_DONE);

        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_int_equal(row.view.state, JOB_FINISHED);
        assert_int_equal(row.view.end_realtime_ms, 4000);
        assert_true(row.view.metrics.value[METRIC_DURATION] == 3);
        assert_int_equal(row.view.metrics.quality[METRIC_DURATION], QUALITY_EXACT);
        assert_string_equal(row.view.info.note, "");
        reader_reset(place->reader);
}

static void root_may_amend_any_job(void **state) {
        Place *place = *state;

        assert_int_equal(begin_job(place->store, "job-1", 1), STORE_DONE);
        assert_int_equal(end_job(place->store, "job-1", JOB_INTERRUPTED, &(JobEnd){}, NULL), STORE_DONE);
        assert_int_equal(amend_job(place->store, "job-1", 0), STORE_DONE);
}

/* --- restart ------------------------------------------------------------------------------------- */

static void a_new_store_has_nothing_to_recover(void **state) {
        scoped(job_reader_free_recoveryp) JobRecovery *recovery = NULL;
        Place *place = *state;

        assert_int_equal(job_reader_recover(store_path(place->store), NULL, &recovery), 0);
        assert_null(recovery->meter);
        assert_int_equal(recovery->n_jobs, 0);
}

static void running_jobs_are_recovered_with_their_last_checkpoint(void **state) {
        scoped(job_reader_free_recoveryp) JobRecovery *recovery = NULL;
        Place *place = *state;
        StoreCheckpoint checkpoint = { "job-2", "window-2" };

        assert_int_equal(begin_job(place->store, "job-1", 10), STORE_DONE);
        assert_int_equal(begin_job(place->store, "job-2", 20), STORE_DONE);
        assert_int_equal(begin_job(place->store, "job-3", 30), STORE_DONE);
        assert_int_equal(end_job(place->store, "job-3", JOB_FINISHED, &(JobEnd){}, NULL), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_checkpoints(&checkpoint, 1, "boot-2", "meter-2", 99)),
                         0);
        place_close(place);
        place_open(place);

        assert_int_equal(job_reader_recover(store_path(place->store), NULL, &recovery), 0);
        assert_string_equal(recovery->meter, "meter-2");
        assert_string_equal(recovery->boot_id, "boot-2");
        assert_int_equal(recovery->meter_realtime_ms, 99);
        assert_int_equal(recovery->n_jobs, 2);
        assert_string_equal(recovery->jobs[0].info.id, "job-1");
        assert_int_equal(recovery->jobs[0].begin_realtime_ms, 10);
        assert_int_equal(recovery->jobs[0].checkpoint_realtime_ms, 10);
        assert_string_equal(recovery->jobs[0].progress, "window-1");
        assert_string_equal(recovery->jobs[0].boot_id, "boot-1");
        assert_string_equal(recovery->jobs[1].info.id, "job-2");
        assert_int_equal(recovery->jobs[1].info.pid_start_ticks, 123456789);
        assert_string_equal(recovery->jobs[1].progress, "window-2");
        assert_string_equal(recovery->jobs[1].boot_id, "boot-2");
        assert_int_equal(recovery->jobs[1].checkpoint_realtime_ms, 99);
}

static void a_begin_in_conflict_leaves_the_meter_alone(void **state) {
        scoped(job_reader_free_recoveryp) JobRecovery *recovery = NULL;
        Place *place = *state;
        JobInfo info = make_job("job-1", NULL, 0);

        assert_int_equal(begin_job(place->store, "job-1", 10), STORE_DONE);
        assert_int_equal(store_put(place->store, pack_begin_row(&info, 50, "boot-9", "w", "meter-9", cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_CONFLICT);
        assert_int_equal(job_reader_recover(store_path(place->store), NULL, &recovery), 0);
        assert_string_equal(recovery->meter, "meter-1");
        assert_string_equal(recovery->jobs[0].progress, "window-1");
}

#define N_PHASES(job) "SELECT count(*) FROM phase WHERE job = " job

/* However many phases a removed job had, each step removes a bounded number. */
static void many_phases_of_a_removed_job_are_removed_in_steps(void **state) {
        const StoreTable *job = store_table(&store_jobs, "job"), *noted = store_table(&store_jobs, "phase_leftover");
        Place *place = *state;
        char path[PATH_MAX];
        Database database;
        bool has_more = true;
        int64_t n = 0;

        assert_int_equal(begin_job(place->store, "many", 1000), STORE_DONE);
        assert_int_equal(begin_job(place->store, "few", 1000), STORE_DONE);
        assert_int_equal(end_job(place->store, "many", JOB_FINISHED, &(JobEnd){}, NULL), STORE_DONE);
        place_close(place);
        change_place(place,
                     "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
                     " INSERT INTO phase SELECT NULL, j.row, i, '', 0, 0, 1, NULL, NULL, NULL, NULL FROM n, job AS j"
                     " WHERE j.id = 'many' OR i <= 512;"
                     "UPDATE job SET n_phases = (SELECT count(*) FROM phase WHERE job = job.row)");
        place_path(place, "perfd.db", path);
        assert_int_equal(opening_open_file(path, &database), 0);
        assert_int_equal(database_begin(&database), 0);
        assert_int_equal(job->retention->run(&database,
                                             database_prepare(&database, job->retention->remove, FIELDS(field_i64(1))),
                                             &n),
                         0);
        assert_int_equal(database_commit(&database), 0);
        assert_int_equal(n, 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job WHERE id = 'many'"), 0);
        assert_int_equal(ask_place(place, N_PHASES("1")), 2000);
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder") / 1024, 512 + 4); /* of the other job */

        assert_int_equal(retention_remove_leftover(noted->retention->leftover, &database,
                                                   database_prepare(&database, noted->retention->remove_of_user,
                                                                    FIELDS(field_i64(100), field_i64(7))), &n), 0);
        assert_int_equal(n, 100);
        for (n = 0; has_more; n++) {
                assert_int_equal(retention_step_leftover(store_jobs.tables, &database, &has_more), 0);
                assert_in_range(ask_place(place, N_PHASES("1")), has_more ? 1900 - 512 * (n + 1) : 0, 1900);
        }
        assert_int_equal(n, 4);
        assert_int_equal(ask_place(place, N_PHASES("1")), 0);
        assert_int_equal(ask_place(place, N_PHASES("2")), 512);
        database_close(&database);

        change_place(place, "DELETE FROM job");
        assert_int_equal(ask_place(place, N_PHASES("2")), 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM phase_leftover"), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
                TEST(a_job_round_trips),
                TEST(results_belong_to_own_jobs_also_after_their_end),
                TEST(an_inherited_job_is_ignored_after_its_end),
                TEST(an_administrator_acts_for_others_under_his_own_name),
                TEST(a_job_id_can_be_used_once_by_any_user),
                TEST(the_end_of_a_job_never_begun_is_missing),
                TEST(a_late_end_makes_an_interrupted_job_finished_and_keeps_its_numbers),
                TEST(a_report_after_a_reboot_changes_nothing),
                TEST(a_late_end_replaces_an_unknown_end),
                TEST(root_may_amend_any_job),
                TEST(a_new_store_has_nothing_to_recover),
                TEST(running_jobs_are_recovered_with_their_last_checkpoint),
                TEST(a_begin_in_conflict_leaves_the_meter_alone),
                TEST(many_phases_of_a_removed_job_are_removed_in_steps),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
