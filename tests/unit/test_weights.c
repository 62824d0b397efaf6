/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/setting.c daemon/user_database.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "setting.h"
#include "shares/shares.h"
#include "user_database.h"

static int parse(const char *text, SharesWeights *ret) {
        const Setting setting = { .type = SETTING_WEIGHTS, .size = sizeof(*ret) };

        return setting_set(&setting, ret, text, NULL);
}

static void users_are_names_or_numbers(void **state) {
        SharesWeights weights;

        (void)state;
        assert_int_equal(parse(" root=3\t 4711=1000  root=5 ", &weights), 0);
        assert_int_equal(weights.n, 3);
        assert_int_equal(weights.items[0].uid, 0);
        assert_int_equal(weights.items[0].weight, 3);
        assert_int_equal(weights.items[1].uid, 4711);
        assert_int_equal(weights.items[1].weight, 1000);
        assert_int_equal(parse("", &weights), 0);
        assert_int_equal(weights.n, 0);
}

static void an_invalid_weight_is_refused(void **state) {
        static const char *const texts[] = { "root", "root=", "root=0", "root=1001", "root=x", "=3", "no-such-user=3",
                                             "@no-such-group=3", "@=3",
                                             "4294967295=3", "root=3 bad" };
        SharesWeights weights = { .n = 77 };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                if (parse(texts[i], &weights) != SETTING_INVALID)
                        fail_msg("'%s' is a weight", texts[i]);
        assert_int_equal(weights.n, 77);
}

static void too_many_users_are_refused(void **state) {
        scoped(freep) char *text = calloc(SHARES_WEIGHTS_MAX + 1, 16);
        scoped(freep) SharesWeights *weights = calloc(1, sizeof(*weights));
        char *p = text;

        (void)state;
        assert_true(text && weights);
        for (unsigned i = 0; i < SHARES_WEIGHTS_MAX; i++)
                p += sprintf(p, "%u=2 ", i);
        assert_int_equal(parse(text, weights), 0);
        assert_int_equal(weights->n, SHARES_WEIGHTS_MAX);
        strcpy(p, "1=2");
        assert_int_equal(parse(text, weights), SETTING_INVALID);
}

/* Finds a group of this machine with an existing member. Returns false if there is none. */
static bool find_group_with_members(char name[static 64], uint32_t *ret_gid, uint32_t *ret_uid) {
        const struct group *group;
        bool is_found = false;

        setgrent();
        while (!is_found && (group = getgrent()))
                if (group->gr_mem[0] && user_database_find_user(NULL, group->gr_mem[0], ret_uid) == 0) {
                        (void)snprintf(name, 64, "%s", group->gr_name);
                        *ret_gid = group->gr_gid;
                        is_found = true;
                }
        endgrent();
        return is_found;
}

static void a_group_stands_for_its_members(void **state) {
        scoped(freep) SharesWeights *by_name = calloc(1, sizeof(*by_name)), *by_number = calloc(1, sizeof(*by_number));
        char name[64], text[80];
        uint32_t gid = 0, uid = 0;

        (void)state;
        assert_true(by_name && by_number);
        /* The group of root exists everywhere, usually without members. */
        assert_int_equal(parse("@root=2", by_name), 0);

        if (!find_group_with_members(name, &gid, &uid))
                skip(); /* no group of this machine has members */
        (void)snprintf(text, sizeof(text), "@%s=7", name);
        assert_int_equal(parse(text, by_name), 0);
        assert_true(by_name->n >= 1);
        assert_int_equal(by_name->items[0].uid, uid);
        assert_int_equal(by_name->items[0].weight, 7);

        (void)snprintf(text, sizeof(text), "@%u=7", gid);
        assert_int_equal(parse(text, by_number), 0);
        assert_memory_equal(by_number, by_name, sizeof(*by_name));
}

static void names_have_numbers(void **state) {
        uint32_t id = 4711, members[1];
        size_t n;

        (void)state;
        assert_int_equal(user_database_find_user(NULL, "root", &id), 0);
        assert_int_equal(id, 0);
        assert_int_equal(user_database_find_group(NULL, "4711", &id), 0);
        assert_int_equal(id, 4711);
        assert_int_equal(user_database_find_group(NULL, "root", &id), 0);
        assert_int_equal(id, 0);
        assert_int_equal(user_database_find_user(NULL, "no-such-user", &id), USER_DATABASE_UNKNOWN);
        assert_int_equal(user_database_find_group(NULL, "no-such-group", &id), USER_DATABASE_UNKNOWN);
        assert_int_equal(user_database_list_members(NULL, "no-such-group", members, 1, &n), USER_DATABASE_UNKNOWN);
        assert_int_equal(user_database_list_members(NULL, "0", members, 0, &n), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(users_are_names_or_numbers),
                cmocka_unit_test(an_invalid_weight_is_refused),
                cmocka_unit_test(too_many_users_are_refused),
                cmocka_unit_test(a_group_stands_for_its_members),
                cmocka_unit_test(names_have_numbers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
