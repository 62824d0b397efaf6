/* SPDX-License-Identifier: Apache-2.0 */
/* The public interface of the store: rows, outcomes, and rows after a restart. */
/* tests: daemon/store/damage/wal_log.c daemon/store/store.c daemon/store/queue.c daemon/store/table/rowset.c
 daemon/store/database/pack.c daemon/store/writer.c daemon/store/database/database.c
 daemon/store/indicators/result_rows.c */

#include "store/indicators/result_reader.h"
#include "store/indicators/result_rows.h"
#include "store_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* --- results ------------------------------------------------------------------------------------- */

static void completed_rows_are_visible_to_the_next_query(void **state) {
        Place *place = *state;
        ResultRow row;
        Item item;

        item_make(&item, "PiMatmul", "tensorflow", 7);
        item.submission.job = "job-1";
        item.submission.time_ms = 1234;
        item.submission.indicator.version = "v1";
        item.submission.indicator.has_overall_score = true;
        item.submission.indicator.overall_score = 0.1;
        assert_int_equal(put_one(place->store, &item.submission, 1), STORE_DONE);

        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){}), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        assert_memory_equal(row.id, item.submission.id, 16);
        assert_string_equal(row.name, "PiMatmul");
        assert_string_equal(row.component, "tensorflow");
        assert_string_equal(row.version, "v1");
        assert_string_equal(row.job, "job-1");
        assert_int_equal(row.uid, 1000);
        assert_int_equal(row.time_ms, 1234);
        assert_true(row.has_score);
        assert_true(row.score == 0.1);
        assert_string_equal(row.document, "{\"name\":\"PiMatmul\",\"component\":\"tensorflow\",\"@result\":{\"n\":7}}");
        assert_int_equal(result_reader_next(place->reader, &row), READER_END);
}

static void unset_members_are_null_and_the_time_is_that_of_arrival(void **state) {
        Place *place = *state;
        ResultRow row;

        assert_int_equal(put_number(place->store, 1, 0), STORE_DONE);
        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){}), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        assert_null(row.version);
        assert_null(row.job);
        assert_false(row.has_score);
        assert_int_equal(row.time_ms, 5000);
}

static void an_id_sent_again_is_a_duplicate_and_changes_nothing(void **state) {
        Place *place = *state;
        ResultRow row;

        assert_int_equal(put_number(place->store, 1, 100), STORE_DONE);
        assert_int_equal(put_number(place->store, 1, 200), STORE_DUPLICATE);
        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){}), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        assert_int_equal(row.time_ms, 100);
        assert_int_equal(result_reader_next(place->reader, &row), READER_END);
}

static void of_a_submission_half_new_the_new_half_is_stored(void **state) {
        Place *place = *state;
        Submission both[2];
        Item items[2];

        assert_int_equal(put_number(place->store, 1, 100), STORE_DONE);
        for (size_t i = 0; i < 2; i++) {
                item_make(&items[i], "PiMatmul", "tensorflow", i + 1);
                both[i] = items[i].submission;
        }
        assert_int_equal(store_put(place->store, result_rows_pack(both, 2, ROOT, 1, cookie_of(9))), 0);
        assert_int_equal(outcome_of(place->store, 9), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 2);

        assert_int_equal(store_put(place->store, result_rows_pack(both, 2, ROOT, 1, cookie_of(10))), 0);
        assert_int_equal(outcome_of(place->store, 10), STORE_DUPLICATE);
}

static void completions_come_in_the_order_of_the_puts(void **state) {
        Place *place = *state;

        for (uint64_t n = 1; n <= 2000; n++) {
                Item item;

                item_make(&item, "PiMatmul", n % 2 ? "tensorflow" : "pytorch", n);
                assert_int_equal(store_put(place->store, result_rows_pack(&item.submission, 1, ROOT, n, cookie_of(n))),
                                 0);
        }
        for (uint64_t n = 1; n <= 2000; n++)
                assert_int_equal(outcome_of(place->store, n), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 2000);
}

