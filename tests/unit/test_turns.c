/* SPDX-License-Identifier: Apache-2.0 */
/* Order of requests, and clients that must wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ingest/turns.h"

typedef struct Fixture {
        Shares *shares;
        ShareAccount *a, *b;
        Turns turns;
        TurnEntry many[3], few; /* connections of users a and b */
} Fixture;

static int set_up(void **state) {
        static const SharesConfig config = { .limits = { [RESOURCE_REQUESTS] = 1U << 20 } };
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        assert_int_equal(shares_new(&f->shares, &config), 0);
        f->a = shares_open_account(f->shares, &OWNER_OF_UID(1));
        f->b = shares_open_account(f->shares, &OWNER_OF_UID(2));
        turns_init(&f->turns);
        for (size_t i = 0; i < N_ELEMENTS(f->many); i++)
                assert_int_equal(turns_join(&f->turns, f->a, &f->many[i]), 0);
        assert_int_equal(turns_join(&f->turns, f->b, &f->few), 0);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(f->many); i++)
                turns_leave(&f->turns, &f->many[i]);
        turns_leave(&f->turns, &f->few);
        turns_deinit(&f->turns);
        shares_close_account(f->a);
        shares_close_account(f->b);
        shares_free(f->shares);
        free(f);
        return 0;
}

static void set_all_ready(Fixture *f) {
        for (size_t i = 0; i < N_ELEMENTS(f->many); i++)
                turns_set_ready(&f->turns, &f->many[i], true);
        turns_set_ready(&f->turns, &f->few, true);
}

/* Takes and answers a request of the next connection; returns the connection. */
static TurnEntry *serve(Fixture *f, size_t n_bytes) {
        TurnEntry *entry = turns_next(&f->turns);

        assert_non_null(entry);
        turns_taken(&f->turns, entry, n_bytes, NS_PER_S);
        turns_answered(&f->turns, entry, n_bytes);
        return entry;
}

static void users_share_the_work_not_connections(void **state) {
        Fixture *f = *state;
        size_t n_few = 0;

        set_all_ready(f);
        for (unsigned i = 0; i < 8000; i++)
                n_few += serve(f, 1000) == &f->few;
        assert_in_range(n_few, 3950, 4050); /* one connection against three */
}

static void large_requests_get_no_more_than_small_ones(void **state) {
        Fixture *f = *state;
        size_t n_bytes_many = 0, n_bytes_few = 0;

        set_all_ready(f);
        for (unsigned i = 0; i < 20000; i++) {
                size_t n = turns_next(&f->turns) == &f->few ? 500 : 100000;

                *(serve(f, n) == &f->few ? &n_bytes_few : &n_bytes_many) += n;
        }
        /* With large requests, a turn is one request of 100,000 bytes; with small ones, a quantum. */
        assert_in_range(n_bytes_many / 100000, n_bytes_few / TURNS_QUANTUM_BYTES * 9 / 10,
                        n_bytes_few / TURNS_QUANTUM_BYTES * 11 / 10);
}

static void connections_of_a_user_take_turns(void **state) {
        Fixture *f = *state;
        size_t n[3] = {};

        for (size_t i = 0; i < N_ELEMENTS(f->many); i++)
                turns_set_ready(&f->turns, &f->many[i], true);
        for (unsigned i = 0; i < 3 * 64 * 10; i++)
                n[serve(f, 100) - f->many]++;
        for (size_t i = 0; i < 3; i++)
                assert_int_equal(n[i], 640);
}

static void a_used_up_share_waits_for_answers(void **state) {
        Fixture *f = *state;
        TurnEntry *taken[64];
        size_t n = 0;

        turns_set_ready(&f->turns, &f->many[0], true);
        while ((taken[n] = turns_next(&f->turns))) {
                turns_taken(&f->turns, taken[n], 50000, NS_PER_S);
                assert_true(++n < 64);
        }
        assert_in_range(n * 50000, 400000, 600000); /* half of a MiB */

        /* An answer lets the user continue. */
        assert_null(turns_next(&f->turns));
        turns_answered(&f->turns, taken[--n], 50000);
        turns_answered(&f->turns, taken[--n], 50000);
        assert_ptr_equal(turns_next(&f->turns), &f->many[0]);

        while (n > 0)
                turns_answered(&f->turns, taken[--n], 50000);
        turns_set_ready(&f->turns, &f->many[0], false);
}

