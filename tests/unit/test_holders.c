/* SPDX-License-Identifier: Apache-2.0 */
/* The database space used by each user: counted, charged, limited, and evicted by share. */
/* tests: daemon/store/retention/holders.c daemon/store/retention/retention.c daemon/store/catalog/catalog.c
    daemon/store/indicators/store_indicators.c */

#include "run_results_fixture.h"

#include "shares/shares.h"
#include "store/retention/holders.h"
#include "store/jobs/job_rows.h"

#define MIB (UINT64_C(1) << 20)
#define TEXT_BYTES 1000
#define LARGE_TEXT_BYTES 60000

typedef struct Fixture {
        Place place;
        Shares *shares;
        uint64_t n_ids;
        size_t n_text_bytes;
} Fixture;

static void open_with(Fixture *f, uint64_t size_max, uint64_t n_names, uint64_t n_series) {
        SharesConfig shares = {
                .limits = { [RESOURCE_NAMES] = n_names, [RESOURCE_SERIES] = n_series, [RESOURCE_STORE] = size_max }
        };
        StoreConfig config = place_config(&f->place);

        assert_int_equal(shares_new(&f->shares, &shares), 0);
        config.is_volatile = true;
        config.size_max_bytes = size_max;
        config.shares = f->shares;
        place_open_with(&f->place, &config);
}

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        f->n_text_bytes = TEXT_BYTES;
        place_make(&f->place);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        place_remove(&f->place);
        shares_free(f->shares);
        free(f);
        return 0;
}

/* Submits n results with one name and a text each. */
static StoreOutcome put(Fixture *f, const Peer *sender, const char *name, size_t n, const ResultsStored **ret_stored) {
        static char text[LARGE_TEXT_BYTES + 1];
        Item items[64];
        Submission submissions[64];
        StoreDone done;

        memset(text, 'x', f->n_text_bytes);
        text[f->n_text_bytes] = '\0';
        assert_true(n <= N_ELEMENTS(items));
        for (size_t i = 0; i < n; i++) {
                item_make(&items[i], name, text, ++f->n_ids);
                items[i].submission.indicator.component = "c";
                submissions[i] = items[i].submission;
        }
        assert_int_equal(
                store_put(f->place.store, result_rows_pack(submissions, n, sender, 5000 + f->n_ids, cookie_of(1))), 0);
        assert_true(wait_done(f->place.store, &done, DEADLINE_MS));
        if (ret_stored)
                *ret_stored = result_rows_stored(done.rows);
        return done.outcome;
}

static void the_sizes_are_those_of_the_rows(void **state) {
        Fixture *f = *state;

        open_with(f, 4 * MIB, 1 << 20, 1 << 20);
        for (int i = 0; i < 40; i++) {
                assert_int_equal(put(f, &(Peer){ .uid = 1000 }, "A", 50, NULL), STORE_DONE);
                assert_int_equal(put(f, &(Peer){ .uid = 1001 + (uint32_t)i % 20 }, i % 2 ? "A" : "\xc3\xbc", 3, NULL),
                                 STORE_DONE);
        }
        assert_held_as_stored(&f->place);

        /* The count is correct after rows were removed, and after a restart. */
        for (int i = 0; i < 60; i++)
                assert_int_equal(put(f, &(Peer){ .uid = 1000 }, "A", 64, NULL), STORE_DONE);
        assert_true(ask_place(&f->place, "SELECT min(row) FROM result WHERE uid = 1000") > 1);
        assert_held_as_stored(&f->place);
}

static void rows_of_users_above_their_share_are_removed_first(void **state) {
        Fixture *f = *state;
        JobInfo info = { .id = "victims", .uid = 1000 };
        StoreJobBegin row = { &info, 1, "b", "w", "m", info.uid, false };
        StoreJobEnd end = {
                .job = "victims",
                .state = JOB_FINISHED,
                .end_realtime_ms = 2,
                .end = &(JobEnd){},
                .timeline = &BYTES("points"),
        };

        open_with(f, 4 * MIB, 1 << 20, 1 << 20);
        assert_int_equal(store_put(f->place.store, job_rows_pack_begin(&row, cookie_of(1))), 0);
        assert_int_equal(outcome_of(f->place.store, 1), STORE_DONE);
        assert_int_equal(store_put(f->place.store, job_rows_pack_end(&end, cookie_of(2))), 0);
        assert_int_equal(outcome_of(f->place.store, 2), STORE_DONE);
        for (int i = 0; i < 4; i++)
                assert_int_equal(put(f, &(Peer){ .uid = 1000 }, "Victim", 50, NULL), STORE_DONE);
        for (int i = 0; i < 200; i++)
                assert_int_equal(put(f, &(Peer){ .uid = 1001 }, "Flood", 64, NULL), STORE_DONE);

        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM result WHERE uid = 1000"), 200);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM job"), 1);
        assert_in_range(ask_place(&f->place, "SELECT count(*) FROM result WHERE uid = 1001"), 500, 64 * 199);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM result WHERE id = (SELECT max(id) FROM result)"),
                         1);
        assert_held_as_stored(&f->place);
}

