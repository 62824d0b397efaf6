/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "client/api/api_query.h"
#include "http/jobs/advice.h"
#include "report_fixture.h"

static const char job_json[] = "{\"id\":\"train-17\",\"name\":\"resnet\\u001b[2J\",\"state\":\"finished\","
                               "\"command\":\"python3 "
                               "train.py\",\"user\":\"alice\",\"uid\":1000,\"gid\":100,\"pid\":42,\"rank\":3,"
                               "\"begin_ms\":1700000000000,\"end_ms\":1700000083000,\"note\":\"%s\","
                               "\"exit\":{\"status\":%d,\"signal\":%d},\"rusage\":{\"ru_utime\":12.5,\"ru_stime\":0.25,"
                               "\"ru_maxrss\":1048576},"
                               "\"labels\":{\"batch\":\"256\"},"
                               "\"metrics\":[{\"key\":\"cpu_avg_utilization_pct\",\"value\":43.21,\"unit\":\"%%\","
                               "\"quality\":\"exact\"},"
                               "{\"key\":\"max_t_mem_percent\",\"value\":61.5,\"unit\":\"%%\",\"quality\":\"sampled\"},"
                               "{\"key\":\"node_cpu_hours\",\"value\":1.5,\"unit\":\"h\",\"quality\":\"exact\"},"
                               "{\"key\":\"total_disk_io_read_mb\",\"value\":1536.0,\"unit\":\"MiB\",\"quality\":"
                               "\"exact\"}],"
                               "\"absent\":[{\"key\":\"max_t_cpu_pct_per_cpu_avg\",\"reason\":\"no observation fell "
                               "into it\"}],\"compat\":[]}";

static const char node_json[] = "{\"hostname\":\"n17\",\"cpus\":64,\"time_ms\":1700000100000,\"interval_ms\":1000}";

static const char *report(Fixture *f, const char *note, int status, int signal, bool has_node) {
        scoped(buffer_deinit) Buffer text = {};

        buffer_printf(&text, job_json, note, status, signal);
        buffer_clear(&f->out);
        report_write_job(&f->screen, read_value(f, text.text), has_node ? read_value(f, node_json) : NULL, NULL);
        assert_int_equal(buffer_error(&f->out), 0);
        return f->out.text;
}

static void a_job_that_began_after_the_last_sample_has_just_begun(void **state) {
        Fixture *f = *state;
        const Value *job = read_value(f,
                                      "{\"id\":\"j\",\"state\":\"running\",\"begin_ms\":1700000100300,\"end_ms\":null,"
                                      "\"metrics\":[],\"absent\":[],\"compat\":[]}");

        buffer_clear(&f->out);
        report_write_head(&f->screen, job, read_value(f, node_json));
        assert_says(f->out.text, "just begun, since ");
        assert_null(strchr(f->out.text, '?'));
}

static void the_head_shows_command_place_duration_and_exit(void **state) {
        const char *text = report(*state, "", 0, 0, true);

        assert_says(text, "Job train-17 (resnet");
        assert_says(text, "finished: exit 0");
        assert_says(text, "python3 train.py");
        assert_says(text, "n17, 64 CPUs, rank 3, process 42, by alice");
        assert_says(text, "1 min 23 s");
        assert_says(text, "CPU 12.5 s user, 250 ms system, max RSS 1.00 GiB");
        assert_says(text, "batch=256");
}

static void numbers_have_units_and_marks(void **state) {
        const char *text = report(*state, "", 0, 0, true);

        assert_says(text, "CPUs      43.2 % busy");
        assert_says(text, "memory    61.5 %~ peak");
        assert_says(text, "1 h 30 min available");
        assert_says(text, "1.50 GiB read");
        assert_says(text, "~ from samples every 1 s");
}

static void absent_metrics_have_a_reason(void **state) {
        assert_says(report(*state, "", 0, 0, true), "43.2 % busy, peak: no observation fell into it");
}

