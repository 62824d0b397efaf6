/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log restarts between two queries: writers do not wait for readers, and a reader cannot delay the restart
 * forever.
 */
/* tests: daemon/store/wal_checkpoint.c */

#include "store/indicators/result_reader.h"
#include "store/indicators/result_rows.h"
#include "store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "store/wal_barrier.h"

#define MIB (UINT64_C(1) << 20)
#define N_TOGETHER 100
#define N_BEFORE (20 * N_TOGETHER)

typedef struct Visitor {
        WalBarrier *gate;
        atomic_bool is_open;
        bool was_open;
} Visitor;

static void *on_visit(void *userdata) {
        Visitor *visitor = userdata;

        wal_barrier_enter(visitor->gate, 60 * NS_PER_S);
        visitor->was_open = atomic_load(&visitor->is_open);
        wal_barrier_leave(visitor->gate);
        return NULL;
}

static void readers_wait_for_a_closed_gate_to_open(void **state) {
        Queue queue;
        WalBarrier gate;
        Visitor visitor = { .gate = &gate };
        pthread_t thread;

        (void)state;
        assert_int_equal(queue_init(&queue), 0);
        wal_barrier_init(&gate, &queue);
        assert_true(wal_barrier_close(&gate));
        assert_int_equal(pthread_create(&thread, NULL, on_visit, &visitor), 0);
        assert_true(wal_barrier_close(&gate));
        atomic_store(&visitor.is_open, true);
        wal_barrier_open(&gate);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(visitor.was_open);
        wal_barrier_deinit(&gate);
        queue_deinit(&queue);
}

static void damaged_texts_are_counted(void **state) {
        Queue queue;
        WalBarrier gate;

        (void)state;
        assert_int_equal(queue_init(&queue), 0);
        wal_barrier_init(&gate, &queue);
        assert_int_equal(wal_barrier_count_texts(&gate), 0);
        wal_barrier_note_text(&gate);
        wal_barrier_note_text(&gate);
        assert_int_equal(wal_barrier_count_texts(&gate), 2);
        wal_barrier_deinit(&gate);
        queue_deinit(&queue);
}

static void readers_enter_after_the_maximum_wait(void **state) {
        Queue queue;
        WalBarrier gate;

        (void)state;
        assert_int_equal(queue_init(&queue), 0);
        wal_barrier_init(&gate, &queue);
        assert_true(wal_barrier_close(&gate));
        wal_barrier_enter(&gate, NS_PER_MS);
        assert_false(wal_barrier_close(&gate));
        wal_barrier_leave(&gate);
        assert_true(wal_barrier_close(&gate));
        wal_barrier_deinit(&gate);
        queue_deinit(&queue);
}

static void the_last_to_leave_a_closed_gate_wakes_the_writer(void **state) {
        bool is_stopping = true;
        Queue queue;
        WalBarrier gate;

        (void)state;
        assert_int_equal(queue_init(&queue), 0);
        wal_barrier_init(&gate, &queue);
        wal_barrier_enter(&gate, 0);
        wal_barrier_enter(&gate, 0);
        assert_false(wal_barrier_close(&gate));
        wal_barrier_leave(&gate);
        assert_false(queue.is_poked);
        wal_barrier_leave(&gate);
        assert_true(queue.is_poked);
        assert_null(queue_take(&queue, 60 * NS_PER_S, &is_stopping));
        assert_false(is_stopping);
        wal_barrier_deinit(&gate);
        queue_deinit(&queue);
}

/* --- with a store -------------------------------------------------------------------------------- */

