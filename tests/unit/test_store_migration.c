/* SPDX-License-Identifier: Apache-2.0 */
/* A database that an older perfd wrote: opened in place, read as it was, and gone on with. */

#include "store/indicators/result_reader.h"
#include "store/jobs/job_reader.h"
#include "store/jobs/job_recovery.h"
#include "store/jobs/job_rows.h"
#include "store/node/sample_reader.h"
#include "store_fixture.h"

#include "measure/meter.h"
#include "measure/window.h"
#include "series/timeline.h"

#define BOOT "dc6828ca-b47d-4dc6-aa54-dfa11e34eb34" /* of job-on's last checkpoint */

static int setup(void **state) {
        char path[PATH_MAX], command[PATH_MAX + 64];

        (void)place_setup_closed(state);
        place_path(*state, "perfd.db", path);
        (void)snprintf(command, sizeof(command), "gzip -dc tests/data/store/perfd-1.db.gz > %s", path);
        assert_int_equal(system(command), 0);
        place_open(*state);
        return 0;
}

static void assert_nothing_new(const JobView *view) {
        assert_int_equal(view->info.node, -1);
        assert_int_equal(view->info.n_nodes, 0);
        assert_int_equal(view->info.n_ranks, 0);
        assert_int_equal(view->info.enclosure, ENCLOSURE_NONE);
        assert_null(view->info.cgroup);
        assert_int_equal(view->n_phases, 0);
        for (size_t i = 0; i < N_USAGES; i++)
                assert_int_equal(view->usage.quality[i], QUALITY_NO_GROUP);
}

static void it_is_brought_up_to_date_once(void **state) {
        Place *place = *state;

        assert_int_equal(ask_place(place, "PRAGMA user_version"), 4);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM pragma_quick_check WHERE quick_check <> 'ok'"), 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM sqlite_schema WHERE name = 'indicator_unindexed'"), 1);
        place_close(place);
        place_open(place);
        assert_int_equal(ask_place(place, "PRAGMA user_version"), 4);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job"), 3);
}

static void a_finished_job_reads_as_it_was(void **state) {
        scoped(timeline_deinit) Timeline timeline = {};
        Place *place = *state;
        JobRow row;

        assert_int_equal(job_reader_find(place->reader, "job-done", &row), 0);
        assert_string_equal(row.view.info.name, "train");
        assert_string_equal(row.view.info.command, "python3 train.py --epochs 90");
        assert_string_equal(row.view.info.user, "ada");
        assert_int_equal(row.view.info.rank, 0);
        assert_int_equal(row.view.info.n_labels, 2);
        assert_string_equal(row.view.info.labels[1].key, "note");
        assert_string_equal(row.view.info.labels[1].value, "a=b c");
        assert_int_equal(row.view.state, JOB_FINISHED);
        assert_int_equal(row.view.begin_realtime_ms, 1795290103209);
        assert_int_equal(row.view.end_realtime_ms, 1795290106215);
        assert_int_equal(row.view.end.exit_status, 3);
        assert_true(row.view.end.rusage.ru_utime == 9.25);
        assert_int_equal(row.view.end.rusage.ru_maxrss, 4096);

        assert_true(row.has_metrics);
        assert_int_equal(row.view.metrics.quality[METRIC_CPU_MEAN], QUALITY_EXACT);
        assert_true(row.view.metrics.value[METRIC_CPU_MEAN] == 0.3);
        assert_true(row.view.metrics.value[METRIC_DISK_READ] == 3145728);
        assert_int_equal(row.view.metrics.quality[METRIC_PSI_IO_SOME], QUALITY_UNKNOWN_SOURCE);
        assert_true(row.view.metrics.compat[METRIC_NET_EXT_SENT] == 3.0009536743164062);
        assert_nothing_new(&row.view);
        assert_int_equal(timeline_parse(row.timeline, &timeline), 0);
        assert_int_equal(timeline.n, 3);
}

static void the_others_are_listed_with_their_states(void **state) {
        static const char *const ids[] = { "job-on", "job-done", "job-lost" };
        static const JobState states[] = { JOB_RUNNING, JOB_FINISHED, JOB_INTERRUPTED };
        Place *place = *state;
        JobRow row;

        assert_int_equal(job_reader_list(place->reader, &(JobFilter){}), 0);
        for (size_t i = 0; i < N_ELEMENTS(ids); i++) {
                assert_int_equal(job_reader_next(place->reader, &row), 0);
                assert_string_equal(row.view.info.id, ids[i]);
                assert_int_equal(row.view.state, states[i]);
                assert_int_equal(row.has_metrics, states[i] != JOB_RUNNING);
        }
        assert_string_equal(row.view.info.note, "the machine was rebooted: totals end at the last checkpoint before");
        assert_true(row.view.metrics.value[METRIC_DISK_READ] == 1024000);
        assert_int_equal(row.view.metrics.quality[METRIC_DISK_READ], QUALITY_SAMPLED);
}

