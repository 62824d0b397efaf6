/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/base/user_names.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/user_names.h"
#include "tree.h"
#include "util/clock.h"

#define NOBODY_HAS 3999999999U

/* Asks until the directory service has answered. */
static void wait_for(UserNames *names, uint32_t uid, char ret[static USER_NAME_MAX]) {
        uint64_t end_ns = clock_boottime_ns() + 60 * NS_PER_S;

        while (!user_names_find(names, uid, ret) && clock_boottime_ns() < end_ns)
                (void)sched_yield();
}

static void users_of_this_machine_are_known_at_once(void **state) {
        char name[USER_NAME_MAX];
        UserNames names;

        (void)state;
        user_names_init(&names, "/");
        assert_true(user_names_find(&names, 0, name));
        assert_string_equal(name, "root");
        user_names_deinit(&names);
        user_names_init(&names, "/nonexistent");
        assert_true(user_names_find(&names, 0, name));
        assert_string_equal(name, "root");
        user_names_deinit(&names);
}

static void others_are_numbers_until_the_service_has_answered(void **state) {
        char name[USER_NAME_MAX];
        UserNames names;

        (void)state;
        user_names_init(&names, "/");
        names.n = 0;
        assert_false(user_names_find(&names, 0, name));
        assert_string_equal(name, "0");
        wait_for(&names, 0, name);
        assert_string_equal(name, "root");

        assert_false(user_names_find(&names, NOBODY_HAS, name));
        wait_for(&names, NOBODY_HAS, name);
        assert_true(user_names_find(&names, NOBODY_HAS, name));
        assert_string_equal(name, "3999999999");
        assert_false(user_names_find(&names, NOBODY_HAS - 1, name));
        user_names_deinit(&names); /* while a question is open */
}

/* Whoever of the two is last, the thread or perfd, frees the question: the leak sanitizer sees it if neither does. */
static void a_question_is_left_at_any_moment(void **state) {
        char name[USER_NAME_MAX];
        UserNames names;

        (void)state;
        for (int i = 0; i < 500; i++) {
                user_names_init(&names, "/");
                names.n = 0;
                assert_false(user_names_find(&names, NOBODY_HAS, name));
                for (int n = i; n > 0; n--)
                        (void)sched_yield();
                user_names_deinit(&names);
        }
}

static void the_oldest_name_makes_room(void **state) {
        char name[USER_NAME_MAX];
        UserNames names;

        (void)state;
        user_names_init(&names, "/");
        for (uint32_t i = 0; i < USER_NAMES_MAX; i++)
                names.items[i] = (UserName){ .uid = NOBODY_HAS - i, .text = "x", .until_ns = UINT64_MAX };
        names.n = USER_NAMES_MAX;
        wait_for(&names, 0, name);
        assert_string_equal(name, "root");
        assert_true(user_names_find(&names, NOBODY_HAS - 1, name));
        assert_false(user_names_find(&names, NOBODY_HAS, name));
        user_names_deinit(&names);
}

static void names_are_looked_up_again(void **state) {
        uint64_t end_ns = clock_boottime_ns() + 60 * NS_PER_S;
        char name[USER_NAME_MAX];
        UserNames names;

        (void)state;
        user_names_init(&names, "/");
        strcpy(names.items[0].text, "before");
        names.items[0].until_ns = 0;
        assert_true(user_names_find(&names, names.items[0].uid, name));
        assert_string_equal(name, "before");
        while (strcmp(name, "before") == 0 && clock_boottime_ns() < end_ns)
                assert_true(user_names_find(&names, names.items[0].uid, name));
        assert_string_equal(name, "root");
        user_names_deinit(&names);
}

static void another_root_has_its_own_users(void **state) {
        static const char users[] = "mara:x:7:7::/:/bin/sh\nzoe:x:3:3::/:/bin/sh\nbad\x1b:x:5:5::/:/bin/sh\n"
                                    "ada:x:7:7::/:/bin/sh\n";
        char root[64], path[96], name[USER_NAME_MAX];
        UserNames names;
        FILE *file;

        (void)state;
        tree_copy("small", root);
        (void)snprintf(path, sizeof(path), "%s/etc", root);
        (void)mkdir(path, 0700);
        (void)snprintf(path, sizeof(path), "%s/etc/passwd", root);
        file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(users, file) >= 0);
        assert_int_equal(fclose(file), 0);

        user_names_init(&names, root);
        assert_int_equal(names.n, 3);
        assert_true(user_names_find(&names, 7, name));
        assert_string_equal(name, "mara"); /* the first entry */
        assert_true(user_names_find(&names, 3, name));
        assert_string_equal(name, "zoe");
        assert_true(user_names_find(&names, 5, name));
        assert_string_equal(name, "5"); /* not a text for a terminal */
        assert_true(user_names_find(&names, 0, name)); /* no service is asked */
        assert_string_equal(name, "0");
        user_names_deinit(&names);
        tree_remove(root);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(users_of_this_machine_are_known_at_once),
                cmocka_unit_test(others_are_numbers_until_the_service_has_answered),
                cmocka_unit_test(a_question_is_left_at_any_moment),
                cmocka_unit_test(the_oldest_name_makes_room),
                cmocka_unit_test(names_are_looked_up_again),
                cmocka_unit_test(another_root_has_its_own_users),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
