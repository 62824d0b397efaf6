/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: filters, pages, time limits, and the indexes used. */
/* tests: daemon/store/database/statement.c daemon/store/read/read_connection.c daemon/store/jobs/job_reader.c
    daemon/store/node/store_node.c daemon/store/indicators/result_reader.c
    daemon/store/indicators/indicator_reader.c daemon/store/catalog/catalog.c */

#include "store/indicators/indicator_reader.h"
#include "store/indicators/result_reader.h"
#include "store/indicators/result_rows.h"
#include "store/jobs/job_reader.h"
#include "store/jobs/job_rows.h"
#include "store/node/store_node.h"
#include "store_fixture.h"


/* Stores n results, many per submission; result i has the i-th time, name, component and job of these cycles. */
typedef struct Pattern {
        uint64_t times, names, components, jobs; /* length of each cycle */
} Pattern;

static void put_pattern(Store *store, uint64_t n, const Pattern *pattern) {
        enum { GROUP = 100 };
        Submission *submissions = calloc(GROUP, sizeof(*submissions));
        Item *items = calloc(GROUP, sizeof(*items));
        char names[GROUP][16], components[GROUP][16], jobs[GROUP][16];

        assert_non_null(items);
        assert_non_null(submissions);
        for (uint64_t i = 0; i < n; i += GROUP) {
                for (uint64_t k = 0; k < GROUP; k++) {
                        (void)snprintf(names[k], sizeof(names[k]), "name-%u", (unsigned)((i + k) % pattern->names));
                        (void)snprintf(components[k], sizeof(components[k]), "part-%u",
                                       (unsigned)((i + k) % pattern->components));
                        (void)snprintf(jobs[k], sizeof(jobs[k]), "job-%u", (unsigned)((i + k) % pattern->jobs));
                        item_make(&items[k], names[k], components[k], i + k + 1);
                        submissions[k] = items[k].submission;
                        submissions[k].time_ms = 1 + (i + k) % pattern->times;
                        submissions[k].job = jobs[k];
                }
                assert_int_equal(store_put(store, result_rows_pack(submissions, GROUP, ROOT, 1, cookie_of(i + 1))), 0);
                assert_int_equal(outcome_of(store, i + 1), STORE_DONE);
        }
        free(items);
        free(submissions);
}

/* Walks all pages; each row must be older than the previous one, and occur once. Returns the number of rows. */
static uint64_t walk_pages(Reader *reader, ResultFilter filter, size_t n_page, uint8_t *seen) {
        uint64_t n = 0;
        size_t n_in_page;

        do {
                ResultRow row;

                n_in_page = 0;
                assert_int_equal(result_reader_list(reader, &filter), 0);
                while (n_in_page < n_page && result_reader_next(reader, &row) == 0) {
                        uint64_t number = id_number(row.id);

                        if (n > 0)
                                assert_true(row.time_ms < filter.before.time_ms ||
                                            (row.time_ms == filter.before.time_ms && row.row < filter.before.row));
                        assert_int_equal(seen[number], 0);
                        seen[number] = 1;
                        filter.before = (PageKey){ row.time_ms, row.row };
                        n_in_page++;
                        n++;
                }
        } while (n_in_page == n_page);
        return n;
}

static void pages_cover_ten_thousand_results_each_once(void **state) {
        static const Pattern patterns[] = {
                { .times = 10000, .names = 1, .components = 1, .jobs = 1 },
                { .times = 7, .names = 1, .components = 1, .jobs = 1 }, /* many results with the same time */
        };

        for (size_t i = 0; i < N_ELEMENTS(patterns); i++) {
                const ResultFilter filters[] = {
                        {}, { .name = "name-0" }, { .component = "part-0" }, { .job = "job-0" }
                };
                Place *place;

                if (i > 0)
                        assert_int_equal(place_teardown(state) + place_setup_volatile(state), 0);
                place = *state;
                put_pattern(place->store, 10000, &patterns[i]);
                for (size_t k = 0; k < N_ELEMENTS(filters); k++) {
                        uint8_t seen[10001] = {};

                        assert_int_equal(walk_pages(place->reader, filters[k], 97, seen), 10000);
                }
        }
}

