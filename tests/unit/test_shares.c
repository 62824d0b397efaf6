/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of several users, and released charges. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shares/shares.h"

#define LIMIT 1000U

static const SharesConfig config = {
        .limits = { [RESOURCE_QUERIES] = LIMIT, [RESOURCE_CONNECTIONS] = 100, [RESOURCE_INPUT] = 1U << 20 }
};

static int set_up(void **state) {
        Shares *shares = NULL;

        assert_int_equal(shares_new(&shares, &config), 0);
        *state = shares;
        return 0;
}

static int tear_down(void **state) {
        shares_free(*state);
        return 0;
}

static ShareAccount *open_uid(Shares *shares, uint32_t uid) {
        Owner owner = OWNER_OF_UID(uid);

        owner.is_admin = uid == 0;
        return shares_open_account(shares, &owner);
}

/* Charges jobs until one is refused; returns the number charged. */
static size_t take_all(ShareAccount *account, Charge *charges, size_t n_max) {
        size_t n = 0;

        while (n < n_max && shares_charge(account, RESOURCE_QUERIES, 1, &charges[n]) == 0)
                n++;
        return n;
}

static void release_all(Charge *charges, size_t n) {
        for (size_t i = 0; i < n; i++)
                shares_release(&charges[i]);
}

static void test_one_user_reaches_half_and_each_next_a_part(void **state) {
        static Charge charges[12][LIMIT];
        ShareAccount *accounts[12];
        size_t n[12];

        for (uint32_t i = 0; i < 12; i++) {
                accounts[i] = open_uid(*state, 1000 + i);
                n[i] = take_all(accounts[i], charges[i], LIMIT);
                /* 960 are not reserved: 480, 160, 80, 48 … = 960 / (k * (k + 1)); rounding errors accumulate. */
                assert_in_range(n[i], 960 / ((i + 1) * (i + 2)), 960 / ((i + 1) * (i + 2)) + 2);
        }
        assert_int_equal(n[0], 480);
        assert_int_equal(n[1], 160);

        for (size_t i = 0; i < 12; i++) {
                release_all(charges[i], n[i]);
                shares_close_account(accounts[i]);
        }
        accounts[0] = open_uid(*state, 1000);
        assert_int_equal(take_all(accounts[0], charges[0], LIMIT), 480);
        release_all(charges[0], 480);
        shares_close_account(accounts[0]);
}

static void test_administrators_find_the_reserve(void **state) {
        static Charge users[40][LIMIT], admins[LIMIT];
        ShareAccount *root = open_uid(*state, 0), *accounts[40];
        size_t n[40], n_users = 0, n_admins;

        for (uint32_t i = 0; i < 40; i++) {
                accounts[i] = open_uid(*state, 1000 + i);
                n[i] = take_all(accounts[i], users[i], LIMIT);
                n_users += n[i];
        }
        n_admins = take_all(root, admins, LIMIT);
        assert_true(n_users <= 960);
        assert_true(n_admins >= 40);
        assert_int_equal(n_users + n_admins, LIMIT);
        /* Space that administrators use beyond the reserve is not available to users. */
        assert_int_equal(take_all(accounts[39], users[39] + n[39], 1), 0);

        release_all(admins, n_admins);
        for (size_t i = 0; i < 40; i++) {
                release_all(users[i], n[i]);
                shares_close_account(accounts[i]);
        }
        shares_close_account(root);
}

static void test_every_user_has_the_floor_while_there_is_room(void **state) {
        ShareAccount *accounts[45];
        Charge charges[45][3];
        size_t n = 0;

        for (uint32_t i = 0; i < 45; i++)
                accounts[i] = open_uid(*state, 1000 + i);
        for (size_t i = 0; i < 45; i++)
                for (size_t k = 0; k < 2; k++, n++)
                        assert_int_equal(shares_charge(accounts[i], RESOURCE_CONNECTIONS, 1, &charges[i][k]), 0);
        assert_int_equal(n, 90);
        assert_int_equal(shares_charge(accounts[0], RESOURCE_CONNECTIONS, 1, &charges[0][2]), SHARES_REFUSED);

        for (size_t i = 0; i < 45; i++) {
                release_all(charges[i], 2);
                shares_close_account(accounts[i]);
        }
}

