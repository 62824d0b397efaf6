/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup, the usage and the phases of a job in the store. */
/* tests: daemon/store/jobs/job_rows.c daemon/store/jobs/job_reader.c */

#include <math.h>

#include "store/jobs/job_reader.h"
#include "store/jobs/job_rows.h"
#include "store_fixture.h"

static JobInfo make_job(const char *id) {
        JobInfo info = { .name = "train", .uid = 1000, .rank = -1, .node = -1 };

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        return info;
}

static StoreOutcome begin(Store *store, const JobInfo *info) {
        assert_int_equal(store_put(store, pack_begin_row(info, 1000, "boot-1", "progress-1", "meter-1", cookie_of(1))),
                         0);
        return outcome_of(store, 1);
}

static PhaseView make_phase(uint32_t index, const char *name) {
        PhaseView phase = { .index = index,
                            .begin_realtime_ms = 1000 + 100 * index,
                            .end_realtime_ms = 1100 + 100 * index };

        (void)snprintf(phase.name, sizeof(phase.name), "%s", name);
        for (size_t i = 0; i < N_METRICS; i++) {
                phase.metrics.quality[i] = (uint8_t)((i + index) % N_QUALITIES);
                phase.metrics.value[i] = quality_is_present(phase.metrics.quality[i]) ? (double)(i + index) / 7 : 0;
        }
        for (size_t i = 0; i < N_USAGES; i++) {
                phase.usage.quality[i] = (uint8_t)((i + index + 3) % N_QUALITIES);
                phase.usage.value[i] = quality_is_present(phase.usage.quality[i]) ? 1e9 / (double)(i + index + 1) : 0;
        }
        return phase;
}

static StoreOutcome put_phase(Store *store, const char *job, const PhaseView *phase, const char *progress) {
        StorePhase row = { .job = job, .phase = phase, .progress = progress, .boot_id = "boot-1", .meter = "meter-2" };

        assert_int_equal(store_put(store, job_rows_pack_phase(&row, cookie_of(3))), 0);
        return outcome_of(store, 3);
}

static StoreOutcome end(Store *store, const char *job, const UsageSet *usage, const PhaseView *phase) {
        StoreJobEnd row = {
                .job = job,
                .state = JOB_FINISHED,
                .end_realtime_ms = 2000,
                .end = &(JobEnd){},
                .metrics = &(MetricSet){},
                .usage = usage,
                .phase = phase,
        };

        assert_int_equal(store_put(store, job_rows_pack_end(&row, cookie_of(2))), 0);
        return outcome_of(store, 2);
}

static void assert_phase(Reader *reader, const PhaseView *phase) {
        PhaseView back;

        assert_int_equal(job_reader_next_phase(reader, &back), 0);
        assert_int_equal(back.index, phase->index);
        assert_string_equal(back.name, phase->name);
        assert_int_equal(back.begin_realtime_ms, phase->begin_realtime_ms);
        assert_int_equal(back.end_realtime_ms, phase->end_realtime_ms);
        assert_int_equal(back.has_wall_seconds, phase->has_wall_seconds);
        assert_true(back.wall_seconds == phase->wall_seconds);
        assert_memory_equal(&back.metrics, &phase->metrics, sizeof(back.metrics));
        assert_memory_equal(&back.usage, &phase->usage, sizeof(back.usage));
}

static uint64_t count_phases(Reader *reader, const char *job) {
        uint64_t n = 0;
        PhaseView phase;
        int r;

        assert_int_equal(job_reader_list_phases(reader, job), 0);
        while ((r = job_reader_next_phase(reader, &phase)) == 0)
                n++;
        assert_int_equal(r, READER_END);
        return n;
}

/* --- jobs ---------------------------------------------------------------------------------------- */