static void results_stored_while_paging_shift_no_page(void **state) {
        Place *place = *state;
        ResultFilter filter = {};
        uint8_t seen[3000] = {};
        ResultRow row;

        put_pattern(place->store, 1000, &(Pattern){ .times = 1000, .names = 1, .components = 1, .jobs = 1 });
        assert_int_equal(result_reader_list(place->reader, &filter), 0);
        for (size_t i = 0; i < 100; i++) {
                assert_int_equal(result_reader_next(place->reader, &row), 0);
                seen[id_number(row.id)] = 1;
        }
        filter.before = (PageKey){ row.time_ms, row.row };
        for (uint64_t n = 2000; n < 2050; n++)
                assert_int_equal(put_number(place->store, n, 5000), STORE_DONE);
        assert_int_equal(walk_pages(place->reader, filter, 100, seen), 900);
}

static void filters_are_met_all_at_once(void **state) {
        Place *place = *state;

        put_pattern(place->store, 3000, &(Pattern){ .times = 3000, .names = 2, .components = 3, .jobs = 5 });
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .name = "name-1" }), 1500);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .component = "part-2" }), 1000);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .job = "job-4" }), 600);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .name = "name-1", .component = "part-2" }), 500);
        assert_int_equal(count_results(place->reader,
                                       &(ResultFilter){ .name = "name-1", .component = "part-2", .job = "job-4" }),
                         100);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .name = "name-7" }), 0);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .name = "part-2" }), 0);
}

static void times_are_from_since_up_to_but_without_until(void **state) {
        Place *place = *state;
        ResultFilter filter = { .since_ms = 10, .until_ms = 20 };
        ResultRow row;

        put_pattern(place->store, 100, &(Pattern){ .times = 100, .names = 1, .components = 1, .jobs = 1 });
        assert_int_equal(count_results(place->reader, &filter), 10);
        assert_int_equal(result_reader_list(place->reader, &filter), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        assert_int_equal(row.time_ms, 19);

        /* The earlier of the page's key and `until` applies. */
        filter.before = (PageKey){ 15, INT64_MAX };
        assert_int_equal(count_results(place->reader, &filter), 6);
        filter.before = (PageKey){ 50, 1 };
        assert_int_equal(count_results(place->reader, &filter), 10);
        filter.name = "name-0";
        assert_int_equal(count_results(place->reader, &filter), 10);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .since_ms = 101 }), 0);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .since_ms = UINT64_MAX }), 0);
}

static void indicators_are_counted_with_their_latest_time(void **state) {
        static const char *const names[] = { "name-0", "name-0", "name-1", "name-1" };
        static const char *const components[] = { "part-0", "part-2", "part-1", "part-3" };
        Place *place = *state;
        IndicatorRow row;

        put_pattern(place->store, 400, &(Pattern){ .times = 400, .names = 2, .components = 4, .jobs = 1 });
        assert_int_equal(indicator_reader_list(place->reader), 0);
        for (size_t i = 0; i < 4; i++) {
                assert_int_equal(indicator_reader_next(place->reader, &row), 0);
                assert_string_equal(row.name, names[i]);
                assert_string_equal(row.component, components[i]);
                assert_int_equal(row.n_results, 100);
        }
        assert_int_equal(row.latest_ms, 400);
        assert_int_equal(indicator_reader_next(place->reader, &row), READER_END);
}

