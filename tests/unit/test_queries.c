/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which users' queries run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "http/queries.h"

typedef struct Fixture {
        Shares *shares;
        ShareAccount *a, *b;
        Queries queries;
} Fixture;

static int set_up(void **state) {
        static const SharesConfig config = { .limits = { [RESOURCE_QUERIES] = 1000 } };
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        assert_int_equal(shares_new(&fixture->shares, &config), 0);
        fixture->a = shares_open_account(fixture->shares, &OWNER_OF_UID(1));
        fixture->b = shares_open_account(fixture->shares, &OWNER_OF_UID(2));
        queries_init(&fixture->queries, 2);
        *state = fixture;
        return 0;
}

static int tear_down(void **state) {
        Fixture *fixture = *state;

        queries_deinit(&fixture->queries);
        shares_close_account(fixture->a);
        shares_close_account(fixture->b);
        shares_free(fixture->shares);
        free(fixture);
        return 0;
}

static void put(Fixture *fixture, ShareAccount *account, Query *query) {
        *query = (Query){};
        assert_int_equal(shares_charge(account, RESOURCE_QUERIES, 1, &query->charge), 0);
        assert_int_equal(queries_put(&fixture->queries, query), 0);
}

static void end(Fixture *fixture, Query *query) {
        queries_done(&fixture->queries, query);
        shares_release(&query->charge);
}

static void users_take_turns(void **state) {
        Fixture *fixture = *state;
        Query many[4], few[2];

        for (size_t i = 0; i < N_ELEMENTS(many); i++)
                put(fixture, fixture->a, &many[i]);
        for (size_t i = 0; i < N_ELEMENTS(few); i++)
                put(fixture, fixture->b, &few[i]);

        assert_ptr_equal(queries_take(&fixture->queries), &many[0]);
        assert_ptr_equal(queries_take(&fixture->queries), &few[0]);
        end(fixture, &many[0]);
        assert_ptr_equal(queries_take(&fixture->queries), &many[1]);
        assert_ptr_equal(queries_take(&fixture->queries), &few[1]);
        end(fixture, &few[0]);
        end(fixture, &few[1]);
        assert_ptr_equal(queries_take(&fixture->queries), &many[2]);
        end(fixture, &many[1]);
        assert_ptr_equal(queries_take(&fixture->queries), &many[3]);
        end(fixture, &many[2]);
        end(fixture, &many[3]);
}

static void a_thread_is_left_for_others(void **state) {
        Fixture *fixture = *state;
        Query many[3], other;

        for (size_t i = 0; i < N_ELEMENTS(many); i++)
                put(fixture, fixture->a, &many[i]);
        assert_ptr_equal(queries_take(&fixture->queries), &many[0]);
        assert_ptr_equal(queries_take(&fixture->queries), &many[1]);
        put(fixture, fixture->b, &other); /* many[2] is older, but its user already has two running queries */
        assert_ptr_equal(queries_take(&fixture->queries), &other);
        end(fixture, &many[0]);
        assert_ptr_equal(queries_take(&fixture->queries), &many[2]);
        end(fixture, &many[1]);
        end(fixture, &many[2]);
        end(fixture, &other);
}

static void stopping_returns_waiting_queries(void **state) {
        Fixture *fixture = *state;
        Query queries[4], late = {};

        for (size_t i = 0; i < N_ELEMENTS(queries); i++)
                put(fixture, fixture->a, &queries[i]);
        assert_false(queries_is_stopping(&fixture->queries));
        queries_stop(&fixture->queries);
        assert_true(queries_is_stopping(&fixture->queries));

        assert_int_equal(shares_charge(fixture->b, RESOURCE_QUERIES, 1, &late.charge), 0);
        assert_int_equal(queries_put(&fixture->queries, &late), QUERIES_STOPPED);
        shares_release(&late.charge);
        for (size_t i = 0; i < N_ELEMENTS(queries); i++)
                assert_ptr_equal(queries_take(&fixture->queries), &queries[i]);
        assert_null(queries_take(&fixture->queries));
        for (size_t i = 0; i < N_ELEMENTS(queries); i++)
                end(fixture, &queries[i]);
}

static void *on_taker(void *userdata) {
        Fixture *fixture = userdata;
        Query *query;
        size_t n = 0;

        while ((query = queries_take(&fixture->queries))) {
                end(fixture, query);
                n++;
        }
        return (void *)n;
}

static void threads_take_each_query_once(void **state) {
        static Query queries[400];
        Fixture *fixture = *state;
        pthread_t threads[3];
        size_t n = 0;

        for (size_t i = 0; i < N_ELEMENTS(threads); i++)
                assert_int_equal(pthread_create(&threads[i], NULL, on_taker, fixture), 0);
        for (size_t i = 0; i < N_ELEMENTS(queries); i++)
                put(fixture, i % 3 ? fixture->a : fixture->b, &queries[i]);
        queries_stop(&fixture->queries);
        for (size_t i = 0; i < N_ELEMENTS(threads); i++) {
                void *taken;

                assert_int_equal(pthread_join(threads[i], &taken), 0);
                n += (size_t)taken;
        }
        assert_int_equal(n, N_ELEMENTS(queries));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(users_take_turns, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_thread_is_left_for_others, set_up, tear_down),
                cmocka_unit_test_setup_teardown(stopping_returns_waiting_queries, set_up, tear_down),
                cmocka_unit_test_setup_teardown(threads_take_each_query_once, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