static void results_and_history_read_as_they_were(void **state) {
        Place *place = *state;
        ResultRow row;
        NodeSampleRow sample;

        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){ .job = "job-done" }), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        assert_string_equal(row.name, "PiMatmul");
        assert_string_equal(row.component, "perfd.test");
        assert_non_null(strstr(row.document, "\"@result\":{\"rate\":12.5}"));
        assert_int_equal(result_reader_next(place->reader, &row), READER_END);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 2);
        assert_int_equal(sample_reader_list(place->reader, 0, 0), 0);
        assert_int_equal(sample_reader_next(place->reader, &sample), 0);
        assert_int_equal(sample.begin_ms, 1795290102180);
        assert_int_equal(sample.interval_ms, 10000);
}

static void a_running_job_is_recovered_with_its_window(void **state) {
        scoped(job_recovery_freep) JobRecovery *recovery = NULL;
        scoped(meter_freep) Meter *meter = NULL;
        Place *place = *state;
        MetricSet metrics;
        Window window;

        assert_int_equal(job_recovery_read(place->store, &recovery), 0);
        assert_int_equal(recovery->n_jobs, 1);
        assert_string_equal(recovery->jobs[0].info.id, "job-on");
        assert_string_equal(recovery->jobs[0].info.user, "grace");
        assert_int_equal(recovery->jobs[0].info.rank, -1);
        assert_int_equal(recovery->jobs[0].info.node, -1);
        assert_null(recovery->jobs[0].info.cgroup);
        assert_string_equal(recovery->jobs[0].boot_id, BOOT);
        assert_int_equal(recovery->jobs[0].checkpoint_realtime_ms, 1795290108207);

        assert_int_equal(meter_new(&meter, NS_PER_S), 0);
        assert_int_equal(meter_restore(meter, recovery->meter, BOOT), 0);
        assert_int_equal(window_parse(recovery->jobs[0].progress, &window), 0);
        window_metrics(&window, meter_totals(meter), 1, &metrics);
        assert_true(metrics.value[METRIC_CPU_USER] == 5);
        assert_int_equal(metrics.quality[METRIC_CPU_USER], QUALITY_EXACT);
        assert_true(metrics.value[METRIC_CPU_MAX] == 0.5);
}

static void a_running_job_goes_on_with_all_that_is_new(void **state) {
        Place *place = *state;
        PhaseView phase = { .name = "load", .begin_realtime_ms = 1, .end_realtime_ms = 2 };
        StorePhase put = { .job = "job-on", .phase = &phase, .progress = "p", .boot_id = BOOT, .meter = "m" };
        StoreJobEnd end = {
                .job = "job-on", .state = JOB_FINISHED, .end_realtime_ms = 1795290200000, .end = &(JobEnd){},
                .metrics = &phase.metrics, .usage = &phase.usage, .timeline = "t",
        };
        StoreJobIdentity found = { .job = "job-on", .enclosure = ENCLOSURE_FOUND, .cgroup = "/system.slice/job-on.service" };
        JobRow row;

        phase.usage.quality[USAGE_CPU_SECONDS] = QUALITY_EXACT;
        phase.usage.value[USAGE_CPU_SECONDS] = 1.5;
        assert_int_equal(store_put(place->store, job_rows_pack_identity(&found, (StoreCookie){})), 0);
        assert_int_equal(store_put(place->store, job_rows_pack_phase(&put, cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_end(&end, cookie_of(2))), 0);
        assert_int_equal(outcome_of(place->store, 2), STORE_DONE);

        assert_int_equal(job_reader_find(place->reader, "job-on", &row), 0);
        assert_int_equal(row.view.state, JOB_FINISHED);
        assert_string_equal(row.view.info.cgroup, "/system.slice/job-on.service");
        assert_int_equal(row.view.n_phases, 2);
        assert_true(row.view.usage.value[USAGE_CPU_SECONDS] == 1.5);
        assert_int_equal(job_reader_list_phases(place->reader, "job-on"), 0);
        assert_int_equal(job_reader_next_phase(place->reader, &phase), 0);
        assert_string_equal(phase.name, "load");
}

static void a_job_takes_all_that_is_its_with_it(void **state) {
        Place *place = *state;
        PhaseView phase = { .name = "load" };
        StorePhase put = { .job = "job-on", .phase = &phase, .progress = "p", .boot_id = BOOT, .meter = "m" };

        assert_int_equal(store_put(place->store, job_rows_pack_phase(&put, cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        place_close(place);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM timeline"), 3);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM phase"), 1);

        change_place(place, "DELETE FROM job");
        assert_int_equal(ask_place(place, "SELECT count(*) FROM timeline"), 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM phase"), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, place_teardown)
                TEST(it_is_brought_up_to_date_once),
                TEST(a_finished_job_reads_as_it_was),
                TEST(the_others_are_listed_with_their_states),
                TEST(results_and_history_read_as_they_were),
                TEST(a_running_job_is_recovered_with_its_window),
                TEST(a_running_job_goes_on_with_all_that_is_new),
                TEST(a_job_takes_all_that_is_its_with_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
