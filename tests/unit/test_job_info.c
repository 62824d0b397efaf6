/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/run/job_info.h"
#include "util/utf8.h"

#define assert_command(expected, ...)                                           \
        do {                                                                    \
                char text[JOB_COMMAND_MAX];                                     \
                job_info_format_command((char *[]){ __VA_ARGS__, NULL }, text);      \
                assert_string_equal(text, expected);                            \
        } while (0)

static void a_command_is_quoted_as_for_a_shell(void **state) {
        (void)state;
        assert_command("python3 train.py --lr=0.1", (char[]){ "python3" }, (char[]){ "train.py" },
                       (char[]){ "--lr=0.1" });
        assert_command("sh -c 'echo $HOME; exit'", (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "echo $HOME; exit" });
        assert_command("echo '' 'it'\\''s'", (char[]){ "echo" }, (char[]){ "" }, (char[]){ "it's" });
}

static void invalid_bytes_are_replaced(void **state) {
        (void)state;
        assert_command("cat 'a" UTF8_REPLACEMENT "b'", (char[]){ "cat" }, (char[]){ "a\xff" "b" });
}

static void a_long_command_is_cut_between_characters(void **state) {
        char word[3 * JOB_COMMAND_MAX + 1], text[JOB_COMMAND_MAX];

        (void)state;
        for (size_t shift = 0; shift < 4; shift++) {
                memset(word, 'x', shift);
                for (size_t i = shift; i + 3 < sizeof(word); i += 3)
                        memcpy(word + i, "世", 3);
                word[sizeof(word) - 1] = '\0';
                word[shift + (sizeof(word) - 1 - shift) / 3 * 3] = '\0';

                job_info_format_command((char *[]){ word, NULL }, text);
                assert_true(utf8_is_valid(text, strlen(text)));
                assert_in_range(strlen(text), JOB_COMMAND_MAX - 8, JOB_COMMAND_MAX - 1);
                assert_string_equal(text + strlen(text) - 3, "…");
        }
}

static void a_job_is_made_of_options_and_surroundings(void **state) {
        scoped(job_info_deinit) JobInfo info = {};
        Launch launch = { .rank = 2, .node = 1, .n_ranks = 16, .n_nodes = 2, .job = "42.0.2" };
        JobOptions options = {};

        (void)state;
        options = (JobOptions){};
        options.name = "train";
        options.labels.items[0] = "batch=256=x";
        options.labels.items[1] = "empty=";
        options.labels.n = 2;
        options.place.rank = (OptionNumber){ true, 5 };
        options.gpus = "1, 3";

        assert_int_equal(job_info_fill(&info, &options, &launch, (char *[]){ (char[]){ "true" }, NULL }), 0);
        assert_string_equal(info.id, "42.0.2");
        assert_string_equal(info.name, "train");
        assert_string_equal(info.command, "true");
        assert_int_equal(info.rank, 5);
        assert_int_equal(info.n_ranks, 16);
        assert_int_equal(info.node, 1);
        assert_int_equal(info.n_nodes, 2);
        assert_int_equal(info.n_labels, 2);
        assert_string_equal(info.labels[0].key, "batch");
        assert_string_equal(info.labels[0].value, "256=x");
        assert_string_equal(info.labels[1].value, "");
        assert_string_equal(info.gpus, "1,3");
}

static void an_id_is_made_if_none_is_given(void **state) {
        scoped(job_info_deinit) JobInfo info = {}, another = {};
        Launch launch = { .rank = -1, .node = -1 };
        JobOptions options = {};

        (void)state;
        options = (JobOptions){};
        assert_int_equal(job_info_fill(&info, &options, &launch, NULL), 0);
        assert_int_equal(job_info_fill(&another, &options, &launch, NULL), 0);
        assert_int_equal(info.id[0], 'j');
        assert_int_equal(strlen(info.id), 16);
        assert_string_not_equal(info.id, another.id);
        assert_int_equal(info.rank, -1);
        assert_int_equal(info.node, -1);
        assert_int_equal(info.n_ranks, 0);
        assert_int_equal(info.n_nodes, 0);
}

static void an_option_counts_more_than_the_launcher(void **state) {
        Launch launch = { .rank = 7, .node = 3, .n_ranks = 8, .n_nodes = 4, .job = "42.0.7" };
        JobInfo info;
        JobOptions options = {};

        (void)state;
        options = (JobOptions){};
        options.id = "mine";
        options.place.n_ranks = 4;
        options.place.n_nodes = 2;
        assert_int_equal(job_info_fill(&info, &options, &launch, NULL), 0);
        assert_string_equal(info.id, "mine");
        assert_int_equal(info.rank, -1); /* rank 7 is invalid with 4 ranks */
        assert_int_equal(info.n_ranks, 4);
        assert_int_equal(info.node, -1);
        assert_int_equal(info.n_nodes, 2);
        job_info_deinit(&info);

        options = (JobOptions){};
        options.place.rank = (OptionNumber){ true, 8 };
        options.place.node = (OptionNumber){ true, 4 };
        assert_int_equal(job_info_fill(&info, &options, &launch, NULL), 0);
        assert_int_equal(info.rank, 8);
        assert_int_equal(info.n_ranks, 0); /* rank 8 is invalid with 8 ranks */
        assert_int_equal(info.node, 4);
        assert_int_equal(info.n_nodes, 0);
        job_info_deinit(&info);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_command_is_quoted_as_for_a_shell),
                cmocka_unit_test(invalid_bytes_are_replaced),
                cmocka_unit_test(a_long_command_is_cut_between_characters),
                cmocka_unit_test(a_job_is_made_of_options_and_surroundings),
                cmocka_unit_test(an_id_is_made_if_none_is_given),
                cmocka_unit_test(an_option_counts_more_than_the_launcher),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
