/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/store/retention/erasure.c daemon/store/table/schema.c */
#include "store_fixture.h"

#include "store/retention/erasure.h"
#include "store/retention/retention.h"
#include "store/table/store_subject.h"

#define LEAVER 1000
#define STAYER 1001

/* A new table says what of it belongs to users, or is found here. */
static void every_table_declares_what_belongs_to_users(void **state) {
        (void)state;
        for (const StoreSubject *const *subject = store_subject_list; *subject; subject++)
                for (const StoreTable *const *table = (*subject)->tables; *table; table++) {
                        const TableErasure *of = (*table)->erasure;

                        if (!of)
                                fail_msg("table %s has no .erasure", (*table)->name);
                        assert_int_equal(!of->next, !of->select);
                        assert_true(!of->next || ((*table)->retention && (*table)->retention->run));
                        if (strstr((*table)->schema, " TEXT NOT NULL") && strstr((*table)->schema, " uid INTEGER") &&
                            of == &table_erasure_none)
                                fail_msg("table %s has texts of users", (*table)->name);
                }
}

static void put_results(Place *place, uint32_t uid, const char *name, unsigned begin, unsigned n, uint64_t time_ms) {
        for (unsigned i = begin; i < begin + n; i++) {
                Item item;

                item_make(&item, name, "c", i);
                item.submission.time_ms = time_ms;
                assert_int_equal(store_put(place->store, result_rows_pack(&item.submission, 1, &(Peer){ .uid = uid },
                                                                          5000, cookie_of(i))), 0);
                assert_int_equal(outcome_of(place->store, i), STORE_DONE);
        }
}

static void put_job(Place *place, uint32_t uid, const char *id, uint64_t begin_ms) {
        JobInfo info = { .uid = uid, .rank = -1, .node = -1 };
        JobEnd end = {};

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        (void)snprintf(info.name, sizeof(info.name), "name-of-%s", id);
        assert_int_equal(store_put(place->store, pack_begin_row(&info, begin_ms, "boot", "{}", NULL, cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        if (strstr(id, "running"))
                return;
        assert_int_equal(store_put(place->store, job_rows_pack_end(&(StoreJobEnd){ .job = id, .state = JOB_FINISHED,
                                                                                   .end_realtime_ms = begin_ms + 1,
                                                                                   .end = &end }, cookie_of(2))), 0);
        assert_int_equal(outcome_of(place->store, 2), STORE_DONE);
}

static void put_order(Place *place, const Erasure *order, uint64_t cookie) {
        assert_int_equal(store_put(place->store, erasure_pack(order, cookie_of(cookie))), 0);
}

static Erasure erase(Place *place, const Erasure *order) {
        StoreDone done;

        put_order(place, order, 7);
        assert_true(wait_done(place->store, &done, DEADLINE_MS));
        assert_int_equal(done.cookie.ticket.number, 7);
        assert_int_equal(done.outcome, STORE_DONE);
        return *erasure_of(done.rows);
}

static bool is_in_files(const Place *place, const char *text) {
        char command[PATH_MAX];

        (void)snprintf(command, sizeof(command), "grep -qaF '%s' %s/*", text, place->directory);
        return system(command) == 0;
}

static void the_rows_of_a_user_are_removed(void **state) {
        Place *place = *state;
        Erasure done;

        put_results(place, LEAVER, "Leaving", 1, 700, 1);
        put_results(place, STAYER, "Staying", 1000, 700, 1);
        put_results(place, LEAVER, "Leaving", 3000, 20, 1);
        put_job(place, LEAVER, "leaving", 1);
        put_job(place, STAYER, "staying", 1);
        /* more phases than are removed with their job at once */
        change_place(place, "INSERT INTO phase (job, number, name, begin_ms, end_ms) WITH RECURSIVE n(i) AS (SELECT 0"
                            " UNION ALL SELECT i + 1 FROM n WHERE i < 1999) SELECT row, i, 'leaving-phase', 1, 1 FROM"
                            " job, n WHERE id = 'leaving'; UPDATE job SET n_phases = 2000 WHERE id = 'leaving'");
        assert_true(is_in_files(place, "leaving-phase"));
        done = erase(place, &(Erasure){ .uid = LEAVER, .before_ms = INT64_MAX });
        assert_string_equal(done.removed, "1 of job, 720 of result");
        assert_string_equal(done.error, "");
        assert_int_equal(done.n_copies, 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result"), 700);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job WHERE id = 'staying'"), 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM phase"), 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM holder WHERE uid = 1000"), 0);
        assert_held_as_stored(place);
        assert_false(is_in_files(place, "Leaving"));
        assert_false(is_in_files(place, "leaving"));
        assert_true(is_in_files(place, "Staying"));

        done = erase(place, &(Erasure){ .uid = LEAVER, .before_ms = INT64_MAX });
        assert_string_equal(done.removed, "");
        assert_string_equal(done.error, "");
}

/* Windows of row numbers begin where the former end. */
static void rows_of_each_number_are_removed(void **state) {
        Place *place = *state;

        put_results(place, LEAVER, "Leaving", 1, 1, 1);
        change_place(place, "INSERT INTO job (row, id, name, user, state, begin_ms, uid, gid, pid, pid_start_ticks,"
                            " rank, node, n_nodes, n_ranks, isolation, command, labels) WITH RECURSIVE n(i) AS (SELECT"
                            " 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2200) SELECT i, i, '', '', 'finished', 1, 1000,"
                            " 0, 0, 0, -1, -1, 0, 0, 'none', '', '{}' FROM n WHERE i % 16 = 1");
        assert_string_equal(erase(place, &(Erasure){ .uid = LEAVER, .before_ms = INT64_MAX }).removed,
                            "138 of job, 1 of result");
        assert_held_as_stored(place);
}

static void newer_rows_and_running_jobs_stay(void **state) {
        Place *place = *state;
        Erasure done;

        put_results(place, LEAVER, "Leaving", 1, 5, 1000);
        put_results(place, LEAVER, "Leaving", 10, 7, 2000);
        put_job(place, LEAVER, "older", 1000);
        put_job(place, LEAVER, "newer", 2000);
        put_job(place, LEAVER, "running", 1000);
        done = erase(place, &(Erasure){ .uid = LEAVER, .before_ms = 1500 });
        assert_string_equal(done.removed, "1 of job, 5 of result");
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result WHERE time_ms = 2000"), 7);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job WHERE id IN ('newer', 'running')"), 2);
        assert_held_as_stored(place);
}