static void rows_without_a_cookie_have_no_completion(void **state) {
        Place *place = *state;
        StoreDone done;
        Item item;

        item_make(&item, "PiMatmul", "tensorflow", 1);
        assert_int_equal(store_put(place->store, result_rows_pack(&item.submission, 1, ROOT, 1, (StoreCookie){})), 0);
        assert_int_equal(put_number(place->store, 2, 1), STORE_DONE);
        assert_int_equal(store_next_done(place->store, &done), STORE_NONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 2);
}

static void sql_in_a_name_is_data(void **state) {
        static const char *const hostile[] = {
                "'; drop table result; --", "\" or 1=1", "?1", "%s%n", "größe · 速度 · 🚀", "a\nb\\c=d", "",
        };
        Place *place = *state;

        for (size_t i = 0; i < N_ELEMENTS(hostile); i++) {
                ResultFilter filter = { .name = hostile[i], .component = hostile[i], .job = i < 6 ? hostile[i] : NULL };
                ResultRow row;
                Item item;

                item_make(&item, hostile[i], hostile[i], i + 1);
                item.submission.job = hostile[i];
                assert_int_equal(put_one(place->store, &item.submission, i + 1), STORE_DONE);

                assert_int_equal(result_reader_list(place->reader, &filter), 0);
                assert_int_equal(result_reader_next(place->reader, &row), 0);
                assert_int_equal(id_number(row.id), i + 1);
                assert_string_equal(row.name, hostile[i]);
                assert_string_equal(row.component, hostile[i]);
                assert_int_equal(result_reader_next(place->reader, &row), READER_END);
        }
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), N_ELEMENTS(hostile));
}

static void fill(char *text, size_t n, char last) {
        memset(text, 'a', n);
        text[n - 1] = last;
        text[n] = '\0';
}

static void names_of_maximum_length_are_distinguished(void **state) {
        Place *place = *state;
        char names[2][NAME_MAX_BYTES + 1], components[2][COMPONENT_MAX_BYTES + 1];
        Item item;

        for (size_t i = 0; i < 2; i++) {
                fill(names[i], NAME_MAX_BYTES, i ? 'b' : 'a');
                fill(components[i], COMPONENT_MAX_BYTES, i ? 'b' : 'a');
        }
        for (uint64_t n = 1; n <= 6; n++) {
                item_make(&item, names[n % 2], components[n % 2], n);
                assert_int_equal(put_one(place->store, &item.submission, n), STORE_DONE);
        }
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .name = names[0] }), 3);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .component = components[1] }), 3);
}

static void times_beyond_the_range_of_sqlite_are_clamped(void **state) {
        Place *place = *state;
        ResultRow row;

        assert_int_equal(put_number(place->store, 1, UINT64_MAX), STORE_DONE);
        assert_int_equal(put_number(place->store, 2, 10), STORE_DONE);
        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){}), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        assert_int_equal(row.time_ms, INT64_MAX);
}

/* --- the queue ----------------------------------------------------------------------------------- */

static void a_full_queue_refuses_rows_until_it_has_space(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        uint64_t n_put = 0, n_full = 0;
        StoreDone done;

        config.queue_rows_max = 8;
        store_configure(place->store, &config);
        while (n_put < 1000) {
                Item item;
                int r;

                item_make(&item, "PiMatmul", "tensorflow", n_put + 1);
                r = store_put(place->store, result_rows_pack(&item.submission, 1, ROOT, 1, cookie_of(n_put + 1)));
                if (r == 0) {
                        n_put++;
                        continue;
                }
                assert_int_equal(r, STORE_QUEUE_FULL);
                n_full++;
                assert_true(wait_done(place->store, &done, DEADLINE_MS));
                assert_int_equal(done.outcome, STORE_DONE);
        }
        assert_true(n_full > 0);
        EVENTUALLY(count_results(place->reader, &(ResultFilter){}) == 1000);
}