static void the_place_of_a_job_round_trips(void **state) {
        scoped(job_reader_free_recoveryp) JobRecovery *recovery = NULL;
        Place *place = *state;
        JobInfo info = make_job("job-1");
        JobRow row;

        info.node = 3;
        info.n_nodes = 4;
        info.n_ranks = UINT32_MAX;
        info.isolation = ISOLATION_SCOPE;
        info.cgroup = (char *)"/user.slice/perfd-job-1.scope";
        assert_int_equal(begin(place->store, &info), STORE_DONE);

        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_int_equal(row.view.info.node, 3);
        assert_int_equal(row.view.info.n_nodes, 4);
        assert_true(row.view.info.n_ranks == UINT32_MAX);
        assert_int_equal(row.view.info.isolation, ISOLATION_SCOPE);
        assert_string_equal(row.view.info.cgroup, "/user.slice/perfd-job-1.scope");
        assert_int_equal(row.view.n_phases, 0);

        assert_int_equal(job_reader_recover(store_path(place->store), NULL, &recovery), 0);
        assert_int_equal(recovery->jobs[0].info.isolation, ISOLATION_SCOPE);
        assert_string_equal(recovery->jobs[0].info.cgroup, "/user.slice/perfd-job-1.scope");
        assert_int_equal(recovery->jobs[0].info.node, 3);
}

static void a_job_without_a_cgroup_has_none(void **state) {
        Place *place = *state;
        JobInfo info = make_job("job-1");
        JobRow row;

        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(end(place->store, "job-1", NULL, NULL), STORE_DONE);
        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_int_equal(row.view.info.isolation, ISOLATION_NONE);
        assert_null(row.view.info.cgroup);
        assert_int_equal(row.view.info.node, -1);
        for (size_t i = 0; i < USAGE_ENERGY; i++)
                assert_int_equal(row.view.usage.quality[i], QUALITY_NO_GROUP);
}

static void usage_is_lost_if_it_could_not_be_read(void **state) {
        Place *place = *state;
        JobInfo info = make_job("job-1");
        JobRow row;

        info.isolation = ISOLATION_SUBREAPER;
        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(end(place->store, "job-1", NULL, NULL), STORE_DONE);
        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        for (size_t i = 0; i < USAGE_ENERGY; i++)
                assert_int_equal(row.view.usage.quality[i], QUALITY_LOST);
}

static StoreOutcome learn(Store *store, const StoreJobIdentity *learned) {
        assert_int_equal(store_put(store, job_rows_pack_identity(learned, cookie_of(77))), 0);
        return outcome_of(store, 77);
}

static void a_running_job_may_turn_out_to_have_a_cgroup_and_an_owner(void **state) {
        Place *place = *state;
        StoreJobIdentity learned = {
                .job = "job-1",
                .name = "training/pod-0",
                .user = "ada",
                .isolation = ISOLATION_FOUND,
                .cgroup = "cpuacct:/slurm/uid_0/job_7",
                .uid = 2000,
                .gid = 3000,
        };
        JobInfo info = make_job("job-1");
        JobRow row;

        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(learn(place->store, &learned), STORE_DONE);
        assert_int_equal(end(place->store, "job-1", NULL, NULL), STORE_DONE);
        learned.cgroup = "/too/late";
        assert_int_equal(learn(place->store, &learned), STORE_MISSING);
        learned.job = "nobody";
        assert_int_equal(learn(place->store, &learned), STORE_MISSING);

        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_int_equal(row.view.info.isolation, ISOLATION_FOUND);
        assert_string_equal(row.view.info.name, "training/pod-0");
        assert_string_equal(row.view.info.cgroup, "cpuacct:/slurm/uid_0/job_7");
        assert_int_equal(row.view.info.uid, 2000);
        assert_int_equal(row.view.info.gid, 3000);
}