static void test_a_charge_grows_within_the_share(void **state) {
        ShareAccount *a = open_uid(*state, 1), *b = open_uid(*state, 2);
        Charge charge, other;

        assert_int_equal(shares_charge(a, RESOURCE_INPUT, 0, &charge), 0);
        assert_int_equal(shares_resize(&charge, 300000), 0);
        assert_int_equal(shares_resize(&charge, 600000), SHARES_REFUSED);
        assert_int_equal(charge.amount, 300000);
        assert_int_equal(shares_charge(b, RESOURCE_INPUT, 100000, &other), 0);
        /* a uses more than its share: existing charges are kept, decreases are allowed, increases are refused. */
        assert_int_equal(shares_resize(&other, 200000), 0);
        assert_int_equal(shares_resize(&charge, 300001), SHARES_REFUSED);
        assert_int_equal(shares_resize(&charge, 299999), 0);

        shares_release(&charge);
        assert_null(charge.account);
        shares_release(&charge);
        shares_release(&other);
        shares_close_account(a);
        shares_close_account(b);
}

static void test_weights_and_configuration(void **state) {
        static Charge charges[LIMIT];
        SharesConfig changed = config;
        ShareAccount *ci = open_uid(*state, 77);
        size_t n = take_all(ci, charges, LIMIT);

        assert_int_equal(n, 480);
        changed.weights.items[changed.weights.n++] = (SharesWeight){ .uid = 77, .weight = 3 };
        shares_configure(*state, &changed);
        n += take_all(ci, charges + n, LIMIT - n);
        assert_int_equal(n, 720); /* 3 of 4 parts of the free space */

        changed.limits[RESOURCE_QUERIES] = 10;
        shares_configure(*state, &changed);
        assert_int_equal(take_all(ci, charges + n, 1), 0);
        release_all(charges, n);
        shares_close_account(ci);
}

static void test_an_administrator_has_an_account_apart(void **state) {
        Owner admin = { .type = OWNER_USER, .uid = 5, .is_admin = true };
        static Charge charges[LIMIT], others[LIMIT];
        ShareAccount *user = open_uid(*state, 5), *account = shares_open_account(*state, &admin);
        ResourceStats stats[N_RESOURCES];
        size_t n = take_all(user, charges, LIMIT), n_others;
        AccountReport report;

        assert_ptr_not_equal(user, account);
        n_others = take_all(account, others, LIMIT);
        assert_int_equal(n + n_others, LIMIT);
        shares_stats(*state, stats);
        assert_int_equal(stats[RESOURCE_QUERIES].n_held, LIMIT);
        assert_int_equal(stats[RESOURCE_QUERIES].n_owners, 2);
        shares_report_user(*state, 5, &report);
        assert_true(report.owner.is_admin);
        assert_int_equal(report.resources[RESOURCE_QUERIES].n_held, n_others);
        shares_report_user(*state, 6, &report);
        assert_int_equal(report.resources[RESOURCE_QUERIES].n_held, 0);
        assert_int_equal(report.resources[RESOURCE_QUERIES].share, 0);

        release_all(charges, n);
        release_all(others, n_others);
        shares_stats(*state, stats);
        assert_int_equal(stats[RESOURCE_QUERIES].n_held, 0);
        assert_int_equal(stats[RESOURCE_QUERIES].n_owners, 0);
        shares_close_account(account);
        shares_close_account(user);
}

