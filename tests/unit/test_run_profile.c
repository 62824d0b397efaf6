/* SPDX-License-Identifier: Apache-2.0 */
/* The machine beside the runs of a KPI: the comparison, and the runs that the store has. */
/* tests: daemon/http/kpis/kpi_profile.c daemon/store/indicators/result_reader.c */
#include "store_fixture.h"

#include <math.h>

#include "http/kpis/kpi_profile.h"
#include "store/jobs/job_rows.h"

#define UID      1000
#define BEGIN_MS UINT64_C(1764000000000)
#define N_BEFORE 5U
#define N_RUNS   8U

/* --- comparison ----------------------------------------------------------------------------------- */

/* A number of the new runs; before, it was `before`. NAN: it stays. */
typedef struct Change {
        RunNumber number;
        double before, after;
} Change;

static RunComparison compare(const Change *changes, size_t n_changes, size_t n_changed_runs) {
        RunProfile runs[N_RUNS];

        for (size_t i = 0; i < N_RUNS; i++) {
                runs[i] = kpi_profile_unknown();
                for (size_t k = 0; k < n_changes; k++)
                        runs[i].numbers[changes[k].number] = i >= N_RUNS - n_changed_runs ? changes[k].after
                                                                                          : changes[k].before;
        }
        return kpi_profile_compare(runs, N_BEFORE, N_RUNS);
}

static void the_machine_disturbs_if_the_run_itself_is_no_reason(void **state) {
        static const struct {
                Change changes[2];
                bool is_disturbed;
        } cases[] = {
                { { { RUN_STEAL, 0.01, 0.2 }, { RUN_CPUS_USED, 1, 1 } }, true },
                { { { RUN_STEAL, 0.2, 0.26 }, { RUN_CPUS_USED, 1, 1 } }, false }, /* has not doubled */
                { { { RUN_STEAL, 0.01, 0.04 }, { RUN_CPUS_USED, 1, 1 } }, false },
                { { { RUN_STEAL, NAN, 0.5 }, { RUN_CPUS_USED, 1, 1 } }, false },
                { { { RUN_OTHERS_CPU, 0.1, 0.8 }, { RUN_CPU_WAITED, 0.01, 0.4 } }, true },
                /* there were CPUs for all */
                { { { RUN_OTHERS_CPU, 0.1, 0.8 }, { RUN_CPU_WAITED, 0.01, 0.05 } }, false },
                { { { RUN_OTHERS_CPU, 0.1, 0.8 }, { RUN_CPU_WAITED, NAN, NAN } }, false },
                { { { RUN_IO_STALLED, 0.02, 0.6 }, { RUN_IO_BYTES, 1e6, 1.1e6 } }, true },
                /* the new version reads more */
                { { { RUN_IO_STALLED, 0.02, 0.6 }, { RUN_IO_BYTES, 1e6, 9e6 } }, false },
                { { { RUN_MEMORY_STALLED, 0, 0.3 }, { RUN_MEMORY_BYTES, 1e9, 1e9 } }, true },
                { { { RUN_MEMORY_STALLED, 0, 0.3 }, { RUN_MEMORY_BYTES, 1e9, 3e9 } }, false },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                RunComparison all = compare(cases[i].changes, 2, N_RUNS - N_BEFORE),
                              one = compare(cases[i].changes, 2, 1);

                assert_int_equal(all.is_disturbed, cases[i].is_disturbed);
                assert_int_equal(all.is_disturbance[cases[i].changes[0].number], cases[i].is_disturbed);
                assert_false(all.is_disturbance[cases[i].changes[1].number]);
                assert_false(one.is_disturbed); /* the other runs have the new level without */
        }
}

static void the_numbers_are_medians(void **state) {
        RunProfile runs[N_RUNS];
        RunComparison comparison;

        (void)state;
        for (size_t i = 0; i < N_RUNS; i++) {
                runs[i] = kpi_profile_unknown();
                runs[i].numbers[RUN_CPUS_USED] = i == 0 ? NAN : i == 7 ? 100 : (double)i;
        }
        comparison = kpi_profile_compare(runs, N_BEFORE, N_RUNS);
        assert_true(comparison.before[RUN_CPUS_USED] == 2.5 && comparison.value[RUN_CPUS_USED] == 6);
        assert_true(isnan(comparison.value[RUN_STEAL]));
        assert_false(kpi_profile_compare(runs, N_RUNS, N_RUNS).is_disturbed);
}

/* --- runs of the store ---------------------------------------------------------------------------- */