static void usage_round_trips_with_every_bit(void **state) {
        Place *place = *state;
        JobInfo info = make_job("job-1");
        UsageSet usage = make_phase(5, "").usage;
        ListedJob listed;
        JobRow row;

        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(end(place->store, "job-1", &usage, NULL), STORE_DONE);
        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_memory_equal(&row.view.usage, &usage, sizeof(usage));
        assert_int_equal(job_reader_find_row(place->reader, row.row, &row), 0);
        assert_memory_equal(&row.view.usage, &usage, sizeof(usage));
        assert_int_equal(job_reader_list(place->reader, &(JobFilter){ .has_usage = true }), 0);
        assert_int_equal(job_reader_next(place->reader, &listed), 0);
        for (UsageMetric i = 0; i < N_USAGES; i++)
                assert_true(quality_is_present(usage.quality[i])
                                    ? job_reader_usage(place->reader, &listed, i) == usage.value[i]
                                    : isnan(job_reader_usage(place->reader, &listed, i)));
        assert_int_equal(job_reader_list(place->reader, &(JobFilter){}), 0);
        assert_int_equal(job_reader_next(place->reader, &listed), 0);
        assert_true(isnan(job_reader_usage(place->reader, &listed, USAGE_CPU_MEAN)));
}

/* --- phases -------------------------------------------------------------------------------------- */

static void phases_are_read_in_order_including_the_last(void **state) {
        Place *place = *state;
        JobInfo info = make_job("job-1");
        PhaseView first = make_phase(0, ""), second = make_phase(1, "l\xc3\xa4\x64t"), last = make_phase(2, "train");
        JobRow row;

        second.has_wall_seconds = true;
        second.wall_seconds = 0.1;
        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(put_phase(place->store, "job-1", &first, "p"), STORE_DONE);
        assert_int_equal(put_phase(place->store, "job-1", &second, "p"), STORE_DONE);
        assert_int_equal(count_phases(place->reader, "job-1"), 2);
        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_int_equal(row.view.n_phases, 3);

        assert_int_equal(end(place->store, "job-1", NULL, &last), STORE_DONE);
        assert_int_equal(job_reader_list_phases(place->reader, "job-1"), 0);
        assert_phase(place->reader, &first);
        assert_phase(place->reader, &second);
        assert_phase(place->reader, &last);
        assert_int_equal(job_reader_next_phase(place->reader, &first), READER_END);
        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_int_equal(row.view.n_phases, 3);
        assert_int_equal(count_phases(place->reader, "nobody"), 0);
}

static void a_phase_is_stored_with_the_progress_of_its_job_and_the_meter(void **state) {
        scoped(job_reader_free_recoveryp) JobRecovery *recovery = NULL;
        Place *place = *state;
        JobInfo info = make_job("job-1");
        PhaseView phase = make_phase(0, "load");

        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(put_phase(place->store, "job-1", &phase, "progress-2"), STORE_DONE);
        place_close(place);
        place_open(place);
        assert_int_equal(job_reader_recover(store_path(place->store), NULL, &recovery), 0);
        assert_int_equal(recovery->n_jobs, 1);
        assert_string_equal(recovery->jobs[0].progress, "progress-2");
        assert_int_equal(recovery->jobs[0].checkpoint_realtime_ms, phase.end_realtime_ms);
        assert_string_equal(recovery->meter, "meter-2");
        assert_int_equal(recovery->meter_realtime_ms, phase.end_realtime_ms);
        assert_int_equal(count_phases(place->reader, "job-1"), 1);
}

static void a_job_that_is_not_running_gets_no_phase(void **state) {
        scoped(job_reader_free_recoveryp) JobRecovery *recovery = NULL;
        Place *place = *state;
        JobInfo info = make_job("job-1");
        PhaseView phase = make_phase(0, "load");

        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(put_phase(place->store, "nobody", &phase, "p"), STORE_MISSING);
        assert_int_equal(end(place->store, "job-1", NULL, NULL), STORE_DONE);
        assert_int_equal(put_phase(place->store, "job-1", &phase, "p"), STORE_MISSING);
        assert_int_equal(end(place->store, "nobody", NULL, &phase), STORE_MISSING);
        assert_int_equal(count_phases(place->reader, "job-1"), 0);
        assert_int_equal(job_reader_recover(store_path(place->store), NULL, &recovery), 0);
        assert_string_equal(recovery->meter, "meter-1");
}

