/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/table/user_totals.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs/table/user_totals.h"

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

/* Adds a job with the label account=value; NULL: without labels. */
static void add(UserTotals *totals, uint32_t uid, const char *value, const UsageSet *usage) {
        const DescriptionLabel labels[] = { { "team", "x" }, { "account", value } };

        user_totals_add(totals, &(JobDescription){ .uid = uid, .labels = labels, .n_labels = value ? 2 : 0 }, usage);
}

static void jobs_are_added_up_and_kept(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(0.227401, 4096);
        const UsageTotal *user;

        user_totals_note(&f->totals, 1000);
        assert_int_equal(f->totals.users.n, 1);
        assert_int_equal(f->totals.users.entries[0].n_jobs, 0);
        for (int i = 0; i < 100; i++)
                add(&f->totals, 1000, NULL, &usage);
        add(&f->totals, 1001, NULL, &usage);
        reopen(f, "a-boot");
        assert_int_equal(f->totals.users.n, 2);
        user = &f->totals.users.entries[0];
        assert_string_equal(user->key, "1000");
        assert_int_equal(user->n_jobs, 100);
        assert_int_equal(user->cpu_us, 22740100);
        assert_int_equal(user->read_bytes, 409600);
        assert_int_equal(user->written_bytes, 0);
        assert_int_equal(f->totals.users.entries[1].n_jobs, 1);
}

static void another_boot_begins_at_zero(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(1, 1);

        add(&f->totals, 1000, NULL, &usage);
        reopen(f, "another-boot");
        assert_int_equal(f->totals.users.n, 0);
        add(&f->totals, 1000, NULL, &usage);
        reopen(f, "another-boot");
        assert_int_equal(f->totals.users.entries[0].n_jobs, 1);
}

static void users_beyond_the_limit_share_an_entry(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(1, 0);

        for (uint32_t uid = 1; uid <= TOTALS_SHOWN_MAX + 5; uid++)
                add(&f->totals, uid, NULL, &usage);
        add(&f->totals, 1, NULL, &usage);
        reopen(f, "a-boot");
        assert_int_equal(f->totals.users.n, TOTALS_SHOWN_MAX);
        assert_int_equal(f->totals.users.others.n_jobs, 5);
        assert_int_equal(f->totals.users.others.cpu_us, 5000000);
        assert_int_equal(f->totals.users.entries[0].n_jobs, 2);
}

static const UsageTotal *find_value(const UserTotals *totals, const char *value) {
        for (size_t i = 0; i < totals->labels.n; i++)
                if (strcmp(totals->labels.entries[i].key, value) == 0)
                        return &totals->labels.entries[i];
        return NULL;
}

static void jobs_are_added_up_by_a_label(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(2, 0);
        char value[TOTAL_KEY_MAX + 8];

        add(&f->totals, 1, "physics", &usage);
        assert_int_equal(f->totals.labels.n, 0);
        user_totals_set_label(&f->totals, "account");
        add(&f->totals, 1, "physics", &usage);
        add(&f->totals, 2, "physics", &usage);
        add(&f->totals, 2, NULL, &usage);
        add(&f->totals, 2, "other", &usage);
        memset(value, 'v', sizeof(value));
        value[sizeof(value) - 1] = 0;
        add(&f->totals, 2, value, &usage);
        reopen(f, "a-boot");
        user_totals_set_label(&f->totals, "account");
        assert_int_equal(f->totals.labels.n, 2);
        assert_int_equal(find_value(&f->totals, "physics")->cpu_us, 4000000);
        assert_int_equal(find_value(&f->totals, "")->n_jobs, 1);
        assert_int_equal(f->totals.labels.others.n_jobs, 2);
        for (int i = 0; i < 60; i++) {
                (void)snprintf(value, sizeof(value), "value-%d", i);
                add(&f->totals, 2, value, &usage);
        }
        /* Half of the places are those of user 2, with that of "". */
        assert_int_equal(f->totals.labels.n, 1 + TOTALS_SHOWN_MAX / 2);
        assert_int_equal(f->totals.labels.others.n_jobs, 2 + 60 - (TOTALS_SHOWN_MAX / 2 - 1));
        add(&f->totals, 1, "chemistry", &usage);
        add(&f->totals, 2, "biology", &usage);
        reopen(f, "a-boot");
        assert_int_equal(find_value(&f->totals, "chemistry")->n_jobs, 1);
        assert_int_equal(find_value(&f->totals, "chemistry")->uid, 1);
        assert_null(find_value(&f->totals, "biology"));
        user_totals_set_label(&f->totals, "project");
        assert_int_equal(f->totals.labels.n + f->totals.labels.others.n_jobs, 0);
}