/* Stores a job of 10 s on two CPUs, of which the hypervisor took a share, with a result. Returns the result's row. */
static int64_t put_run(Place *place, unsigned n, double steal, const char *kernel) {
        JobInfo info = { .uid = UID, .gid = UID, .rank = -1, .node = -1 };
        const JobEnd end = { .has_exit_status = true };
        MetricSet metrics = {};
        UsageSet usage = {};
        StoreJobEnd row = {
                .job = info.id, .state = JOB_FINISHED, .end_realtime_ms = BEGIN_MS + 10000, .end = &end,
                .metrics = &metrics, .usage = &usage,
        };
        const Value run = { .type = VALUE_OBJECT };
        char text[64];
        Item item;

        (void)snprintf(info.id, sizeof(info.id), "job%u", n);
        assert_int_equal(
                store_put(place->store, pack_begin_row(&info, BEGIN_MS, "boot-1", "progress", "meter", cookie_of(1))),
                0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);

        item_make(&item, "PiMatmul", "tensorflow", n);
        item.submission.job = info.id;
        item.submission.run = &run;
        (void)snprintf(text, sizeof(text), "{\"kernel\":\"%s\",\"host\":{\"hostname\":\"a\"}}", kernel);
        item.submission.run_text = json_text(text, strlen(text));
        assert_int_equal(put_one(place->store, &item.submission, 2), STORE_DONE);

        metrics.quality[METRIC_CPU_HOURS] = metrics.quality[METRIC_CPU_UNUSED_HOURS] =
                metrics.quality[METRIC_CPU_STEAL] = QUALITY_EXACT;
        metrics.value[METRIC_CPU_HOURS] = 20;
        metrics.value[METRIC_CPU_UNUSED_HOURS] = 10;
        metrics.value[METRIC_CPU_STEAL] = 20 * steal;
        usage.quality[USAGE_CPU_SECONDS] = QUALITY_EXACT;
        usage.value[USAGE_CPU_SECONDS] = 5;
        assert_int_equal(store_put(place->store, job_rows_pack_end(&row, cookie_of(3))), 0);
        assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
        return ask_place(place, "SELECT max(row) FROM result");
}

static void a_profile_has_the_numbers_and_what_differs(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        Place *place = *state;
        HistoryRun runs[4] = {};
        bool is_disturbed;

        for (unsigned i = 0; i < 4; i++)
                runs[i].result = put_run(place, i, i < 3 ? 0.01 : 0.25, i < 3 ? "6.1" : "6.2");
        assert_int_equal(kpi_profile_write(place->reader, runs, 3, 4, &text, &is_disturbed), 0);
        assert_true(is_disturbed);
        assert_string_equal(text.text,
                            "{\"runs\":1,\"runs_before\":3,\"is_disturbed\":true,\"numbers\":["
                            "{\"name\":\"others_cpu_share\",\"value\":0.25,\"before\":0.25,\"is_disturbance\":false},"
                            "{\"name\":\"steal_share\",\"value\":0.25,\"before\":0.01,\"is_disturbance\":true}],"
                            "\"differs\":[{\"key\":\"kernel\",\"value\":\"6.2\",\"before\":\"6.1\"}]}");

        /* A result that was removed meanwhile is left out. */
        buffer_clear(&text);
        runs[0].result = 1000;
        assert_int_equal(kpi_profile_write(place->reader, runs, 3, 4, &text, &is_disturbed), 0);
        assert_non_null(strstr(text.text, "\"runs_before\":2"));
}

static void without_jobs_and_facts_there_is_no_profile(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        Place *place = *state;
        HistoryRun runs[2] = {};
        bool is_disturbed;

        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(put_number(place->store, i, 0), STORE_DONE);
                runs[i].result = ask_place(place, "SELECT max(row) FROM result");
        }
        assert_int_equal(kpi_profile_write(place->reader, runs, 1, 2, &text, &is_disturbed), 0);
        assert_false(is_disturbed);
        assert_int_equal(text.n, 0);
        assert_int_equal(kpi_profile_write(place->reader, runs, 2, 2, &text, &is_disturbed), 0);
        assert_int_equal(text.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_machine_disturbs_if_the_run_itself_is_no_reason),
                cmocka_unit_test(the_numbers_are_medians),
                cmocka_unit_test_setup_teardown(a_profile_has_the_numbers_and_what_differs, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(without_jobs_and_facts_there_is_no_profile, place_setup_volatile,
                                                place_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