static void a_phase_that_is_put_again_is_replaced(void **state) {
        Place *place = *state;
        JobInfo info = make_job("job-1");
        PhaseView before = make_phase(0, "load"), after = make_phase(0, "loaded");

        after.usage.value[4] = 42;
        assert_true(quality_is_present(after.usage.quality[4]));
        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(put_phase(place->store, "job-1", &before, "p"), STORE_DONE);
        assert_int_equal(put_phase(place->store, "job-1", &after, "p"), STORE_DONE);
        assert_int_equal(count_phases(place->reader, "job-1"), 1);
        assert_int_equal(job_reader_list_phases(place->reader, "job-1"), 0);
        assert_phase(place->reader, &after);
}

/* --- limits and damage --------------------------------------------------------------------------- */

static void phases_go_with_their_job_and_count(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        JobInfo old = make_job("old"), on = make_job("on");
        PhaseView last = make_phase(400, "last");
        StoreStats stats;

        assert_int_equal(begin(place->store, &old), STORE_DONE);
        assert_int_equal(begin(place->store, &on), STORE_DONE);
        for (uint32_t i = 0; i < 400; i++) {
                PhaseView phase = make_phase(i, "epoch");

                assert_int_equal(put_phase(place->store, "old", &phase, "p"), STORE_DONE);
        }
        assert_int_equal(put_phase(place->store, "on", &last, "p"), STORE_DONE);
        assert_int_equal(end(place->store, "old", NULL, &last), STORE_DONE);

        config.keep_jobs_ns = NS_PER_S;
        store_configure(place->store, &config);
        EVENTUALLY(count_phases(place->reader, "old") == 0);
        assert_int_equal(count_phases(place->reader, "on"), 1);
        EVENTUALLY((store_stats(place->store, &stats), stats.n_rows_removed) == 402);
}

static void a_query_for_phases_has_a_time_limit(void **state) {
        Place *place = *state;
        scoped(reader_freep) Reader *hasty = NULL;
        JobInfo info = make_job("job-1");
        PhaseView phase = make_phase(0, "load");
        int r;

        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(put_phase(place->store, "job-1", &phase, "p"), STORE_DONE);
        assert_int_equal(reader_new(&hasty, store_path(place->store), store_wal_barrier(place->store), 1), 0);
        r = job_reader_list_phases(hasty, "job-1");
        assert_int_equal(r == 0 ? job_reader_next_phase(hasty, &phase) : r, READER_TIMEOUT);
}

static void invalid_numbers_are_absent(void **state) {
        static const char *const damages[] = {
                "usage = '', metrics = ''",
                "usage = 'V1V2', metrics = 'V1V2'",
                "usage = 'x' || usage, metrics = 'x' || metrics",
                "usage = usage || 'V1', metrics = metrics || 'V1'",
                "usage = CAST(x'ff00fe' AS TEXT), metrics = CAST(x'ff00fe' AS TEXT)",
                "usage_layout = 77, layout = 77",
                "usage_layout = NULL, layout = NULL",
                "usage_layout = -1, layout = -9223372036854775808",
                "usage_layout = layout, layout = usage_layout",
                "usage = printf('%.*c', 100000, 'V'), metrics = printf('%.*c', 100000, 'V')",
        };
        Place *place = *state;
        JobInfo info = make_job("job-1");
        PhaseView phase = make_phase(0, "load");

        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(put_phase(place->store, "job-1", &phase, "p"), STORE_DONE);
        assert_int_equal(end(place->store, "job-1", &phase.usage, NULL), STORE_DONE);
        change_place(place,
                     "CREATE TABLE good_job AS SELECT * FROM job; CREATE TABLE good_phase AS SELECT * FROM phase");
        for (size_t i = 0; i < N_ELEMENTS(damages); i++) {
                char sql[1024];
                PhaseView back;
                JobRow row;

                (void)snprintf(sql, sizeof(sql), "UPDATE job SET %s; UPDATE phase SET %s", damages[i], damages[i]);
                change_place(place, sql);
                assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
                assert_int_equal(job_reader_find_row(place->reader, row.row, &row), 0);
                assert_false(row.has_metrics);
                assert_int_equal(job_reader_list_phases(place->reader, "job-1"), 0);
                assert_int_equal(job_reader_next_phase(place->reader, &back), 0);
                assert_string_equal(back.name, "load");
                for (size_t k = 0; k < N_USAGES; k++)
                        assert_false(quality_is_present(row.view.usage.quality[k]) ||
                                     quality_is_present(back.usage.quality[k]));
                for (size_t k = 0; k < N_METRICS; k++)
                        assert_false(quality_is_present(back.metrics.quality[k]));
                change_place(place, "DELETE FROM job; INSERT INTO job SELECT * FROM good_job; INSERT INTO phase SELECT "
                                    "* FROM good_phase");
        }
        assert_int_equal(job_reader_list_phases(place->reader, "job-1"), 0);
        assert_phase(place->reader, &phase);
}