static void the_store_has_the_totals_of_another_boot(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(1, 0);
        scoped(freep) char *text = NULL;
        char *same;

        add(&f->totals, 7, NULL, &usage);
        add(&f->totals, 8, NULL, &usage);
        f->totals.users.entries[1].last_ms -= 31 * 86400 * UINT64_C(1000);
        assert_int_equal(user_totals_format(&f->totals, &text), 0);
        assert_int_equal(user_totals_format(&f->totals, &same), USER_TOTALS_SAME);
        reopen(f, "another-boot");
        assert_int_equal(user_totals_restore(&f->totals, text), 0);
        assert_int_equal(f->totals.users.n, 1);
        assert_string_equal(f->totals.users.entries[0].key, "7");
        add(&f->totals, 7, NULL, &usage);
        reopen(f, "another-boot");
        assert_int_equal(user_totals_restore(&f->totals, text), 0); /* the file is newer */
        assert_int_equal(f->totals.users.entries[0].n_jobs, 2);
        assert_int_equal(user_totals_restore(&f->totals, NULL), 0);
}

static void a_job_whose_end_is_queued_is_not_in_the_file(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(1, 0);
        const JobDescription job = { .uid = 7 };

        user_totals_add_queued(&f->totals, &job, &usage);
        assert_int_equal(f->totals.users.entries[0].n_jobs, 1);
        reopen(f, "a-boot");
        assert_int_equal(f->totals.users.n, 0);

        user_totals_add_queued(&f->totals, &job, &usage);
        user_totals_catch_up(&f->totals);
        reopen(f, "a-boot");
        assert_int_equal(f->totals.users.entries[0].n_jobs, 1);

        user_totals_add_queued(&f->totals, &job, &usage);
        add(&f->totals, 8, NULL, &usage);
        reopen(f, "a-boot");
        assert_int_equal(f->totals.users.entries[0].n_jobs, 2);
        assert_int_equal(f->totals.users.entries[1].n_jobs, 1);
}

static void totals_work_without_a_file(void **state) {
        UserTotals totals = {};
        const UsageSet usage = usage_new(1, 0);

        (void)state;
        assert_true(user_totals_open(&totals, "/nonexistent/account.users", "a-boot") < 0);
        add(&totals, 5, NULL, &usage);
        assert_int_equal(totals.users.entries[0].n_jobs, 1);
        user_totals_deinit(&totals);
}

static void a_user_is_forgotten(void **state) {
        Fixture *f = *state;
        const UsageSet usage = usage_new(1, 0);
        char command[160];

        user_totals_set_label(&f->totals, "account");
        add(&f->totals, 7, "of-seven", &usage);
        add(&f->totals, 8, "of-eight", &usage);
        add(&f->totals, 7, "of-eight", &usage);
        user_totals_forget(&f->totals, 7);
        (void)snprintf(command, sizeof(command), "grep -qa of-seven %s", f->path);
        assert_int_not_equal(system(command), 0);
        reopen(f, "a-boot");
        assert_int_equal(f->totals.users.n, 1);
        assert_string_equal(f->totals.users.entries[0].key, "8");
        assert_int_equal(f->totals.labels.n, 1);
        assert_int_equal(f->totals.labels.entries[0].n_jobs, 2);
}

#define TOTALS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TOTALS_TEST(jobs_are_added_up_and_kept),
                TOTALS_TEST(another_boot_begins_at_zero),
                TOTALS_TEST(users_beyond_the_limit_share_an_entry),
                TOTALS_TEST(jobs_are_added_up_by_a_label),
                TOTALS_TEST(the_store_has_the_totals_of_another_boot),
                TOTALS_TEST(a_job_whose_end_is_queued_is_not_in_the_file),
                cmocka_unit_test(totals_work_without_a_file),
                TOTALS_TEST(a_user_is_forgotten),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
