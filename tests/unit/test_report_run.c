/* SPDX-License-Identifier: Apache-2.0 */
#include "run_fixture.h"

/* --- joining -------------------------------------------------------------------------------------- */

static void ranks_are_joined_in_their_order_whatever_the_order_of_the_files(void **state) {
        Fixture *f = *state;
        Rank ranks[4], mixed[4];

        make_four(ranks);
        for (size_t i = 0; i < 4; i++)
                mixed[i] = ranks[3 - i];
        assert_int_equal(join(f, mixed, 4), 0);
        for (int i = 0; i < 4; i++)
                assert_int_equal(f->run.reports[i].rank, i);
        assert_int_equal(f->run.n_hosts, 2);
}

static void a_text_may_contain_several_reports_and_lists(void **state) {
        Fixture *f = *state;
        scoped(buffer_deinit) Buffer text = {};
        Rank ranks[4];

        make_four(ranks);
        put_rank(&text, &ranks[0]);
        put_rank(&text, &ranks[1]);
        buffer_putc(&text, '[');
        put_rank(&text, &ranks[2]);
        buffer_putc(&text, ',');
        put_rank(&text, &ranks[3]);
        buffer_putc(&text, ']');
        assert_int_equal(report_run_add(&f->run, "all.json", text.text, text.n), 0);
        assert_int_equal(report_run_join(&f->run), 0);
        assert_int_equal(f->run.n_reports, 4);
}

static void an_invalid_report_is_refused_with_its_position(void **state) {
        static const struct {
                const char *text, *error;
        } cases[] = {
                { "", "x.json:1: no report" },
                { " \n ", "x.json:1: no report" },
                { "[]", "x.json:1: no report" },
                { "\n{\"id\":", "x.json:2:" },
                { "\n\n3", "x.json:3: not an object" },
                { "{}", "x.json:1: 'id' is missing" },
                { "{\"id\":\"a b\"}", "x.json:1: 'id' is missing or not a job id" },
                { "{\"id\":\"j\",\"state\":\"gone\"}", "'state' is missing or not" },
                { "{\"id\":\"j\",\"state\":\"running\"}", "'begin_ms' is missing" },
                { "{\"id\":\"j\",\"state\":\"running\",\"begin_ms\":1,\"metrics\":{}}", "'metrics' is missing or not a list" },
                { "{\"error\":{\"message\":\"There is no job 'j'\"}}", "x.json:1: error message of perfd instead of a report: There is no job 'j'" },
                { "{\"reports\":[]}", "x.json:1: already merged" },
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(report_run_deinit) ReportRun run = {};

                (void)state;
                assert_int_equal(report_run_add(&run, "x.json", cases[i].text, strlen(cases[i].text)), RUN_INVALID);
                assert_says(run.error, cases[i].error);
        }
}

static void a_duplicate_rank_belongs_to_another_run(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        ranks[2].rank = 1;
        ranks[2].id = "train-18.1";
        assert_int_equal(join(f, ranks, 4), RUN_INVALID);
        assert_says(f->run.error,
                    "2.json:1: job 'train-18.1' on n2 belongs to another run than job 'train-17.1' on n1 in "
                    "1.json:1: same rank");
}

static void runs_of_different_size_are_refused(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        ranks[1].ranks = 8;
        assert_int_equal(join(f, ranks, 4), RUN_INVALID);
        assert_says(f->run.error, "1.json:1: is of a run of 8 ranks, 0.json:1 of one of 4");
}

static void a_rank_beyond_the_last_is_refused(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        ranks[3].rank = 4;
        assert_int_equal(join(f, ranks, 4), RUN_INVALID);
        assert_says(f->run.error, "3.json:1: has rank 4 of a run of 4 ranks, which count from 0");
}

static void unrelated_jobs_are_refused(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        ranks[1].id = "other";
        ranks[1].name = "evaluate";
        assert_int_equal(join(f, ranks, 2), RUN_INVALID);
        assert_says(f->run.error, "neither ids (apart from the rank at the end) nor names and commands agree");
}

static void other_users_jobs_need_the_same_id(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        ranks[1].id = "other";
        ranks[1].uid = 1001;
        assert_int_equal(join(f, ranks, 2), RUN_INVALID);
}