/* A removal of as many rows as of small ones would leave hardly any, and others would wait for it. */
static void few_large_rows_are_removed_at_a_time(void **state) {
        int64_t n, n_most = 0, n_least_at_limit = INT64_MAX;
        Fixture *f = *state;

        open_with(f, 16 * MIB, 1 << 20, 1 << 20);
        f->n_text_bytes = LARGE_TEXT_BYTES;
        for (int i = 0; i < 500; i++) {
                assert_int_equal(put(f, &(Peer){ .uid = 1000 }, "Large", 1, NULL), STORE_DONE);
                n = ask_place(&f->place, "SELECT count(*) FROM result WHERE length(document) > 50000");
                if (n > n_most)
                        n_most = n;
                else if (n < n_least_at_limit)
                        n_least_at_limit = n;
        }
        assert_in_range(n_most, 100, 400);
        assert_in_range(n_least_at_limit, n_most - 20, n_most);

        /* Small rows that come later are removed many at a time again. */
        f->n_text_bytes = TEXT_BYTES;
        for (int i = 0; i < 300; i++)
                assert_int_equal(put(f, &(Peer){ .uid = 1000 }, "Small", 64, NULL), STORE_DONE);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM result WHERE length(document) > 50000"), 0);
        assert_held_as_stored(&f->place);
}

static void jobs_count_as_well(void **state) {
        Fixture *f = *state;

        open_with(f, 4 * MIB, 1 << 20, 1 << 20);
        assert_int_equal(put(f, &(Peer){ .uid = 1000 }, "Victim", 50, NULL), STORE_DONE);
        for (int i = 0; i < 1500; i++) {
                JobInfo info = { .uid = 1001 };
                StoreJobBegin row = { &info, 1, "b", "w", "m", info.uid, false };
                StoreJobEnd end = {
                        .job = info.id,
                        .state = JOB_FINISHED,
                        .end_realtime_ms = 2,
                        .end = &(JobEnd){},
                        .timeline = &BYTES("points"),
                };

                (void)snprintf(info.id, sizeof(info.id), "job-%d", i);
                assert_int_equal(store_put(f->place.store, job_rows_pack_begin(&row, cookie_of(1))), 0);
                assert_int_equal(outcome_of(f->place.store, 1), STORE_DONE);
                assert_int_equal(store_put(f->place.store, job_rows_pack_end(&end, cookie_of(2))), 0);
                assert_int_equal(outcome_of(f->place.store, 2), STORE_DONE);
        }
        assert_int_equal(ask_place(&f->place, "SELECT n_bytes FROM holder WHERE uid = 1001"), 1500 * 4096);

        /* Results of the other user fill the database: that user's jobs are removed, not the victim's results. */
        for (int i = 0; i < 60; i++)
                assert_int_equal(put(f, &(Peer){ .uid = 1002 }, "Flood", 50, NULL), STORE_DONE);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM result WHERE uid = 1000"), 50);
        assert_true(ask_place(&f->place, "SELECT count(*) FROM job") < 1500);
        change_place(&f->place, "UPDATE job SET uid = 7 WHERE row = (SELECT max(row) FROM job)");
        assert_int_equal(ask_place(&f->place, "SELECT n_bytes FROM holder WHERE uid = 7"), 4096);
        assert_int_equal(ask_place(&f->place, "SELECT n_bytes / 4096 = (SELECT count(*) FROM job WHERE uid = 1001)"
                                              " FROM holder WHERE uid = 1001"), 1);
}