static void a_row_set_larger_than_the_queue_passes_alone(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        Submission submissions[100];
        Item items[100];

        config.queue_rows_max = 10;
        config.queue_bytes_max = 1000;
        store_configure(place->store, &config);
        for (size_t i = 0; i < 100; i++) {
                item_make(&items[i], "PiMatmul", "tensorflow", i + 1);
                submissions[i] = items[i].submission;
        }
        assert_int_equal(store_put(place->store, result_rows_pack(submissions, 100, ROOT, 1, cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 100);
}

static void the_descriptor_stays_readable_until_all_is_read(void **state) {
        Place *place = *state;
        struct pollfd fd = { .fd = store_fd(place->store), .events = POLLIN };
        StoreDone done;
        StoreStats stats;

        for (uint64_t n = 1; n <= 2; n++) {
                Item item;

                item_make(&item, "PiMatmul", "tensorflow", n);
                assert_int_equal(store_put(place->store, result_rows_pack(&item.submission, 1, ROOT, 1, cookie_of(n))),
                                 0);
        }
        EVENTUALLY((store_stats(place->store, &stats), stats.queue_rows == 0));
        assert_int_equal(poll(&fd, 1, DEADLINE_MS), 1);
        assert_int_equal(store_next_done(place->store, &done), 0);
        assert_int_equal(poll(&fd, 1, 0), 1);
        assert_int_equal(store_next_done(place->store, &done), 0);
        assert_int_equal(store_next_done(place->store, &done), STORE_NONE);
        assert_int_equal(poll(&fd, 1, 0), 0);
}

typedef struct Putter {
        pthread_t thread;
        Store *store;
        uint64_t first;
} Putter;

#define PUTS_PER_THREAD 2000

static void *on_putter_start(void *userdata) {
        Putter *putter = userdata;

        for (uint64_t n = 0; n < PUTS_PER_THREAD; n++) {
                Item item;

                item_make(&item, "PiMatmul", "tensorflow", putter->first + n);
                if (store_put(putter->store,
                              result_rows_pack(&item.submission, 1, ROOT, 1, cookie_of(putter->first + n))) != 0)
                        return putter;
        }
        return NULL;
}

static void several_threads_may_put(void **state) {
        Place *place = *state;
        Putter putters[3];

        for (size_t i = 0; i < 3; i++) {
                putters[i] = (Putter){ .store = place->store, .first = 1 + i * PUTS_PER_THREAD };
                assert_int_equal(pthread_create(&putters[i].thread, NULL, on_putter_start, &putters[i]), 0);
        }
        for (size_t i = 0; i < 3; i++) {
                void *failure;

                assert_int_equal(pthread_join(putters[i].thread, &failure), 0);
                assert_null(failure);
        }
        for (size_t i = 0; i < 3 * PUTS_PER_THREAD; i++) {
                StoreDone done;

                assert_true(wait_done(place->store, &done, DEADLINE_MS));
                assert_int_equal(done.outcome, STORE_DONE);
        }
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 3 * PUTS_PER_THREAD);
}

static void closing_writes_out_what_is_queued(void **state) {
        Place *place = *state;

        for (uint64_t n = 1; n <= 5000; n++) {
                Item item;

                item_make(&item, "PiMatmul", "tensorflow", n);
                assert_int_equal(
                        store_put(place->store, result_rows_pack(&item.submission, 1, ROOT, 1, (StoreCookie){})), 0);
        }
        place_close(place);
        place_open(place);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 5000);
}

static void statistics_count_what_happened(void **state) {
        Place *place = *state;
        StoreStats stats;

        for (uint64_t n = 1; n <= 10; n++)
                assert_int_equal(put_number(place->store, n, 1), STORE_DONE);
        store_stats(place->store, &stats);
        assert_int_equal(stats.n_commits, 10);
        assert_int_equal(stats.n_rows_committed, 10);
        assert_int_equal(stats.n_commit_failures, 0);
        assert_true(stats.commit_ns_sum > 0);
        assert_true(stats.is_writable);
        assert_string_equal(stats.error, "");
        assert_int_equal(stats.queue_rows, 0);
        assert_int_equal(stats.queue_bytes, 0);
        assert_int_equal(stats.size_max_bytes, UINT64_C(1) << 30);
        assert_true(stats.size_bytes > 0);
}