static void a_signal_has_its_name(void **state) {
        assert_says(report(*state, "", 137, 9, true), "finished: Killed (signal 9)");
        assert_says(report(*state, "", 3, 0, true), "finished: exit 3\n");
        assert_string_equal(report_signal_name(SIGKILL), "KILL");
        assert_string_equal(report_signal_name(SIGSYS), "SYS");
        for (int64_t signal = 1; signal < 32; signal++)
                assert_non_null(report_signal_name(signal));
        assert_null(report_signal_name(0));
        assert_null(report_signal_name(-9));
        assert_null(report_signal_name(SIGRTMIN));
}

static void exit_statuses_of_a_shell_are_explained(void **state) {
        assert_says(report(*state, "", 137, 0, true), "finished: exit 137 (Killed)");
        assert_says(report(*state, "", 127, 0, true), "finished: exit 127 (not found)");
        assert_says(report(*state, "", 126, 0, true), "finished: exit 126 (cannot be executed)");
        assert_says(report(*state, "", 255, 0, true), "finished: exit 255\n");
}

/* Reports a job of Slurm that took 3 h 10 min. members: others than these. */
static const char *report_of_slurm(Fixture *f, const char *members) {
        scoped(buffer_deinit) Buffer text = {};

        buffer_printf(&text,
                      "{\"id\":\"4711\",\"state\":\"finished\",\"begin_ms\":1700000000000,\"end_ms\":1700011400000,"
                      "\"metrics\":[],%s}", members);
        buffer_clear(&f->out);
        report_write_job(&f->screen, read_value(f, text.text), NULL, NULL);
        return f->out.text;
}

static void the_time_limit_is_shown_beside_the_time(void **state) {
        const char *text = report_of_slurm(*state, "\"labels\":{\"time_limit\":\"86400\"}");

        assert_says(text, "3 h 10 min of 1 d 00 h (13 %),");
        for (const char *const *limit = (const char *const[]){ "", "0", "x", "99999999999999999999", NULL }; *limit;
             limit++) {
                char members[96];

                (void)snprintf(members, sizeof(members), "\"labels\":{\"time_limit\":\"%s\"}", *limit);
                assert_says(report_of_slurm(*state, members), "3 h 10 min,");
        }
}

static void an_end_without_an_exit_status_is_no_success(void **state) {
        char words[REPORT_EXIT_MAX];
        Fixture *f = *state;
        static const struct {
                const char *job, *words;
                Style style;
        } ends[] = {
                { "{\"state\":\"running\"}", "running", STYLE_GOOD },
                { "{\"state\":\"finished\",\"exit\":null}", "finished: exit status unknown", STYLE_DIM },
                { "{\"state\":\"interrupted\"}", "interrupted", STYLE_WARN },
                { "{\"state\":\"finished\",\"exit\":{\"status\":0,\"signal\":0}}", "finished: exit 0", STYLE_GOOD },
                { "{\"state\":\"finished\",\"slurm\":{\"state\":\"COMPLETED\"}}", "COMPLETED", STYLE_GOOD },
                { "{\"state\":\"finished\",\"slurm\":{\"state\":\"REQUEUED\"}}", "REQUEUED", STYLE_WARN },
                { "{\"state\":\"finished\",\"slurm\":{\"qos\":\"long\"}}", "finished: exit status unknown", STYLE_DIM },
                { "{\"state\":\"finished\",\"slurm\":{\"state\":\"TIMEOUT\"},\"exit\":{\"status\":0}}",
                  "TIMEOUT", STYLE_BAD },
                { "{\"state\":\"finished\",\"slurm\":{\"state\":\"FAILED\",\"exit_status\":3}}",
                  "FAILED: exit 3", STYLE_BAD },
                { "{\"state\":\"finished\",\"slurm\":{\"state\":\"CANCELLED\",\"exit_status\":0,\"signal\":15}}",
                  "CANCELLED: signal 15", STYLE_BAD },
                { "{\"state\":\"finished\",\"slurm\":{\"state\":\"OUT_OF_MEMORY\",\"exit_status\":0,\"signal\":125}}",
                  "OUT_OF_MEMORY", STYLE_BAD },
        };

        for (size_t i = 0; i < N_ELEMENTS(ends); i++) {
                assert_int_equal(report_format_exit(read_value(f, ends[i].job), words), ends[i].style);
                assert_string_equal(words, ends[i].words);
        }
}

