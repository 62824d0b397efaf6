/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "store/queue.h"
#include "util/clock.h"

#define DEADLINE_NS (60 * NS_PER_S)
#define ROW_BYTES 1000U

static RowSet *push(Queue *queue, size_t n_rows) {
        RowSet *set = calloc(1, sizeof(*set));

        assert_non_null(set);
        set->n_rows = n_rows;
        set->n_bytes = ROW_BYTES * n_rows;
        return queue_push(queue, set) == 0 ? set : NULL;
}

static int set_up(void **state) {
        Queue *queue = calloc(1, sizeof(*queue));

        assert_non_null(queue);
        assert_int_equal(queue_init(queue), 0);
        queue_configure(queue, 10, 100 * ROW_BYTES);
        *state = queue;
        return 0;
}

static int tear_down(void **state) {
        queue_deinit(*state);
        free(*state);
        return 0;
}

static void sets_are_taken_in_their_order(void **state) {
        Queue *queue = *state;
        RowSet *first = push(queue, 1), *second = push(queue, 2), *sets;
        bool is_stopping = true;
        size_t n_rows, n_bytes;

        sets = queue_take(queue, 0, &is_stopping);
        assert_false(is_stopping);
        assert_ptr_equal(sets, first);
        assert_ptr_equal(sets->next, second);
        assert_null(queue_take_at_once(queue));
        queue_count(queue, &n_rows, &n_bytes); /* until they are done */
        assert_int_equal(n_rows, 3);
        assert_int_equal(n_bytes, 3 * ROW_BYTES);
        queue_done(queue, sets);
        queue_count(queue, &n_rows, &n_bytes);
        assert_int_equal(n_rows, 0);
        assert_int_equal(poll(&(struct pollfd){ .fd = queue->done_fd, .events = POLLIN }, 1, 0), 1);
}

/* The writer takes further sets while it works, and must still find out what it was poked for. */
static void a_poke_stays_for_the_next_take_that_waits(void **state) {
        Queue *queue = *state;
        uint64_t begin_ns = clock_boottime_ns();
        bool is_stopping;
        RowSet *set = push(queue, 1);

        queue_poke(queue);
        assert_ptr_equal(queue_take_at_once(queue), set);
        queue_done(queue, set);
        assert_null(queue_take(queue, DEADLINE_NS, &is_stopping));
        assert_true(clock_boottime_ns() - begin_ns < DEADLINE_NS);
}

static void a_full_queue_refuses_sets_unless_it_is_empty(void **state) {
        Queue *queue = *state;
        RowSet larger = { .n_rows = 20, .n_bytes = 20 * ROW_BYTES };

        assert_non_null(push(queue, 15));
        assert_int_equal(queue_push(queue, &larger), QUEUE_FULL);
        assert_false(queue_has_room(queue, 1, 1));
        queue_done(queue, queue_take_at_once(queue));
        assert_true(queue_has_room(queue, 20, 1));
}

static void a_queue_may_be_filled_to_its_limit(void **state) {
        Queue *queue = *state;

        assert_non_null(push(queue, 9));
        assert_false(queue_has_room(queue, 2, 1));
        assert_true(queue_has_room(queue, 1, 1));
        assert_non_null(push(queue, 1));
        assert_false(queue_has_room(queue, 1, 1));
}

#define N_SETS 500U

static void *take_sets(void *userdata) {
        Queue *queue = userdata;
        bool is_stopping;

        for (size_t n = 0; n < N_SETS;) {
                RowSet *sets = queue_take(queue, DEADLINE_NS, &is_stopping);

                for (const RowSet *set = sets; set; set = set->next)
                        n++;
                queue_done(queue, sets);
        }
        return NULL;
}

/* The thread sanitizer finds what is not locked. */
static void a_thread_takes_sets_while_another_adds_some(void **state) {
        Queue *queue = *state;
        size_t n_rows, n_bytes;
        pthread_t thread;

        queue_configure(queue, N_SETS, N_SETS * ROW_BYTES);
        assert_int_equal(pthread_create(&thread, NULL, take_sets, queue), 0);
        for (size_t i = 0; i < N_SETS; i++)
                assert_non_null(push(queue, 1));
        assert_int_equal(pthread_join(thread, NULL), 0);
        queue_count(queue, &n_rows, &n_bytes);
        assert_int_equal(n_rows, 0);
        assert_int_equal(n_bytes, 0);
}

static void *wait_for_a_tick(void *userdata) {
        bool is_stopping;

        assert_null(queue_take(userdata, NS_PER_MS, &is_stopping)); /* the grace of queue_tick() is long */
        return NULL;
}

/* The writer waits for the tick that follows the end of its time. */
static void a_wait_that_is_over_ends_at_a_tick(void **state) {
        Queue *queue = *state;
        uint64_t begin_ns = clock_boottime_ns();
        pthread_t thread;
        int r;

        queue_tick(queue, DEADLINE_NS); /* from here on, a wait ends at ticks */
        assert_int_equal(pthread_create(&thread, NULL, wait_for_a_tick, queue), 0);
        while ((r = pthread_tryjoin_np(thread, NULL)) == EBUSY)
                queue_tick(queue, DEADLINE_NS);
        assert_int_equal(r, 0);
        assert_true(clock_boottime_ns() - begin_ns >= NS_PER_MS);
        assert_true(clock_boottime_ns() - begin_ns < DEADLINE_NS);
}

static void a_wait_ends_without_ticks_too(void **state) {
        Queue *queue = *state;
        uint64_t begin_ns = clock_monotonic_ns();
        bool is_stopping;

        queue_tick(queue, 5 * NS_PER_MS);
        assert_null(queue_take(queue, NS_PER_MS, &is_stopping));
        assert_true(clock_monotonic_ns() - begin_ns >= 11 * NS_PER_MS);
}

static void a_stopped_queue_says_so_and_does_not_wait(void **state) {
        Queue *queue = *state;
        bool is_stopping = false;

        queue_stop(queue);
        assert_null(queue_take(queue, DEADLINE_NS, &is_stopping));
        assert_true(is_stopping);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(sets_are_taken_in_their_order),
                TEST(a_poke_stays_for_the_next_take_that_waits),
                TEST(a_full_queue_refuses_sets_unless_it_is_empty),
                TEST(a_queue_may_be_filled_to_its_limit),
                TEST(a_thread_takes_sets_while_another_adds_some),
                TEST(a_wait_that_is_over_ends_at_a_tick),
                TEST(a_wait_ends_without_ticks_too),
                TEST(a_stopped_queue_says_so_and_does_not_wait),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