static void long_texts_of_jobs_count(void **state) {
        JobLabel labels[JOB_LABELS_MAX] = {};
        JobInfo info = { .id = "texts", .uid = 1001, .labels = labels, .n_labels = N_ELEMENTS(labels) };
        StoreJobBegin row = { &info, 1, "b", "w", "m", info.uid, false };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(labels); i++) {
                (void)snprintf(labels[i].key, sizeof(labels[i].key), "%060zu", i);
                memset(labels[i].value, 'v', sizeof(labels[i].value) - 1);
        }
        open_with(f, 4 * MIB, 1 << 20, 1 << 20);
        assert_int_equal(store_put(f->place.store, job_rows_pack_begin(&row, cookie_of(1))), 0);
        assert_int_equal(outcome_of(f->place.store, 1), STORE_DONE);
        assert_int_equal(
                ask_place(&f->place, "SELECT n_bytes = 2048 + length(labels) FROM holder JOIN job USING (uid)"), 1);
        assert_true(ask_place(&f->place, "SELECT n_bytes FROM holder") > 20000);
        change_place(&f->place, "DELETE FROM job");
        assert_int_equal(ask_place(&f->place, "SELECT n_bytes FROM holder"), 0);
}

/* Begins a job that ends at once. */
static StoreOutcome use_up(Fixture *f, uint32_t uid, const char *id) {
        JobInfo info = { .uid = uid };
        StoreJobBegin row = { &info, 1, "b", "w", "m", uid, false };
        StoreJobEnd end = {
                .job = id,
                .state = JOB_FINISHED,
                .end_realtime_ms = 2,
                .end = &(JobEnd){},
                .timeline = &BYTES("points"),
        };
        StoreOutcome outcome;

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        assert_int_equal(store_put(f->place.store, job_rows_pack_begin(&row, cookie_of(1))), 0);
        outcome = outcome_of(f->place.store, 1);
        if (outcome != STORE_DONE)
                return outcome;
        assert_int_equal(store_put(f->place.store, job_rows_pack_end(&end, cookie_of(2))), 0);
        return outcome_of(f->place.store, 2);
}

/* An id is taken as long as its job is stored, and the oldest jobs of who exceeds the share go first. */
static void ids_that_a_user_has_used_up_are_free_again(void **state) {
        Fixture *f = *state;
        char id[32];

        open_with(f, 1 * MIB, 1 << 20, 1 << 20);
        assert_int_equal(use_up(f, 1000, "victims"), STORE_DONE);
        for (int i = 0; i < 3500; i++) {
                (void)snprintf(id, sizeof(id), "%d", i);
                assert_int_equal(use_up(f, 1001, id), STORE_DONE);
        }
        assert_in_range(ask_place(&f->place, "SELECT count(*) FROM job WHERE uid = 1001"), 50, 3400);
        assert_int_equal(use_up(f, 1002, "3499"), STORE_CONFLICT);
        assert_int_equal(use_up(f, 1002, "0"), STORE_DONE);
        assert_int_equal(use_up(f, 1001, "victims"), STORE_CONFLICT);
        assert_held_as_stored(&f->place);
}

static void a_single_user_may_use_the_whole_store(void **state) {
        Fixture *f = *state;
        open_with(f, 4 * MIB, 1 << 20, 1 << 20);
        for (int i = 0; i < 80; i++)
                assert_int_equal(put(f, &(Peer){ .uid = 1001 }, "Flood", 64, NULL), STORE_DONE);
        assert_true(ask_place(&f->place, "SELECT sum(n_bytes) FROM holder") > 3 * (int64_t)MIB / 2);
}

/*
 * The limit is 24 in total: a single user may have 11 (the reserve of 4 % rounds to 0), and each of two users a third
 * of the free space.
 */
static void names_have_a_share(void **state) {
        Fixture *f = *state;
        const ResultsStored *stored;
        char name[32];
        int n = 0;

        open_with(f, 64 * MIB, 24, 1 << 20);
        do
                (void)snprintf(name, sizeof(name), "N%d", n);
        while (put(f, &(Peer){ .uid = 1000 }, name, 2, &stored) == STORE_DONE && n++ < 24);
        assert_int_equal(n, 12);
        assert_int_equal(stored->uid, 1000);
        assert_int_equal(stored->refused, RESOURCE_NAMES);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM result"), 24);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM term WHERE text = 'N12'"), 0);

        /* Results with existing names are stored; other users and administrators are not affected. */
        assert_int_equal(put(f, &(Peer){ .uid = 1000 }, "N3", 64, NULL), STORE_DONE);
        assert_int_equal(put(f, &(Peer){ .uid = 1001 }, "N12", 1, NULL), STORE_DONE);
        assert_int_equal(put(f, &(Peer){ .uid = 0 }, "N13", 1, NULL), STORE_DONE);
        assert_int_equal(put(f, &(Peer){ .uid = 1000, .is_admin = true }, "N14", 1, NULL), STORE_DONE);
        assert_int_equal(put(f, &(Peer){ .uid = 1000 }, "N15", 1, NULL), STORE_QUOTA);
        assert_held_as_stored(&f->place);
        {
                ResourceStats stats[N_RESOURCES];

                shares_stats(f->shares, stats);
                assert_int_equal(stats[RESOURCE_NAMES].n_refused, 2);
        }
}

