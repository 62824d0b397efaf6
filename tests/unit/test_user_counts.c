/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/user_counts.h"

static void items_are_counted_by_user(void **state) {
        UserCounts counts = {};

        (void)state;
        assert_int_equal(user_counts_get(&counts, 0), 0);
        user_counts_add(&counts, 0, 2);
        user_counts_add(&counts, 1000, 1);
        user_counts_add(&counts, UINT32_MAX, 0);
        user_counts_add(&counts, 1000, 4);
        assert_int_equal(user_counts_get(&counts, 0), 2);
        assert_int_equal(user_counts_get(&counts, 1000), 5);
        assert_int_equal(user_counts_get(&counts, UINT32_MAX), 0);
        assert_int_equal(counts.n_users, 2);
        assert_int_equal(counts.n_most, 5);
}

static void as_many_users_as_allowed_have_counts_of_their_own(void **state) {
        UserCounts counts = {};

        (void)state;
        for (unsigned round = 1; round <= 2; round++)
                for (uint32_t uid = 0; uid < USER_COUNTS_MAX; uid++)
                        user_counts_add(&counts, 256 * uid, uid + 1);
        for (uint32_t uid = 0; uid < USER_COUNTS_MAX; uid++)
                assert_int_equal(user_counts_get(&counts, 256 * uid), 2 * (uid + 1));
        assert_int_equal(counts.n_most, 2 * USER_COUNTS_MAX);
        assert_int_equal(user_counts_get(&counts, 1), 0);
}

typedef struct Item {
        char name[12];
        uint64_t used;
        uint32_t uid;
} Item;

static size_t choose(const Item *items, size_t n, uint32_t uid) {
        return user_counts_choose_victim(&items->uid, &items->used, sizeof(*items), n, uid);
}

static void a_further_item_replaces_the_oldest_of_the_user_with_the_most(void **state) {
        static const Item items[] = { { "a", 9, 1 }, { "b", 3, 2 }, { "c", 5, 1 }, { "d", 7, 1 }, { "e", 1, 3 } };

        (void)state;
        assert_int_equal(choose(items, 5, 1), 2);
        assert_int_equal(choose(items, 5, 4), 2);
        assert_int_equal(choose(items, 3, 2), 1); /* as many of each: the oldest of all */
        assert_int_equal(choose(items, 2, 2), 1);
        assert_int_equal(choose(items, 1, 2), 0);
        assert_int_equal(choose(items, 0, 2), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(items_are_counted_by_user),
                cmocka_unit_test(as_many_users_as_allowed_have_counts_of_their_own),
                cmocka_unit_test(a_further_item_replaces_the_oldest_of_the_user_with_the_most),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