static void a_note_is_shown(void **state) {
        assert_says(report(*state, "ended by a reboot", 0, 0, true), "note      ended by a reboot");
}

static void a_report_without_the_node_is_complete(void **state) {
        assert_says(report(*state, "", 0, 0, false), "this node, rank 3");
}

static void nothing_of_a_job_reaches_the_terminal_raw(void **state) {
        const char *text = report(*state, "", 0, 0, true);

        assert_null(strchr(text, '\x1b'));
        assert_says(text, "resnet\\x1b[2J");
}

static void a_report_fits_on_one_screen(void **state) {
        const char *text = report(*state, "a note", 0, 0, true);
        unsigned n_lines = 0;

        for (const char *line = text; *line; line = strchr(line, '\n') + 1, n_lines++)
                assert_in_range(strcspn(line, "\n"), 0, 80);
        assert_in_range(n_lines, 10, 30);
}

static void answers_with_missing_members_are_harmless(void **state) {
        Fixture *f = *state;
        static const char *const answers[] = { "{}", "[]", "null",
                                               "{\"metrics\":3,\"exit\":[],\"labels\":\"x\",\"id\":7,\"rank\":\"a\"}" };

        for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
                buffer_clear(&f->out);
                report_write_job(&f->screen, read_value(f, answers[i]), read_value(f, answers[i]), NULL);
                assert_int_equal(buffer_error(&f->out), 0);
        }
}

/* --- the job itself ------------------------------------------------------------------------------- */

static void allocated_and_used_resources_are_compared(void **state) {
        const char *text = report_document(*state, "scope");

        assert_says(text, "n17, 64 CPUs, rank 3 of 8, node 1 of 4, process 4242, by alice");
        assert_says(text, "scope perfd-train-17.scope (created for this job)");
        assert_says(text, "cores     3.10 of 32, peak 8.02~   ##++++.................. 9.7 %\n");
        assert_says(text, "memory    31.0 GiB of 32.0 GiB     #######################. 97 % of its limit\n");
        assert_says(text, "CPU hours 4.29 of 44.3 used (4.0 % in the kernel), 40.0 unused\n");
        assert_says(text, "processes at most 48~, threads included, max RSS 1.00 GiB\n");
        assert_says(text, "disks     12.3 GiB in 51234 reads, 1.50 GiB in 1234 writes\n");
}

static void waiting_and_throttling_are_shares_of_the_time(void **state) {
        const char *text = report_document(*state, "scope");

        assert_says(text, "waited    for CPUs 61 % of the time, memory <0.1 %, I/O 12 % (stalled 7.0 %)\n");
        assert_says(text, "throttled in 40 % of its quota's periods, 2 min 03 s over its threads\n");
}

static void the_node_is_brief_beside_a_jobs_own_numbers(void **state) {
        const char *text = report_document(*state, "scope");

        assert_says(text, "Node during the job, 64 CPUs and 256 GiB\n");
        assert_says(text, "CPUs      43.2 % busy, 98.1 %~ peak, busiest 100.0 %~\n");
        assert_says(text, "disks     1.50 GiB read, 12.5 MiB written\n");
        assert_says(text, "fabric    2.00 TiB received, 1.00 GiB sent\n");
        assert_says(text, "netfs     512 MiB read, 2.50 MiB written, 81234 operations\n");
        assert_null(strstr(text, "CPUs over "));
        assert_null(strstr(report_document(*state, "none"), "\n  netfs "));
}