static void many_names_share_the_memory_of_few(void **state) {
        Place *place = *state;
        uint64_t n = 0, n_results = 0;
        IndicatorRow row;

        /* Duplicates are counted once, whatever the order of names. */
        for (size_t round = 0; round < 2; round++)
                for (uint64_t i = 1; i <= 1500; i++) {
                        char name[16];
                        Item item;

                        (void)snprintf(name, sizeof(name), "name-%u", (unsigned)(i % 500));
                        item_make(&item, name, "part", i);
                        item.submission.time_ms = i;
                        assert_int_equal(
                                store_put(place->store, result_rows_pack(&item.submission, 1, ROOT, 1, cookie_of(i))),
                                0);
                }
        for (size_t i = 0; i < 3000; i++) {
                StoreDone done;

                assert_true(wait_done(place->store, &done, DEADLINE_MS));
                assert_int_equal(done.outcome, i < 1500 ? STORE_DONE : STORE_DUPLICATE);
        }

        assert_int_equal(indicator_reader_list(place->reader), 0);
        while (indicator_reader_next(place->reader, &row) == 0) {
                n++;
                n_results += row.n_results;
                assert_true(row.latest_ms > 1000);
        }
        assert_int_equal(n, 500);
        assert_int_equal(n_results, 1500);
}

/* --- jobs ---------------------------------------------------------------------------------------- */

static void put_job(Store *store, unsigned n, bool is_over) {
        JobInfo info = { .uid = n % 3 };
        MetricSet metrics = {};
        StoreJobEnd row = {
                .job = info.id, .state = JOB_FINISHED, .end_realtime_ms = 1000 + n, .end = &(JobEnd){},
                .metrics = &metrics, .timeline = &BYTES("t"),
        };

        (void)snprintf(info.id, sizeof(info.id), "job-%u", n);
        (void)snprintf(info.name, sizeof(info.name), "name-%u", n % 2);
        (void)snprintf(info.user, sizeof(info.user), "user-%u", n % 3);
        assert_int_equal(store_put(store, pack_begin_row(&info, 100 + n / 4, "b", "w", "m", cookie_of(1))), 0);
        assert_int_equal(outcome_of(store, 1), STORE_DONE);
        if (!is_over)
                return;

        metrics.quality[METRIC_DURATION] = QUALITY_EXACT;
        metrics.value[METRIC_DURATION] = n;
        assert_int_equal(store_put(store, job_rows_pack_end(&row, cookie_of(2))), 0);
        assert_int_equal(outcome_of(store, 2), STORE_DONE);
}

static uint64_t count_jobs(Reader *reader, const JobFilter *filter) {
        uint64_t n = 0;
        ListedJob row;
        int r;

        assert_int_equal(job_reader_list(reader, filter), 0);
        while ((r = job_reader_next(reader, &row)) == 0)
                n++;
        assert_int_equal(r, READER_END);
        return n;
}

static void jobs_are_found_by_name_user_state_and_time(void **state) {
        Place *place = *state;

        for (unsigned n = 0; n < 120; n++)
                put_job(place->store, n, n % 5 != 0);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){}), 120);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){ .name = "name-1" }), 60);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){ .user = "user-2" }), 40);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){ .state = "running" }), 24);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){ .state = "no such state" }), 0);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){ .name = "name-1", .user = "user-2" }), 20);
        assert_int_equal(
                count_jobs(place->reader, &(JobFilter){ .name = "name-1", .user = "user-2", .state = "running" }), 4);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){ .since_ms = 110, .until_ms = 112 }), 8);
}

static void rows_of_others_are_hidden(void **state) {
        Place *place = *state;

        for (unsigned n = 0; n < 10; n++)
                put_job(place->store, n, true);
        assert_int_equal(put_number(place->store, 5000, 5000), STORE_DONE);
        reader_hide_others(place->reader, true, 4711);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){}), 0);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 0);
        assert_int_equal(indicator_reader_list(place->reader), 0);
        assert_int_equal(reader_next(place->reader, &(IndicatorRow){}, sizeof(IndicatorRow)), READER_END);
        reader_hide_others(place->reader, true, -1);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){}), 0);
        reader_hide_others(place->reader, false, 4711);
        assert_int_equal(count_jobs(place->reader, &(JobFilter){}), 10);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 1);
}