static void a_name_a_command_or_the_number_of_ranks_connects_jobs_that_ran_together(void **state) {
        static const struct {
                const char *names[2], *commands[2];
                int ranks;
                int result;
        } cases[] = {
                { { "train", "train" }, { "./a 0", "./a 1" }, 0, 0 },
                { { "", "" }, { "./a", "./a" }, 0, 0 },
                { { "", "" }, { "./a 0", "./a 1" }, 4, 0 },
                { { "", "" }, { "./a 0", "./a 1" }, 0, RUN_INVALID },
                { { "a", "b" }, { "./a", "./a" }, 4, RUN_INVALID },
                { { "", "" }, { "", "" }, 0, RUN_INVALID },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                Fixture f = {};
                Rank ranks[2];

                for (int k = 0; k < 2; k++) {
                        ranks[k] = a_rank(k, k == 0 ? "j01kb8z6m3qx7v2p4" : "j01kb8z6m4abcdefg", "n1");
                        ranks[k].name = cases[i].names[k];
                        ranks[k].command = cases[i].commands[k];
                        ranks[k].ranks = cases[i].ranks;
                }
                assert_int_equal(join(&f, ranks, 2), cases[i].result);
                report_run_deinit(&f.run);
        }
}

static void jobs_with_one_name_at_different_times_are_two_runs(void **state) {
        Fixture *f = *state;
        Rank ranks[2] = { a_rank(0, "a", "n1"), a_rank(1, "b", "n2") };

        ranks[1].begin_ms = ranks[0].end_ms + 60001;
        ranks[1].end_ms = ranks[1].begin_ms + 1000;
        assert_int_equal(join(f, ranks, 2), RUN_INVALID);
        assert_says(f->run.error, "1.json:1: job 'b' on n2 belongs to another run than job 'a' on n1 in 0.json:1: "
                                  "it began more than a minute after");
}