static void a_job_without_a_cgroup_has_the_nodes_numbers(void **state) {
        const char *text = report_document(*state, "none");

        assert_says(text, "none for this job; metrics are of the node");
        assert_says(text, "CPUs over ");
        assert_says(text, "rusage    CPU 4 h 07 min user");
        assert_null(strstr(text, "Allocated and used"));
}

static void cpu_time_from_wait4_is_shown_and_other_metrics_as_unavailable(void **state) {
        const char *text = report_document(*state, "subreaper");

        assert_says(text, "none for this job; CPU time from wait4(2) at the end");
        assert_says(text, "CPU hours 4.29 of 44.3 used");
        assert_says(text, "          unavailable: peak cores, memory, waiting, throttling, disks,\n"
                          "            number of processes (the job has no cgroup of its own)\n");
        assert_says(text, "CPUs over ");
}

static void each_reason_is_shown_once(void **state) {
        const char *text = report_document(*state, "running");

        assert_says(text, "          unavailable: peak cores (too short: no observation fell into it)\n");
        assert_says(text, "          unavailable: memory, throttling, disks, number of processes (the\n"
                          "            controller is not enabled in its cgroup)\n");
}

static void a_job_that_runs_is_shown_as_of_now(void **state) {
        const char *text = report_document(*state, "running");

        assert_says(text, "Job run-1 (resnet50)  running\n");
        assert_says(text, "time      120 ms since ");
        assert_says(text, "cores     0.90 of 64 ");
        assert_says(text, "CPU time  108 ms of 7.68 s used (4.0 % in the kernel), 7.57 s unused\n");
        assert_says(text, "load (so far) ");
        assert_says(text, "cgroup    /system.slice/ssh.service/perfd-run-1 (created for this job)\n");
}

static void an_answer_of_an_older_perfd_is_a_report(void **state) {
        Fixture *f = *state;

        buffer_clear(&f->out);
        report_write_job(&f->screen, read_document(f, "older"), read_value(f, node_json), NULL);
        assert_says(f->out.text, "n17, 64 CPUs, rank 3, process 4242, by alice");
        assert_says(f->out.text, "CPUs over ");
        assert_says(f->out.text, "~ from samples every 1 s");
        assert_null(strstr(f->out.text, "cgroup"));
}

static const Value *read_own(Fixture *f, const char *metrics) {
        scoped(buffer_deinit) Buffer text = {};

        buffer_printf(&text,
                      "{\"id\":\"j\",\"state\":\"finished\",\"begin_ms\":1000,\"end_ms\":11000,\"isolation\":\"found\","
                      "\"cgroup\":\"/a/"
                      "b\",\"on\":{\"hostname\":\"n\",\"cpus\":4,\"memory_bytes\":1073741824},\"metrics\":[%s]}",
                      metrics);
        return read_value(f, text.text);
}

static void memory_without_a_limit_is_of_the_nodes(void **state) {
        const char *text = report_of(*state, read_own(*state, OWN("job_memory_peak_bytes", 536870912.0, "bytes")),
                                     NULL);

        assert_says(text, "512 MiB of 1.00 GiB ");
        assert_says(text, " 50 % of the node\n");
        assert_says(text, "cgroup    /a/b (existed before)\n");
}

static void a_long_number_shortens_its_bar(void **state) {
        const char *text = report_of(
                *state,
                read_own(*state, OWN("job_memory_unreclaimable_peak_bytes", 268435456.0, "bytes") ","
                                         OWN("job_memory_peak_bytes", 536870912.0, "bytes")), NULL);
        const char *row = strstr(text, "memory    256 MiB of 1.00 GiB, 512 MiB with cache #");

        assert_non_null(row);
        assert_in_range(strcspn(row, "\n"), 60, 78);
}