static void shared_rows_are_of_root(void **state) {
        Place *place = *state;

        change_place(place, "INSERT INTO specification (digest, uid, n_results, document)"
                            " VALUES (x'01', 1000, 1, 'shared');"
                            "INSERT INTO stack (digest, uid, n_results, n_packages, n_bytes, facts)"
                            " VALUES (x'02', 1000, 1, 0, 99, '{}')");
        erase(place, &(Erasure){ .uid = LEAVER, .before_ms = INT64_MAX });
        assert_held_as_stored(place);
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 0"), 99 + 6);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM holder"), 1);
}

static void files_that_were_put_aside_are_counted_or_removed(void **state) {
        Place *place = *state;
        char path[PATH_MAX];
        Erasure done;

        place_path(place, "perfd.db.damaged-2026-11-22T14:00:00Z", path);
        close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        done = erase(place, &(Erasure){ .uid = LEAVER, .before_ms = INT64_MAX });
        assert_int_equal(done.n_copies, 1);
        done = erase(place, &(Erasure){ .uid = LEAVER, .before_ms = INT64_MAX, .removes_copies = true });
        assert_int_equal(done.n_copies, 0);
        assert_int_equal(access(path, F_OK), -1);
}

/* Two orders come with rows of others in one batch, and the second when the first is under way. */
static void orders_are_done_one_after_the_other(void **state) {
        Place *place = *state;
        StoreDone done;

        put_results(place, LEAVER, "Leaving", 1, 300, 1);
        put_results(place, STAYER, "Staying", 1000, 300, 1);
        for (uint64_t uid = LEAVER; uid <= STAYER; uid++)
                put_order(place, &(Erasure){ .uid = (int64_t)uid, .before_ms = INT64_MAX }, uid);
        for (uint64_t uid = LEAVER; uid <= STAYER; uid++) {
                assert_true(wait_done(place->store, &done, DEADLINE_MS));
                assert_int_equal(done.cookie.ticket.number, uid);
                assert_string_equal(erasure_of(done.rows)->removed, "300 of result");
        }
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result"), 0);
}

/* A reader of another program keeps the log: the order ends all the same, and says so. */
static void a_query_in_progress_is_waited_for(void **state) {
        Place *place = *state;
        sqlite3 *db = place_open_database(place, SQLITE_OPEN_READONLY);
        Erasure order = { .uid = LEAVER, .before_ms = INT64_MAX };
        StoreDone done;

        put_results(place, LEAVER, "Leaving", 1, 30, 1);
        assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM result", NULL, NULL, NULL), SQLITE_OK);
        put_order(place, &order, 7);
        assert_false(wait_done(place->store, &done, 1000));
        assert_true(is_in_files(place, "Leaving"));
        sqlite3_close(db);
        assert_true(wait_done(place->store, &done, DEADLINE_MS));
        assert_string_equal(erasure_of(done.rows)->error, "");
        assert_false(is_in_files(place, "Leaving"));
}

static void an_end_of_perfd_ends_the_order(void **state) {
        Place *place = *state;

        put_results(place, LEAVER, "Leaving", 1, 300, 1);
        put_order(place, &(Erasure){ .uid = LEAVER, .before_ms = INT64_MAX }, 7);
        place_close(place);
        place_open(place);
        assert_string_equal(erase(place, &(Erasure){ .uid = LEAVER, .before_ms = INT64_MAX }).error, "");
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result"), 0);
        assert_false(is_in_files(place, "Leaving"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_table_declares_what_belongs_to_users),
                TEST(the_rows_of_a_user_are_removed),
                TEST(rows_of_each_number_are_removed),
                TEST(newer_rows_and_running_jobs_stay),
                TEST(shared_rows_are_of_root),
                TEST(files_that_were_put_aside_are_counted_or_removed),
                TEST(orders_are_done_one_after_the_other),
                TEST(a_query_in_progress_is_waited_for),
                TEST(an_end_of_perfd_ends_the_order),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