static void invalid_layouts_are_absent(void **state) {
        static const char *const damages[] = {
                "''", "'x'", "'usage'", "printf('%.*c', 300000, 'k')", "replace(printf('%.*c', 300, 'k'), 'k', 'k ')",
        };
        Place *place = *state;
        JobInfo info = make_job("job-1");
        PhaseView phase = make_phase(0, "load");

        assert_int_equal(begin(place->store, &info), STORE_DONE);
        assert_int_equal(end(place->store, "job-1", &phase.usage, &phase), STORE_DONE);
        for (size_t i = 0; i < N_ELEMENTS(damages); i++) {
                scoped(reader_freep) Reader *reader = NULL;
                PhaseView back;
                char sql[256];
                JobRow row;

                (void)snprintf(sql, sizeof(sql), "UPDATE layout SET keys = id || ' ' || %s", damages[i]);
                change_place(place, sql);
                assert_int_equal(
                        reader_new(&reader, store_path(place->store), store_wal_barrier(place->store), 10 * NS_PER_S),
                        0);
                assert_int_equal(job_reader_find(reader, "job-1", &row), 0);
                assert_false(row.has_metrics);
                assert_int_equal(row.view.usage.quality[USAGE_CPU_SECONDS], QUALITY_UNKNOWN_SOURCE);
                assert_int_equal(job_reader_list_phases(reader, "job-1"), 0);
                assert_int_equal(job_reader_next_phase(reader, &back), 0);
        }
}

static void invalid_places_are_unknown(void **state) {
        Place *place = *state;
        JobInfo info = make_job("job-1");
        JobRow row;

        assert_int_equal(begin(place->store, &info), STORE_DONE);
        change_place(place, "UPDATE job SET node = -7, n_nodes = -1, n_ranks = 4294967296, isolation = 'of a later "
                            "version', cgroup = '',"
                            " n_phases = 9223372036854775807");
        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_int_equal(row.view.info.node, -1);
        assert_int_equal(row.view.info.n_nodes, 0);
        assert_int_equal(row.view.info.n_ranks, 0);
        assert_int_equal(row.view.info.isolation, ISOLATION_NONE);
        assert_null(row.view.info.cgroup);
        assert_int_equal(row.view.n_phases, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
                TEST(the_place_of_a_job_round_trips),
                TEST(a_job_without_a_cgroup_has_none),
                TEST(usage_is_lost_if_it_could_not_be_read),
                TEST(a_running_job_may_turn_out_to_have_a_cgroup_and_an_owner),
                TEST(usage_round_trips_with_every_bit),
                TEST(phases_are_read_in_order_including_the_last),
                TEST(a_phase_is_stored_with_the_progress_of_its_job_and_the_meter),
                TEST(a_job_that_is_not_running_gets_no_phase),
                TEST(a_phase_that_is_put_again_is_replaced),
                TEST(phases_go_with_their_job_and_count),
                TEST(a_query_for_phases_has_a_time_limit),
                TEST(invalid_numbers_are_absent),
                TEST(invalid_layouts_are_absent),
                TEST(invalid_places_are_unknown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