static void a_line_has_duration_cpus_and_memory(void **state) {
        scoped(buffer_deinit) Buffer line = {}, least = {};
        Fixture *f = *state;

        report_write_job_line(read_own(f, OWN("job_cpus_used", 1.5, "CPUs") "," OWN("job_cpus_given", 4.0, "CPUs") ","
                                          OWN("job_memory_peak_bytes", 536870912.0, "bytes") ","
                                          OWN("job_memory_peak_ratio", 0.25, "ratio")), &line);
        assert_string_equal(line.text, "10 s on 1 node, CPUs 1.50 of 4, memory 512 MiB (25 % of its limit)\n");
        report_write_job_line(read_value(f, "{\"id\":\"1\",\"begin_ms\":1000,\"end_ms\":2000}"), &least);
        assert_string_equal(least.text, "1 s on 1 node\n");
}

static void oom_kills_are_highlighted(void **state) {
        const char *text = report_of(*state, read_own(*state, OWN("job_oom_kills", 1.0, "1") ","
                                                              OWN("job_memory_high_events", 12.0, "1")), NULL);

        assert_says(
                text,
                "            1 process killed for lack of memory,\n            throttled 12 times at memory.high\n");
}

static void a_job_without_throttling_says_so_briefly(void **state) {
        const char *text = report_of(*state, read_own(*state, OWN("job_psi_cpu_some_seconds", 20.0, "s") ","
                                                              OWN("job_cpu_throttled_ratio", 0.0, "ratio")), NULL);

        assert_says(text, "waited    for CPUs 100 % of the time, never throttled\n");
        assert_null(strstr(text, "throttled in"));
}

static void an_unknown_owner_is_omitted(void **state) {
        const char *text = report_of(
                *state, read_value(*state, "{\"id\":\"j\",\"state\":\"running\",\"uid\":4294967295}"), NULL);

        assert_null(strstr(text, " by "));
        text = report_of(*state, read_value(*state, "{\"id\":\"j\",\"state\":\"running\",\"uid\":0}"), NULL);
        assert_says(text, ", by user 0\n");
}

static void a_found_cgroup_that_is_long_keeps_its_end(void **state) {
        const char *text = report_of(*state,
                                     read_value(*state, "{\"id\":\"j\",\"state\":\"running\",\"isolation\":\"found\","
                                                        "\"cgroup\":"
                                                        "\"/system.slice/slurmstepd.scope/"
                                                        "a-name-that-is-very-long-indeed-and-then-some/job_4711/step_0/"
                                                        "user/task_0\"}"),
                                     NULL);

        assert_says(text, ".../job_4711/step_0/user/task_0 (existed before)\n");
}

/* --- what was measured, advice -------------------------------------------------------------------- */

static void results_show_their_score_or_their_first_numbers(void **state) {
        ReportResults results = { .n = 2, .has_more = true };
        const char *text;

        report_results_format(read_value(*state, "{\"name\":\"Copy\",\"component\":\"dd\",\"score\":8123.5,"
                                             "\"document\":{\"@result\":{\"a\":1}}}"), &results.items[0]);
        report_results_format(
                read_value(*state, "{\"name\":\"Step\",\"component\":\"\",\"score\":null,\"document\":{\"@result\":"
                                   "{\"note\":\"x\",\"a\":1.5,\"b\":2,\"c\":3,\"d\":4}}}"),
                &results.items[1]);
        text = report_of(*state, read_document(*state, "scope"), &results);
        assert_says(text, "Measured\n  Copy (dd)               score 8124\n  Step                    a 1.50, b 2, c "
                          "3\n  and more\n");
}

static void advice_is_last_with_the_name_of_its_rule(void **state) {
        const char *text = report_document(*state, "scope");

        assert_says(text, "\nAdvice\n"
                          "  ! It was throttled 40 % of the time, though it used 3.1 of its quota of 32\n"
                          "    CPUs on average: start fewer threads, or ask for more CPUs. [throttled]\n");
        assert_string_equal(strstr(text, "[memory-limit]"), "[memory-limit]\n");
}