static void job_pages_cover_each_once_newest_first(void **state) {
        Place *place = *state;
        JobFilter filter = { .state = "finished" };
        bool seen[100] = {};
        unsigned n = 0, n_in_page;

        for (unsigned i = 0; i < 100; i++)
                put_job(place->store, i, true);
        do {
                ListedJob row;

                n_in_page = 0;
                assert_int_equal(job_reader_list(place->reader, &filter), 0);
                while (n_in_page < 7 && job_reader_next(place->reader, &row) == 0) {
                        unsigned number = (unsigned)atoi(row.id + 4);

                        assert_false(seen[number]);
                        seen[number] = true;
                        filter.before = (PageKey){ row.begin_ms, row.row };
                        n_in_page++;
                        n++;
                }
        } while (n_in_page == 7);
        assert_int_equal(n, 100);
}

static void a_missing_job_ends_the_list(void **state) {
        Place *place = *state;
        JobRow row;

        assert_int_equal(job_reader_find(place->reader, "nobody", &row), READER_END);
        put_job(place->store, 1, false);
        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_null(row.timeline.bytes);
        assert_false(row.has_metrics);
}

static void node_samples_come_oldest_first(void **state) {
        Place *place = *state;
        NodeSampleRow row;

        for (uint64_t i = 0; i < 50; i++)
                assert_int_equal(store_put(place->store, store_node_pack(1000 - 10 * i, 10, &BYTES("point"))), 0);
        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);

        assert_int_equal(store_node_list(place->reader, 600, 700), 0);
        for (uint64_t i = 0; i < 10; i++) {
                assert_int_equal(store_node_next(place->reader, &row), 0);
                assert_int_equal(row.begin_ms, 600 + 10 * i);
                assert_int_equal(row.interval_ms, 10);
                assert_memory_equal(row.timeline.bytes, "point", row.timeline.n);
        }
        assert_int_equal(store_node_next(place->reader, &row), READER_END);
}

/* --- limits and failures ------------------------------------------------------------------------- */

static void a_query_past_its_time_limit_is_cancelled_and_the_next_succeeds(void **state) {
        Place *place = *state;
        scoped(reader_freep) Reader *hasty = NULL;
        ResultRow row;
        int r;

        put_pattern(place->store, 1000, &(Pattern){ .times = 1000, .names = 1, .components = 1, .jobs = 1 });
        assert_int_equal(reader_new(&hasty, store_path(place->store), store_wal_barrier(place->store), 1), 0);
        for (size_t i = 0; i < 3; i++) {
                r = result_reader_list(hasty, &(ResultFilter){});
                assert_int_equal(r == 0 ? result_reader_next(hasty, &row) : r, READER_TIMEOUT);
        }
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 1000);
}

static void the_limit_holds_inside_one_step_that_finds_nothing(void **state) {
        Place *place = *state;
        scoped(reader_freep) Reader *hasty = NULL;
        ResultRow row;
        int r = 0;

        /*
         * A query for a component that is not among the newest scans the whole index: far more than 100 µs of work.
         */
        put_pattern(place->store, 50000, &(Pattern){ .times = 50000, .names = 1, .components = 1, .jobs = 1 });
        assert_int_equal(put_number(place->store, 60000, 1), STORE_DONE);
        assert_int_equal(reader_new(&hasty, store_path(place->store), store_wal_barrier(place->store), 500 * NS_PER_US),
                         0);
        for (size_t i = 0; i < 10 && r != READER_TIMEOUT; i++) {
                /* The first query also connects, which takes time. */
                r = result_reader_list(hasty, &(ResultFilter){ .component = "tensorflow" });
                r = r == 0 ? result_reader_next(hasty, &row) : r;
        }
        assert_int_equal(r, READER_TIMEOUT);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .component = "tensorflow" }), 1);
}