static void the_rank_at_the_end_of_an_id_may_be_written_in_many_ways(void **state) {
        static const char *const pairs[][2] = {
                { "17.0", "17.1" }, { "17-0", "17-1" }, { "17_0000", "17_0001" }, { "17:00", "17:01" }, { "17", "17" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(pairs); i++) {
                scoped(buffer_deinit) Buffer id = {};
                Fixture f = {};
                Rank ranks[2] = { a_rank(0, pairs[i][0], "n1"), a_rank(1, pairs[i][1], "n2") };

                ranks[1].name = "nothing else agrees";
                ranks[1].command = "./other";
                assert_int_equal(join(&f, ranks, 2), 0);
                report_run_id(&f.run, &id);
                assert_string_equal(id.text, "17");
                report_run_deinit(&f.run);
        }
}

static void the_latest_of_two_reports_of_a_job_counts(void **state) {
        Fixture *f = *state;
        Rank ranks[2] = { a_rank(0, "a", "n1"), a_rank(0, "a", "n1") };

        ranks[0].state = "finished";
        ranks[1].state = "running";
        ranks[1].end_ms = 0;
        ranks[1].status = -1;
        assert_int_equal(join(f, ranks, 2), 0);
        assert_int_equal(f->run.n_reports, 1);
        assert_int_equal(f->run.n_duplicates, 1);
        assert_false(report_run_rank_is_running(&f->run.reports[0]));
}

static void one_id_on_one_host_at_two_times_is_two_runs(void **state) {
        Fixture *f = *state;
        Rank ranks[2] = { a_rank(0, "a", "n1"), a_rank(0, "a", "n1") };

        ranks[1].begin_ms += 1;
        assert_int_equal(join(f, ranks, 2), RUN_INVALID);
        assert_says(f->run.error, "another begin time");
}

static void hosts_with_one_name_are_distinguished_by_their_index(void **state) {
        Fixture *f = *state;
        Rank ranks[2] = { a_rank(0, "a.0", "localhost"), a_rank(1, "a.1", "localhost") };

        ranks[0].node = 0;
        ranks[1].node = 1;
        assert_int_equal(join(f, ranks, 2), 0);
        assert_int_equal(f->run.n_hosts, 2);
}

static void reports_that_do_not_say_their_host_leave_the_nodes_out(void **state) {
        Fixture *f = *state;
        Rank ranks[2] = { a_rank(0, "a.0", NULL), a_rank(1, "a.1", NULL) };

        assert_int_equal(join(f, ranks, 2), 0);
        assert_int_equal(f->run.n_hosts, 0);
        assert_null(strstr(screen_of(f, true), "meanwhile"));
        assert_says(f->out.text, "cores     2 of 4 ");
}

/* --- on the screen and as JSON -------------------------------------------------------------------- */

static void each_rank_has_a_row(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        ranks[2].status = 137;
        assert_int_equal(join(f, ranks, 4), 0);
        assert_says(screen_of(f, true), "Run train-17 (train)  1 of 4 failed\n");
        assert_says(f->out.text, "where     4 of 4 ranks, 2 hosts, by alice\n");
        assert_says(f->out.text, "     2  n2    SIGKILL  10 s  1 of 2      100 MiB\n");
        assert_null(strstr(f->out.text, "missing"));
}

static void missing_ranks_are_named(void **state) {
        Fixture *f = *state;
        Rank ranks[3] = { a_rank(1, "a.1", "n1"), a_rank(2, "a.2", "n1"), a_rank(6, "a.6", "n2") };

        for (size_t i = 0; i < 3; i++)
                ranks[i].ranks = 10;
        assert_int_equal(join(f, ranks, 3), 0);
        assert_says(screen_of(f, true), "missing   ranks 0,3-5,7-9 of 10\n");
        assert_string_equal(answer_text(value_get(json_of(f), "run"), "missing_ranks"), "0,3-5,7-9");
}

static void ranks_that_run_are_counted(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        ranks[0].state = "running";
        ranks[0].end_ms = 0;
        ranks[0].status = -1;
        ranks[1].state = "interrupted";
        ranks[1].status = -1;
        assert_int_equal(join(f, ranks, 4), 0);
        assert_says(screen_of(f, true), "1 of 4 failed, 1 of 4 running\n");
        assert_says(f->out.text, "10 s since ");
        assert_string_equal(answer_text(value_get(json_of(f), "run"), "state"), "running");
        assert_int_equal(value_get(value_get(json_of(f), "run"), "end_ms")->type, VALUE_NULL);
}

static void of_many_ranks_those_that_failed_are_shown(void **state) {
        Fixture *f = *state;
        scoped(buffer_deinit) Buffer text = {};

        for (int i = 0; i < 100; i++) {
                char id[16];
                Rank rank;

                snprintf(id, sizeof(id), "a.%d", i);
                rank = a_rank(i, id, "n1");
                rank.ranks = 100;
                rank.status = i == 77 ? 3 : 0;
                put_rank(&text, &rank);
        }
        assert_int_equal(report_run_add(&f->run, "all", text.text, text.n), 0);
        assert_int_equal(report_run_join(&f->run), 0);
        assert_says(screen_of(f, false), "\n    77  n1 ");
        assert_says(f->out.text, "\n    14  n1 ");
        assert_null(strstr(f->out.text, "\n    15  n1 "));
        assert_says(f->out.text, "\n  and 84 more\n");
        assert_says(screen_of(f, true), "\n    76  n1 ");
}

static void each_advice_is_shown_once_with_its_ranks(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        ranks[1].more = ranks[2].more = ",\"advice\":[{\"rule\":\"io-wait\",\"text\":\"It waited for I/O 61 % of the "
                                        "time.\"}]";
        ranks[3].more = ",\"advice\":[{\"rule\":\"cpu-unused\",\"text\":\"It was given 2 CPUs.\"}]";
        assert_int_equal(join(f, ranks, 4), 0);
        assert_says(screen_of(f, true), "Advice\n  ! rank 1: It waited for I/O 61 % of the time. [io-wait: ranks 1-2]\n"
                                        "  ! rank 3: It was given 2 CPUs. [cpu-unused]\n");
        assert_int_equal(value_get(json_of(f), "advice")->n_items, 3);
}

static void jobs_without_ranks_go_by_their_host(void **state) {
        Fixture *f = *state;
        Rank ranks[2] = { a_rank(-1, "17", "n1"), a_rank(-1, "17", "n2") };

        ranks[0].ranks = ranks[1].ranks = 0;
        ranks[1].memory_mib = 200;
        assert_int_equal(join(f, ranks, 2), 0);
        assert_says(screen_of(f, true), "where     2 jobs, 2 hosts, by alice\n");
        assert_says(f->out.text, "memory    peak 200 MiB in n2\n");
        assert_says(f->out.text, "     -  n1 ");
}

static void jobs_without_numbers_of_their_own_have_the_nodes(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        for (size_t i = 0; i < 4; i++)
                ranks[i].cgroup = NULL;
        assert_int_equal(join(f, ranks, 4), 0);
        assert_null(strstr(screen_of(f, true), "Together"));
        assert_says(f->out.text, "disks     20.0 MiB read\n");
}

static void the_document_has_the_numbers_of_ranks_and_hosts_as_they_were(void **state) {
        Fixture *f = *state;
        const Value *json, *report, *host;
        AnswerMetric value;
        Rank ranks[4];

        make_four(ranks);
        assert_int_equal(join(f, ranks, 4), 0);
        json = json_of(f);
        report = &value_get(json, "reports")->items[3];
        assert_int_equal(answer_number_or_zero(report, "step"), 3);
        assert_true(answer_metric(report, "job_cpu_seconds", &value));
        assert_false(answer_metric(report, "total_disk_io_read_mb", &value));
        host = &value_get(json, "hosts")->items[1];
        assert_string_equal(answer_text(host, "hostname"), "n2");
        assert_int_equal(answer_number_or_zero(host, "reports"), 2);
        assert_true(answer_metric(host, "total_disk_io_read_mb", &value));
        assert_false(answer_metric(host, "job_cpu_seconds", &value));
}

static void a_report_fits_every_width_and_nothing_reaches_the_terminal_raw(void **state) {
        static const unsigned widths[] = { 40, 50, 60, 80, 120 };
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        for (size_t i = 0; i < 4; i++) {
                ranks[i].host = i < 2 ? "a-host-with-a-name\\u001b[2J-that-is-long" : "n\\u0007\\u009b";
                ranks[i].name = "\\u001b[2J\\r\\n";
                ranks[i].command = "\\u202e and a command that is much longer than the screen is wide, whichever "
                                   "width the screen has got now";
                ranks[i].more = ",\"advice\":[{\"rule\":\"\\u001b\","
                                "\"text\":\"\\u001b[31m and words and words and words and words and words and\"}]";
        }
        assert_int_equal(join(f, ranks, 4), 0);
        for (size_t k = 0; k < N_ELEMENTS(widths); k++) {
                f->screen.width = widths[k];
                for (const char *line = screen_of(f, true); *line; line = strchr(line, '\n') + 1) {
                        assert_in_range(strcspn(line, "\n"), 0, widths[k]);
                        for (const char *p = line; *p != '\n'; p++)
                                assert_true(*p >= 0x20 && *p < 0x7f);
                }
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(ranks_are_joined_in_their_order_whatever_the_order_of_the_files),
                TEST(a_text_may_contain_several_reports_and_lists),
                TEST(an_invalid_report_is_refused_with_its_position),
                TEST(a_duplicate_rank_belongs_to_another_run),
                TEST(runs_of_different_size_are_refused),
                TEST(a_rank_beyond_the_last_is_refused),
                TEST(unrelated_jobs_are_refused),
                TEST(other_users_jobs_need_the_same_id),
                TEST(a_name_a_command_or_the_number_of_ranks_connects_jobs_that_ran_together),
                TEST(jobs_with_one_name_at_different_times_are_two_runs),
                TEST(the_rank_at_the_end_of_an_id_may_be_written_in_many_ways),
                TEST(the_latest_of_two_reports_of_a_job_counts),
                TEST(one_id_on_one_host_at_two_times_is_two_runs),
                TEST(hosts_with_one_name_are_distinguished_by_their_index),
                TEST(reports_that_do_not_say_their_host_leave_the_nodes_out),
                TEST(each_rank_has_a_row),
                TEST(missing_ranks_are_named),
                TEST(ranks_that_run_are_counted),
                TEST(of_many_ranks_those_that_failed_are_shown),
                TEST(each_advice_is_shown_once_with_its_ranks),
                TEST(jobs_without_ranks_go_by_their_host),
                TEST(jobs_without_numbers_of_their_own_have_the_nodes),
                TEST(the_document_has_the_numbers_of_ranks_and_hosts_as_they_were),
                TEST(a_report_fits_every_width_and_nothing_reaches_the_terminal_raw),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
