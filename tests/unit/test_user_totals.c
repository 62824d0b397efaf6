/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/user_totals.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs/user_totals.h"

typedef struct Fixture {
        char directory[64], path[96];
        UserTotals totals;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        strcpy(f->directory, "/tmp/perfd-users-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        (void)snprintf(f->path, sizeof(f->path), "%s/account.users", f->directory);
        assert_int_equal(user_totals_open(&f->totals, f->path, "a-boot"), 0);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        user_totals_deinit(&f->totals);
        (void)unlink(f->path);
        assert_int_equal(rmdir(f->directory), 0);
        free(f);
        return 0;
}

static void reopen(Fixture *f, const char *boot_id) {
        user_totals_deinit(&f->totals);
        assert_int_equal(user_totals_open(&f->totals, f->path, boot_id), 0);
}

static UsageSet usage_new(double cpu_s, double read_bytes) {
        UsageSet usage;

        usage_none(&usage);
        usage.value[USAGE_CPU_SECONDS] = cpu_s;
        usage.quality[USAGE_CPU_SECONDS] = QUALITY_EXACT;
        usage.value[USAGE_READ_BYTES] = read_bytes;
        usage.quality[USAGE_READ_BYTES] = QUALITY_SAMPLED;
        usage.value[USAGE_WRITE_BYTES] = 7; /* absent */
        return usage;
}

static void jobs_are_added_up_and_kept(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(0.227401, 4096);
        const UserUsage *user;

        user_totals_note(&f->totals, 1000);
        assert_int_equal(f->totals.users.n, 1);
        assert_int_equal(f->totals.users.users[0].n_jobs, 0);
        for (int i = 0; i < 100; i++)
                user_totals_add(&f->totals, 1000, &usage);
        user_totals_add(&f->totals, 1001, &usage);
        reopen(f, "a-boot");
        assert_int_equal(f->totals.users.n, 2);
        user = &f->totals.users.users[0];
        assert_int_equal(user->uid, 1000);
        assert_int_equal(user->n_jobs, 100);
        assert_int_equal(user->cpu_us, 22740100);
        assert_int_equal(user->read_bytes, 409600);
        assert_int_equal(user->written_bytes, 0);
        assert_int_equal(f->totals.users.users[1].n_jobs, 1);
}

static void another_boot_begins_at_zero(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(1, 1);

        user_totals_add(&f->totals, 1000, &usage);
        reopen(f, "another-boot");
        assert_int_equal(f->totals.users.n, 0);
        user_totals_add(&f->totals, 1000, &usage);
        reopen(f, "another-boot");
        assert_int_equal(f->totals.users.users[0].n_jobs, 1);
}

static void users_beyond_the_limit_share_an_entry(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(1, 0);

        for (uint32_t uid = 1; uid <= USERS_SHOWN_MAX + 5; uid++)
                user_totals_add(&f->totals, uid, &usage);
        user_totals_add(&f->totals, 1, &usage);
        reopen(f, "a-boot");
        assert_int_equal(f->totals.users.n, USERS_SHOWN_MAX);
        assert_int_equal(f->totals.users.others.n_jobs, 5);
        assert_int_equal(f->totals.users.others.cpu_us, 5000000);
        assert_int_equal(f->totals.users.users[0].n_jobs, 2);
}

static void totals_work_without_a_file(void **state) {
        UserTotals totals = {};
        const UsageSet usage = usage_new(1, 0);

        (void)state;
        assert_true(user_totals_open(&totals, "/nonexistent/account.users", "a-boot") < 0);
        user_totals_add(&totals, 5, &usage);
        assert_int_equal(totals.users.users[0].n_jobs, 1);
        user_totals_deinit(&totals);
}

#define TOTALS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TOTALS_TEST(jobs_are_added_up_and_kept),
                TOTALS_TEST(another_boot_begins_at_zero),
                TOTALS_TEST(users_beyond_the_limit_share_an_entry),
                cmocka_unit_test(totals_work_without_a_file),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