/* --- restart ------------------------------------------------------------------------------------- */

/* Stores rows until killed; writes the number of each completion to the pipe. */
static void put_for_ever(const Place *place, int fd) {
        StoreConfig config = place_config(place);
        uint64_t n_put = 0;
        Store *store;
        char *note;

        if (store_open(&store, &config, &note) != 0)
                _exit(1);
        for (;;) {
                StoreDone done;

                for (size_t i = 0; i < 64; i++) {
                        Item item;
                        int r;

                        item_make(&item, "PiMatmul", "tensorflow", n_put + 1);
                        r = store_put(store, result_rows_pack(&item.submission, 1, ROOT, 1, cookie_of(n_put + 1)));
                        if (r < 0)
                                _exit(1);
                        if (r == STORE_QUEUE_FULL)
                                break; /* the disk is slower than the process */
                        n_put++;
                }
                while (wait_done(store, &done, 0))
                        if (done.outcome != STORE_DONE ||
                            write(fd, &done.cookie.ticket.number, sizeof(done.cookie.ticket.number)) !=
                                    sizeof(done.cookie.ticket.number))
                                _exit(1);
        }
}

/* Kills a process that stores rows after n completions; returns the last completion it reported. */
static uint64_t run_and_kill(const Place *place, uint64_t n_seen) {
        uint64_t n = 0, number = 0;
        int fds[2], status;
        pid_t pid;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                put_for_ever(place, fds[1]);
        close(fds[1]);

        while (n < n_seen && read(fds[0], &number, sizeof(number)) == sizeof(number))
                n++;
        assert_int_equal(n, n_seen);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        while (read(fds[0], &number, sizeof(number)) == sizeof(number))
                ;
        close(fds[0]);
        return number;
}

static void completed_rows_survive_a_kill_and_exist_once(void **state) {
        Place *place = *state;
        size_t n_rounds = 4;

        for (size_t round = 0; round < n_rounds; round++) {
                uint64_t last, n_below = 0;
                ResultRow row;
                char path[PATH_MAX];

                place_close(place);
                while (place_find(place, "perfd", path))
                        assert_int_equal(unlink(path), 0);
                last = run_and_kill(place, 100 + 700 * round);

                place_open(place);
                assert_int_equal(result_reader_list(place->reader, &(ResultFilter){}), 0);
                while (result_reader_next(place->reader, &row) == 0)
                        n_below += id_number(row.id) <= last;
                assert_int_equal(n_below, last);

                /* All are sent again: none is new. */
                assert_int_equal(put_number(place->store, 1, 1), STORE_DUPLICATE);
                assert_int_equal(put_number(place->store, last, 1), STORE_DUPLICATE);
        }
}

static void a_volatile_store_survives_its_process(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);

        place_close(place);
        config.is_volatile = true;
        place_open_with(place, &config);
        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);
        place_close(place);
        place_open_with(place, &config);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
                TEST(completed_rows_are_visible_to_the_next_query),
                TEST(unset_members_are_null_and_the_time_is_that_of_arrival),
                TEST(an_id_sent_again_is_a_duplicate_and_changes_nothing),
                TEST(of_a_submission_half_new_the_new_half_is_stored),
                TEST(completions_come_in_the_order_of_the_puts),
                TEST(rows_without_a_cookie_have_no_completion),
                TEST(sql_in_a_name_is_data),
                TEST(names_of_maximum_length_are_distinguished),
                TEST(times_beyond_the_range_of_sqlite_are_clamped),
                TEST(a_full_queue_refuses_rows_until_it_has_space),
                TEST(a_row_set_larger_than_the_queue_passes_alone),
                TEST(the_descriptor_stays_readable_until_all_is_read),
                TEST(several_threads_may_put),
                TEST(closing_writes_out_what_is_queued),
                TEST(statistics_count_what_happened),
                TEST(completed_rows_survive_a_kill_and_exist_once),
                TEST(a_volatile_store_survives_its_process),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