static void every_rule_of_advice_is_in_the_manual_in_order_and_no_other(void **state) {
        scoped(freep) char *page = NULL;
        size_t n_rules = 0, n_items = 0;
        char *section, *next, item[64];

        (void)state;
        read_whole("man/perfctl-report.1", &page);
        section = strstr(page, ".Sh ADVICE\n");
        assert_non_null(section);
        strstr(section + 1, "\n.Sh ")[0] = '\0';
        next = section;
        for (; advice_rule_name(n_rules); n_rules++) {
                snprintf(item, sizeof(item), "\n.It Li %s\n", advice_rule_name(n_rules));
                assert_says(next, item);
                next = strstr(next, item) + 1;
        }
        for (const char *at = section; (at = strstr(at, "\n.It ")); at++)
                n_items++;
        assert_int_equal(n_items, n_rules);
        assert_true(n_rules > 5);
}

/* --- screen sizes --------------------------------------------------------------------------------- */

static size_t columns_of(const char *line, size_t n_bytes) {
        size_t n = 0;

        for (size_t i = 0; i < n_bytes; i++)
                n += ((unsigned char)line[i] & 0xc0) != 0x80;
        return n;
}

static unsigned assert_fits(const Fixture *f) {
        unsigned n_lines = 0;

        for (const char *line = f->out.text; *line; line = strchr(line, '\n') + 1, n_lines++) {
                size_t n = strcspn(line, "\n");

                if (columns_of(line, n) > f->screen.width)
                        fail_msg("wider than %u columns: %.*s", f->screen.width, (int)n, line);
                assert_true(n == 0 || line[n - 1] != ' ');
        }
        return n_lines;
}

static void every_report_fits_every_width(void **state) {
        static const char *const names[] = { "scope", "subreaper", "none", "older", "running" };
        static const unsigned widths[] = { 40, 50, 60, 80, 100, 120 };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                const Value *job = read_document(f, names[i]);

                for (size_t k = 0; k < 2 * N_ELEMENTS(widths); k++) {
                        f->screen.width = widths[k / 2];
                        f->screen.has_unicode = k % 2;
                        (void)report_of(f, job, NULL);
                        assert_in_range(assert_fits(f), 10, f->screen.width < 60 ? 70 : f->screen.width < 80 ? 44 : 40);
                }
        }
}

static void without_utf8_there_is_none(void **state) {
        for (const char *p = report_document(*state, "scope"); *p; p++)
                assert_true((unsigned char)*p < 0x80);
}

static void colours_are_there_only_when_asked_for(void **state) {
        Fixture *f = *state;

        assert_null(strchr(report_document(f, "scope"), '\x1b'));
        f->screen.has_color = true;
        assert_says(report_document(f, "scope"), "\x1b[");
}

/* Writes the document with all strings replaced, and each value replaced by one of another type. */
static void put_spoilt(Json *json, const Value *value, const char *text, size_t *at, size_t i_wrong, unsigned wrong) {
        static const char *const others[] = { "null", "true",     "-3", "1e308",         "\"x\"",
                                              "[]",   "[[null]]", "{}", "{\"value\":{}}" };

        if ((*at)++ == i_wrong) {
                json_raw(json, others[wrong % N_ELEMENTS(others)]);
                return;
        }

        switch (value->type) {
        case VALUE_OBJECT:
                json_object_begin(json);
                for (size_t i = 0; i < value->n_members; i++) {
                        json_key(json, value->members[i].key);
                        put_spoilt(json, &value->members[i].value, text, at, i_wrong, wrong);
                }
                json_object_end(json);
                break;
        case VALUE_LIST:
                json_array_begin(json);
                for (size_t i = 0; i < value->n_items; i++)
                        put_spoilt(json, &value->items[i], text, at, i_wrong, wrong);
                json_array_end(json);
                break;
        case VALUE_STRING:
                json_string(json, text ? text : value->string);
                break;
        default:
                value_write_json(value, json);
        }
}