static uint64_t wal_bytes(const Place *place) {
        char path[PATH_MAX];
        struct stat st;

        place_path(place, "perfd.db-wal", path);
        return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static bool wal_barrier_is_closed(Store *store) {
        WalBarrier *gate = store_wal_barrier(store);
        bool is_closed;

        pthread_mutex_lock(&gate->mutex);
        is_closed = gate->is_closed;
        pthread_mutex_unlock(&gate->mutex);
        return is_closed;
}

/* Stores results from n on in one row-set. */
static void put_some(Store *store, uint64_t n) {
        Item items[N_TOGETHER];
        Submission submissions[N_TOGETHER];

        for (size_t i = 0; i < N_TOGETHER; i++) {
                item_make(&items[i], "PiMatmul", "tensorflow", n + i);
                items[i].submission.time_ms = 5000 + n + i;
                submissions[i] = items[i].submission;
        }
        assert_int_equal(store_put(store, result_rows_pack(submissions, N_TOGETHER, ROOT, 5000, cookie_of(n + 1))), 0);
        assert_int_equal(outcome_of(store, n + 1), STORE_DONE);
}

/* Opens a store whose log is copied at 1 MiB, restarted at 2 MiB, and limited to 4 MiB. */
static int open_small(void **state) {
        static Place place;
        StoreConfig config;

        place_make(&place);
        config = place_config(&place);
        config.size_max_bytes = 16 * MIB;
        place_open_with(&place, &config);
        for (uint64_t n = 0; n < N_BEFORE; n += N_TOGETHER)
                put_some(place.store, n);
        *state = &place;
        return 0;
}

static int remove_place(void **state) {
        place_remove(*state);
        return 0;
}

/* Starts a query and leaves it open. */
static void hold(Reader *reader) {
        ResultFilter filter = {};
        ResultRow row;

        assert_int_equal(result_reader_list(reader, &filter), 0);
        assert_int_equal(result_reader_next(reader, &row), 0);
}

static uint64_t put_until(Place *place, uint64_t n, uint64_t n_bytes) {
        for (; wal_bytes(place) < n_bytes; n += N_TOGETHER)
                put_some(place->store, n);
        return n;
}

/*
 * Grows the log behind an open query until the barrier is closed, and stores one more row after the restart; returns
 * the bytes on disk. At 2 MiB, the barrier is closed if the checkpointer has ended, else at the end of the log.
 */
static uint64_t grow_behind_a_question(Place *place, uint64_t *n) {
        hold(place->reader);
        for (; !wal_barrier_is_closed(place->store) || wal_bytes(place) < 2 * MIB + MIB / 2; *n += N_TOGETHER)
                put_some(place->store, *n);

        reader_reset(place->reader);
        EVENTUALLY(!wal_barrier_is_closed(place->store));
        put_some(place->store, *n);
        *n += N_TOGETHER;
        return wal_bytes(place);
}

static void the_log_grows_during_a_query_and_restarts_after_it(void **state) {
        Place *place = *state;
        uint64_t n = N_BEFORE, n_bytes;

        n_bytes = grow_behind_a_question(place, &n);
        for (int i = 0; i < 5; i++, n += N_TOGETHER)
                put_some(place->store, n);
        assert_true(wal_bytes(place) <= n_bytes);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), n);
}

/* Truncating the log would cost more in new block allocations than the file's space is worth. */
static void the_log_keeps_its_length_while_rows_are_stored(void **state) {
        Place *place = *state;
        uint64_t n = N_BEFORE, n_bytes = 0;

        /* Repeat if storing was delayed so long that the log was truncated. */
        for (int i = 0; i < 10 && n_bytes <= 2 * MIB; i++)
                n_bytes = grow_behind_a_question(place, &n);
        assert_true(n_bytes > 2 * MIB);
        EVENTUALLY(wal_bytes(place) == 0);
}

static void another_reading_program_delays_nothing(void **state) {
        Place *place = *state;
        Reader *other;
        uint64_t n;

        assert_int_equal(reader_new(&other, store_path(place->store), NULL, 60 * NS_PER_S), 0);
        hold(other);
        n = put_until(place, N_BEFORE, 2 * MIB + MIB / 2);
        EVENTUALLY(!wal_barrier_is_closed(place->store));
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), n);
        reader_free(other);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(readers_wait_for_a_closed_gate_to_open),
                cmocka_unit_test(damaged_texts_are_counted),
                cmocka_unit_test(readers_enter_after_the_maximum_wait),
                cmocka_unit_test(the_last_to_leave_a_closed_gate_wakes_the_writer),
                cmocka_unit_test_setup_teardown(the_log_grows_during_a_query_and_restarts_after_it, open_small,
                                                remove_place),
                cmocka_unit_test_setup_teardown(the_log_keeps_its_length_while_rows_are_stored, open_small,
                                                remove_place),
                cmocka_unit_test_setup_teardown(another_reading_program_delays_nothing, open_small, remove_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