/* Takes requests of all connections that may go on, and returns how many. */
static size_t take_all(Fixture *f, TurnEntry *taken[], size_t n_bytes, uint64_t now_ns) {
        size_t n = 0;

        while ((taken[n] = turns_next(&f->turns))) {
                turns_taken(&f->turns, taken[n], n_bytes, now_ns);
                assert_true(++n < 1024);
        }
        return n;
}

static void users_who_ask_together_have_little_unanswered(void **state) {
        Fixture *f = *state;
        TurnEntry *taken[1024];
        size_t n;

        /* The other user comes while the first has all of its share, and waits for no more than what is there then. */
        turns_set_ready(&f->turns, &f->many[0], true);
        n = take_all(f, taken, 1000, NS_PER_S);
        assert_true(n > 4 * TURNS_SHARED_BYTES / 1000);
        turns_set_ready(&f->turns, &f->few, true);
        assert_ptr_equal(turns_next(&f->turns), &f->few);
        turns_taken(&f->turns, &f->few, 1000, NS_PER_S);
        turns_set_ready(&f->turns, &f->few, false);
        while (n > TURNS_SHARED_BYTES / 1000 + 1) {
                turns_answered(&f->turns, taken[--n], 1000);
                assert_null(turns_next(&f->turns));
        }
        turns_answered(&f->turns, taken[--n], 1000);
        assert_ptr_equal(turns_next(&f->turns), &f->many[0]);
        while (n > 0)
                turns_answered(&f->turns, taken[--n], 1000);
        turns_answered(&f->turns, &f->few, 1000);

        /* The same until the other has not asked for a while. */
        n = take_all(f, taken, 1000, NS_PER_S + 1);
        assert_int_equal(n, TURNS_SHARED_BYTES / 1000 + 1);
        while (n > 0)
                turns_answered(&f->turns, taken[--n], 1000);
        n = take_all(f, taken, 1000, 3 * NS_PER_S + TURNS_SHARED_NS);
        assert_true(n > 4 * TURNS_SHARED_BYTES / 1000);
        while (n > 0)
                turns_answered(&f->turns, taken[--n], 1000);
}

/* A user who sends one request at a time never waits for two turns of the other, who still gets every third turn. */
static void few_requests_wait_for_one_turn_only(void **state) {
        Fixture *f = *state;
        size_t n_few = 0, n_before;

        set_all_ready(f);
        for (unsigned i = 0; i < 3000; i++) {
                n_before = n_few;
                n_few += serve(f, TURNS_QUANTUM_BYTES / 2) == &f->few;
                if (n_few == n_before)
                        n_few += serve(f, TURNS_QUANTUM_BYTES / 2) == &f->few;
                assert_true(n_few > n_before || turns_next(&f->turns) == &f->few);
                turns_set_ready(&f->turns, &f->few, false);
                assert_non_null(turns_next(&f->turns));
                turns_set_ready(&f->turns, &f->few, true);
        }
        assert_in_range(n_few, 1500, 2000);
}

static void a_kept_request_is_in_the_way_of_its_user_only(void **state) {
        Fixture *f = *state;

        set_all_ready(f);
        (void)serve(f, TURNS_QUANTUM_BYTES);
        turns_keep(&f->turns, &f->many[1], true);
        for (unsigned i = 0; i < 10; i++)
                assert_ptr_equal(serve(f, TURNS_QUANTUM_BYTES), &f->few);
        turns_keep(&f->turns, &f->many[1], false);
        assert_ptr_not_equal(serve(f, TURNS_QUANTUM_BYTES), &f->few);
}

static void one_request_above_the_share_is_accepted(void **state) {
        Fixture *f = *state;

        turns_set_ready(&f->turns, &f->few, true);
        turns_taken(&f->turns, &f->few, 5U << 20, NS_PER_S);
        assert_null(turns_next(&f->turns));
        turns_answered(&f->turns, &f->few, 5U << 20);
        assert_ptr_equal(turns_next(&f->turns), &f->few);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(users_share_the_work_not_connections, set_up, tear_down),
                cmocka_unit_test_setup_teardown(large_requests_get_no_more_than_small_ones, set_up, tear_down),
                cmocka_unit_test_setup_teardown(connections_of_a_user_take_turns, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_used_up_share_waits_for_answers, set_up, tear_down),
                cmocka_unit_test_setup_teardown(users_who_ask_together_have_little_unanswered, set_up, tear_down),
                cmocka_unit_test_setup_teardown(few_requests_wait_for_one_turn_only, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_kept_request_is_in_the_way_of_its_user_only, set_up, tear_down),
                cmocka_unit_test_setup_teardown(one_request_above_the_share_is_accepted, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