static const Value *spoil(Fixture *f, const Value *job, const char *text, size_t i_wrong, unsigned wrong) {
        scoped(buffer_deinit) Buffer out = {};
        size_t at = 0;
        Json json = { .out = &out };

        put_spoilt(&json, job, text, &at, i_wrong, wrong);
        return at > i_wrong || i_wrong == SIZE_MAX ? read_value(f, out.text) : NULL;
}

static void nothing_of_an_answer_reaches_the_terminal_raw(void **state) {
        static const char *const names[] = { "scope", "subreaper", "running" };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                const Value *job = read_document(f, names[i]);
                const char *text = report_of(
                        f, spoil(f, job, "\x1b[2J\x07\r\n\t\x7f\xc2\x9b\xe2\x80\xae;", SIZE_MAX, 0), NULL);

                for (const unsigned char *p = (const unsigned char *)text; *p; p++)
                        assert_true(*p == '\n' || (*p >= 0x20 && *p < 0x7f));
        }
}

static void no_value_of_another_type_does_harm(void **state) {
        Fixture *f = *state;
        scoped(freep) char *text = NULL;
        unsigned n = 0;

        read_whole(REPORTS "scope.json", &text);
        for (size_t i = 0; i < 2000; i++) {
                const Value *spoilt;

                arena_reset(&f->arena);
                spoilt = spoil(f, read_value(f, text), NULL, i, (unsigned)i);
                if (!spoilt)
                        break;
                assert_true(strlen(report_of(f, spoilt, NULL)) > 0);
                n++;
        }
        assert_in_range(n, 200, 1999);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_job_that_began_after_the_last_sample_has_just_begun),
                TEST(the_head_shows_command_place_duration_and_exit),
                TEST(numbers_have_units_and_marks),
                TEST(absent_metrics_have_a_reason),
                TEST(a_signal_has_its_name),
                TEST(exit_statuses_of_a_shell_are_explained),
                TEST(the_time_limit_is_shown_beside_the_time),
                TEST(an_end_without_an_exit_status_is_no_success),
                TEST(a_note_is_shown),
                TEST(a_report_without_the_node_is_complete),
                TEST(nothing_of_a_job_reaches_the_terminal_raw),
                TEST(a_report_fits_on_one_screen),
                TEST(answers_with_missing_members_are_harmless),
                TEST(allocated_and_used_resources_are_compared),
                TEST(waiting_and_throttling_are_shares_of_the_time),
                TEST(the_node_is_brief_beside_a_jobs_own_numbers),
                TEST(a_job_without_a_cgroup_has_the_nodes_numbers),
                TEST(cpu_time_from_wait4_is_shown_and_other_metrics_as_unavailable),
                TEST(each_reason_is_shown_once),
                TEST(a_job_that_runs_is_shown_as_of_now),
                TEST(an_answer_of_an_older_perfd_is_a_report),
                TEST(memory_without_a_limit_is_of_the_nodes),
                TEST(a_long_number_shortens_its_bar),
                TEST(a_line_has_duration_cpus_and_memory),
                TEST(oom_kills_are_highlighted),
                TEST(a_job_without_throttling_says_so_briefly),
                TEST(an_unknown_owner_is_omitted),
                TEST(a_found_cgroup_that_is_long_keeps_its_end),
                TEST(results_show_their_score_or_their_first_numbers),
                TEST(advice_is_last_with_the_name_of_its_rule),
                TEST(every_rule_of_advice_is_in_the_manual_in_order_and_no_other),
                TEST(every_report_fits_every_width),
                TEST(without_utf8_there_is_none),
                TEST(colours_are_there_only_when_asked_for),
                TEST(nothing_of_an_answer_reaches_the_terminal_raw),
                TEST(no_value_of_another_type_does_harm),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