static void test_refusals_are_explained_and_reported(void **state) {
        Owner host = { .type = OWNER_ADDRESS, .address = { [10] = 0xff, 0xff, 192, 0, 2, 7 } };
        ShareAccount *far = shares_open_account(*state, &host), *near = open_uid(*state, 9);
        char reason[SHARES_REASON_MAX];
        AccountReport reports[4];
        Charge charge;

        assert_int_equal(shares_charge(far, RESOURCE_QUERIES, LIMIT, &charge), SHARES_REFUSED);
        shares_explain(far, RESOURCE_QUERIES, reason);
        assert_string_equal(
                reason, "192.0.2.7 holds 0 running or waiting queries, and its share is 480 while 0 users hold some "
                        "([limits] queries = 1000 for all): release some, or try again later");
        shares_explain(near, RESOURCE_INPUT, reason);
        assert_non_null(strstr(reason, "uid 9 holds 0 bytes of incomplete requests"));

        shares_close_account(far); /* kept for the report */
        shares_close_account(near);
        assert_int_equal(shares_report(*state, reports, 4), 1);
        assert_int_equal(reports[0].owner.type, OWNER_ADDRESS);
        assert_int_equal(reports[0].resources[RESOURCE_QUERIES].n_refused, 1);
        assert_true(reports[0].resources[RESOURCE_QUERIES].refused_first_ms > 0);
        assert_int_equal(reports[0].resources[RESOURCE_QUERIES].share, 480);
}

static void test_accounts_of_the_refused_are_bounded(void **state) {
        static AccountReport reports[2 * SHARES_IDLE_ACCOUNTS_MAX];
        Charge charge;

        for (uint32_t uid = 1; uid <= 2 * SHARES_IDLE_ACCOUNTS_MAX; uid++) {
                ShareAccount *account = open_uid(*state, uid);

                assert_int_equal(shares_charge(account, RESOURCE_QUERIES, LIMIT, &charge), SHARES_REFUSED);
                shares_close_account(account);
        }
        assert_int_equal(shares_report(*state, reports, N_ELEMENTS(reports)), SHARES_IDLE_ACCOUNTS_MAX);
        shares_close_account(open_uid(*state, 2 * SHARES_IDLE_ACCOUNTS_MAX)); /* used again, and kept again */
        assert_int_equal(shares_report(*state, reports, N_ELEMENTS(reports)), SHARES_IDLE_ACCOUNTS_MAX);
}

static void *charge_many(void *userdata) {
        for (uint32_t i = 0; i < 20000; i++) {
                ShareAccount *account = open_uid(userdata, i % 7);
                Charge charge;

                if (shares_charge(account, RESOURCE_QUERIES, 100 + i % 5, &charge) == 0)
                        shares_release(&charge);
                shares_close_account(account);
        }
        return NULL;
}

static void test_threads_leave_nothing_behind(void **state) {
        ResourceStats stats[N_RESOURCES];
        pthread_t threads[4];

        for (size_t i = 0; i < N_ELEMENTS(threads); i++)
                assert_int_equal(pthread_create(&threads[i], NULL, charge_many, *state), 0);
        for (size_t i = 0; i < N_ELEMENTS(threads); i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        shares_stats(*state, stats);
        assert_int_equal(stats[RESOURCE_QUERIES].n_held, 0);
        assert_int_equal(stats[RESOURCE_QUERIES].n_owners, 0);
}

static void test_refusals_of_a_user_are_forgotten(void **state) {
        static Charge charges[LIMIT];
        AccountReport reports[4];

        for (uint32_t uid = 1000; uid < 1002; uid++) {
                ShareAccount *account = open_uid(*state, uid);

                release_all(charges, take_all(account, charges, LIMIT));
                shares_close_account(account);
        }
        assert_int_equal(shares_report(*state, reports, N_ELEMENTS(reports)), 2);
        shares_forget(*state, 1000);
        assert_int_equal(shares_report(*state, reports, N_ELEMENTS(reports)), 1);
        assert_int_equal(reports[0].owner.uid, 1001);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_one_user_reaches_half_and_each_next_a_part, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_administrators_find_the_reserve, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_every_user_has_the_floor_while_there_is_room, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_charge_grows_within_the_share, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_weights_and_configuration, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_an_administrator_has_an_account_apart, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_refusals_are_explained_and_reported, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_accounts_of_the_refused_are_bounded, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_threads_leave_nothing_behind, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_refusals_of_a_user_are_forgotten, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
