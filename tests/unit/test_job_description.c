/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "snapshot/job_description.h"

static JobLabel labels[] = { { "queue", "long" }, { "empty", "" }, { "sluid", "s1" } };
static char cgroup[] = "/slice/job-1.scope";

static JobInfo info_of_all(void) {
        return (JobInfo){
                .id = "job-1",
                .name = "train",
                .command = "python3 train.py --lr=0.1",
                .user = "ada",
                .uid = 1000,
                .gid = 100,
                .pid = 42,
                .pid_start_ticks = 4711,
                .rank = 3,
                .node = 1,
                .n_nodes = 2,
                .n_ranks = 8,
                .isolation = ISOLATION_SCOPE,
                .cgroup = cgroup,
                .n_labels = N_ELEMENTS(labels),
                .labels = labels,
        };
}

static JobDescription card_of_all(void) {
        JobInfo info = info_of_all();
        JobDescription card;

        assert_int_equal(job_description_make(&info, &card), 0);
        return card;
}

static void a_description_has_all_members_of_the_info(void **state) {
        scoped(job_info_deinit) JobInfo back = {};
        scoped(job_description_deinit) JobDescription card = card_of_all();
        JobInfo info = info_of_all();

        (void)state;
        assert_string_equal(card.note, "");
        assert_int_equal(job_description_info(&card, &back), 0);
        assert_string_equal(back.cgroup, info.cgroup);
        assert_int_equal(back.n_labels, info.n_labels);
        for (size_t i = 0; i < info.n_labels; i++) {
                assert_string_equal(back.labels[i].key, info.labels[i].key);
                assert_string_equal(back.labels[i].value, info.labels[i].value);
        }
        assert_string_equal(back.id, info.id);
        assert_string_equal(back.name, info.name);
        assert_string_equal(back.command, info.command);
        assert_string_equal(back.user, info.user);
        assert_int_equal(back.uid, info.uid);
        assert_int_equal(back.gid, info.gid);
        assert_int_equal(back.pid, info.pid);
        assert_int_equal(back.pid_start_ticks, info.pid_start_ticks);
        assert_int_equal(back.rank, info.rank);
        assert_int_equal(back.node, info.node);
        assert_int_equal(back.n_nodes, info.n_nodes);
        assert_int_equal(back.n_ranks, info.n_ranks);
        assert_int_equal(back.isolation, info.isolation);
}

static void the_longest_texts_fit(void **state) {
        scoped(job_info_deinit) JobInfo back = {};
        scoped(job_description_deinit) JobDescription card = {};
        static JobLabel many[JOB_LABELS_MAX];
        JobInfo info = { .n_labels = JOB_LABELS_MAX, .labels = many };

        (void)state;
        memset(info.id, 'i', sizeof(info.id) - 1);
        memset(info.name, 'n', sizeof(info.name) - 1);
        memset(info.command, 'c', sizeof(info.command) - 1);
        memset(info.user, 'u', sizeof(info.user) - 1);
        for (size_t i = 0; i < JOB_LABELS_MAX; i++) {
                memset(many[i].key, 'a' + (int)i, sizeof(many[i].key) - 1);
                memset(many[i].value, 'v', sizeof(many[i].value) - 1);
        }
        assert_int_equal(job_description_make(&info, &card), 0);
        assert_int_equal(job_description_info(&card, &back), 0);
        assert_string_equal(back.command, info.command);
        assert_memory_equal(back.labels, many, sizeof(many));
}

static void a_shared_block_outlives_its_first_description(void **state) {
        JobDescription card = card_of_all(), shown = {}, other = {};

        (void)state;
        job_description_share(&card, &shown);
        job_description_share(&card, &shown);
        job_description_share(&shown, &other);
        assert_ptr_equal(shown.id, card.id);
        job_description_deinit(&card);
        job_description_deinit(&shown);
        assert_string_equal(other.command, "python3 train.py --lr=0.1");
        assert_string_equal(other.labels[0].value, "long");

        job_description_share(&shown, &other); /* a zeroed description */
        assert_null(other.block);
        assert_null(other.id);
}

static void members_without_pointers_can_be_changed_in_place(void **state) {
        scoped(job_description_deinit) JobDescription card = card_of_all(), shown = {};

        (void)state;
        job_description_share(&card, &shown);
        card.isolation = ISOLATION_FOUND;
        card.uid = 7;
        assert_int_equal(shown.uid, 1000);
        job_description_share(&card, &shown);
        assert_int_equal(shown.uid, 7);
        assert_int_equal(shown.isolation, ISOLATION_FOUND);
}

static void a_changed_text_affects_one_description_only(void **state) {
        scoped(job_description_deinit) JobDescription card = card_of_all(), shown = {};

        (void)state;
        job_description_share(&card, &shown);
        assert_int_equal(JOB_DESCRIPTION_SET(&card, cgroup, "/slice/other"), 0);
        assert_int_equal(JOB_DESCRIPTION_SET(&card, name, "other"), 0);
        assert_int_equal(JOB_DESCRIPTION_SET(&card, note, "its cgroup was removed"), 0);
        assert_string_equal(card.cgroup, "/slice/other");
        assert_string_equal(card.name, "other");
        assert_string_equal(card.note, "its cgroup was removed");
        assert_string_equal(card.id, "job-1");
        assert_string_equal(job_description_label(&card, "sluid"), "s1");
        assert_int_equal(card.pid_start_ticks, 4711);
        assert_string_equal(shown.cgroup, "/slice/job-1.scope");
        assert_string_equal(shown.note, "");

        assert_int_equal(JOB_DESCRIPTION_SET(&card, cgroup, NULL), 0);
        assert_null(card.cgroup);
        assert_string_equal(card.note, "its cgroup was removed");
}

static void a_label_is_found_by_its_key(void **state) {
        scoped(job_description_deinit) JobDescription card = card_of_all();
        JobDescription none = {};

        (void)state;
        assert_string_equal(job_description_label(&card, "queue"), "long");
        assert_string_equal(job_description_label(&card, "empty"), "");
        assert_null(job_description_label(&card, "que"));
        assert_null(job_description_label(&none, "queue"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_description_has_all_members_of_the_info),
                cmocka_unit_test(the_longest_texts_fit),
                cmocka_unit_test(a_shared_block_outlives_its_first_description),
                cmocka_unit_test(members_without_pointers_can_be_changed_in_place),
                cmocka_unit_test(a_changed_text_affects_one_description_only),
                cmocka_unit_test(a_label_is_found_by_its_key),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