static void a_question_can_be_left_in_the_middle(void **state) {
        Place *place = *state;
        ResultRow row;

        put_pattern(place->store, 100, &(Pattern){ .times = 100, .names = 1, .components = 1, .jobs = 1 });
        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){}), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        reader_reset(place->reader);
        assert_int_equal(result_reader_next(place->reader, &row), READER_END);

        /* A later query sees newer rows. */
        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){}), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        assert_int_equal(put_number(place->store, 5000, 5000), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 101);
}

static void an_unreadable_database_is_reported_until_readable(void **state) {
        Place *place = *state;
        scoped(reader_freep) Reader *reader = NULL;
        char path[PATH_MAX], moved[PATH_MAX];

        place_close(place);
        place_path(place, "perfd.db", path);
        place_path(place, "perfd.moved", moved);
        assert_int_equal(rename(path, moved), 0);
        assert_int_equal(reader_new(&reader, path, NULL, NS_PER_S), 0);
        assert_int_equal(indicator_reader_list(reader), READER_BROKEN);

        assert_int_equal(rename(moved, path), 0);
        place_open(place);
        assert_int_equal(indicator_reader_list(reader), 0);
}

/* --- plans --------------------------------------------------------------------------------------- */

static void every_page_comes_from_an_index_in_its_order(void **state) {
        static const char *const jobs[] = { "begin (",           "name (name=? AND ",   "user (user=? AND ",
                                            "name (name=? AND ", "state (state=? AND ", "name (name=? AND ",
                                            "user (user=? AND ", "name (name=? AND " };
        static const char *const results[] = { "time (",          "name (name=? AND ",
                                               "time (",          "name (name=? AND ",
                                               "job (job=? AND ", "job (job=? AND ",
                                               "job (job=? AND ", "job (job=? AND " };
        const Statement *job = NULL, *result = NULL;
        char step[128];

        for (size_t i = 0; i < N_ELEMENTS(jobs); i++) {
                (void)snprintf(step, sizeof(step), "INDEX job_by_%sbegin_ms>? AND begin_ms<?)", jobs[i]);
                job = next_statement(job, "WHERE begin_ms >= ? AND (begin_ms, row) <");
                assert_plan(*state, job, step);
                (void)snprintf(step, sizeof(step), "INDEX result_by_%stime_ms>? AND time_ms<?)", results[i]);
                result = next_statement(result, "WHERE r.time_ms >= ? AND (r.time_ms, r.row) <");
                assert_plan(*state, result, step);
        }
        assert_plan(*state, statement_with(" WHERE job.id = ?"), "INDEX job_by_id (id=?)");
        assert_plan(*state, statement_with("FROM phase INDEXED BY phase_by_job"), "INDEX phase_by_job (job=?)");
        assert_plan(*state, statement_with("FROM node_sample WHERE begin_ms >= ?"),
                    "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup_volatile, place_teardown)
                TEST(pages_cover_ten_thousand_results_each_once),
                TEST(results_stored_while_paging_shift_no_page),
                TEST(filters_are_met_all_at_once),
                TEST(times_are_from_since_up_to_but_without_until),
                TEST(indicators_are_counted_with_their_latest_time),
                TEST(many_names_share_the_memory_of_few),
                TEST(jobs_are_found_by_name_user_state_and_time),
                TEST(rows_of_others_are_hidden),
                TEST(job_pages_cover_each_once_newest_first),
                TEST(a_missing_job_ends_the_list),
                TEST(node_samples_come_oldest_first),
                TEST(a_query_past_its_time_limit_is_cancelled_and_the_next_succeeds),
                TEST(the_limit_holds_inside_one_step_that_finds_nothing),
                TEST(a_question_can_be_left_in_the_middle),
                TEST(an_unreadable_database_is_reported_until_readable),
                TEST(every_page_comes_from_an_index_in_its_order),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