static void series_have_a_share(void **state) {
        Fixture *f = *state;
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        StoreOutcome outcome = STORE_DONE;
        uint64_t n = 1;

        open_with(f, 64 * MIB, 1 << 20, 12);
        for (; outcome == STORE_DONE && n < 100; n++) {
                RunResults results;

                run_results_make_nth(&results, n, &model);
                outcome = put_one(f->place.store, &results.submission, n);
        }
        assert_int_equal(outcome, STORE_QUOTA);
        assert_int_equal(ask_place(&f->place, "SELECT n_series FROM holder WHERE uid = 1000"), 6);
        assert_held_as_stored(&f->place);
}

/* New parameters and a stack: the result moves to one new series, and then to another. Sets of others share its
 * transaction. */
static void a_result_sent_again_may_need_two_series(void **state) {
        Fixture *f = *state;
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        const SubmissionStack stack = { .n_bytes = 2 };
        RunResults results;
        StoreStats stats;
        Item other;

        open_with(f, 64 * MIB, 1 << 20, 12);
        for (uint64_t n = 1; n <= 5; n++) {
                run_results_make(&results, n, "c", "float32", (int64_t)n, 1);
                results.submission.model = &model;
                assert_int_equal(put_one(f->place.store, &results.submission, n), STORE_DONE);
        }
        run_results_make(&results, 1, "c", "float32", 100, 1);
        results.submission.model = &model;
        results.submission.replaces = true;
        results.submission.stack = &stack;
        item_make(&other, "Other", "c", 6);
        assert_int_equal(store_put(f->place.store,
                                   result_rows_pack(&results.submission, 1, &(Peer){ .uid = 1000 }, 1, cookie_of(1))),
                         0);
        assert_int_equal(store_put(f->place.store,
                                   result_rows_pack(&other.submission, 1, &(Peer){ .uid = 1001 }, 1, cookie_of(2))),
                         0);
        assert_int_equal(outcome_of(f->place.store, 1), STORE_QUOTA);
        assert_int_equal(outcome_of(f->place.store, 2), STORE_DONE);
        store_stats(f->place.store, &stats);
        assert_int_equal(stats.n_commit_failures, 0);
        assert_int_equal(ask_place(&f->place, "SELECT n_series FROM holder WHERE uid = 1000"), 5);
        assert_held_as_stored(&f->place);
}

static void users_are_charged_for_what_they_hold(void **state) {
        Fixture *f = *state;
        AccountReport report;

        open_with(f, 64 * MIB, 1 << 20, 1 << 20);
        assert_int_equal(put(f, &(Peer){ .uid = 1000 }, "A", 50, NULL), STORE_DONE);
        EVENTUALLY((shares_report_user(f->shares, 1000, &report), report.resources[RESOURCE_NAMES].n_held == 1));
        assert_true(report.resources[RESOURCE_STORE].n_held > 50 * (TEXT_BYTES + 256));

        /* The limit also applies from the start. */
        f->place.store = store_free(f->place.store);
        f->place.reader = reader_free(f->place.reader);
        shares_free(f->shares);
        open_with(f, 64 * MIB, 1 << 20, 1 << 20);
        shares_report_user(f->shares, 1000, &report);
        assert_true(report.resources[RESOURCE_STORE].n_held > 50 * (TEXT_BYTES + 256));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_sizes_are_those_of_the_rows),
                TEST(rows_of_users_above_their_share_are_removed_first),
                TEST(few_large_rows_are_removed_at_a_time),
                TEST(jobs_count_as_well),
                TEST(long_texts_of_jobs_count),
                TEST(ids_that_a_user_has_used_up_are_free_again),
                TEST(a_single_user_may_use_the_whole_store),
                TEST(names_have_a_share),
                TEST(series_have_a_share),
                TEST(a_result_sent_again_may_need_two_series),
                TEST(users_are_charged_for_what_they_hold),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
