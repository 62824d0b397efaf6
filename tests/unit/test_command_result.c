/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "client/results/command_result.h"
#include "client/results/summary.h"

static void a_name_is_made_valid(void **state) {
        static const struct {
                const char *text, *name;
        } rows[] = {
                { "sleep", "sleep" }, { "my job (v2)", "my_job__v2_" }, { "a/b\tc", "a_b_c" }, { "", "command" }, { "gr\xc3\xbcn", "gr__n" },
        };
        char name[NAME_MAX_BYTES + 1], text[2 * NAME_MAX_BYTES];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                command_result_name(rows[i].text, name);
                assert_string_equal(name, rows[i].name);
                assert_true(indicator_name_is_valid(name, NAME_MAX_BYTES));
        }

        memset(text, 'x', sizeof(text));
        text[sizeof(text) - 1] = '\0';
        command_result_name(text, name);
        assert_int_equal(strlen(name), NAME_MAX_BYTES);
}

static const Value *make(char *const *words, bool has_rusage, Arena *arena, Indicator *ret) {
        CommandBenchmark benchmark = { .name = "sort", .component = COMMAND_RESULT_COMPONENT, .words = words };
        RunFacts facts = { .wall_seconds = 1.5, .has_rusage = has_rusage };
        const Value *document;
        Complaint complaint;

        facts.rusage = (JobRusage){ .ru_utime = 0.25,
                                    .ru_stime = 0.5,
                                    .ru_maxrss = 2,
                                    .ru_inblock = 3,
                                    .ru_oublock = 4,
                                    .ru_nvcsw = 5,
                                    .ru_nivcsw = 6,
                                    .ru_minflt = 7,
                                    .ru_majflt = 8 };
        assert_int_equal(arena_init(arena, COMMAND_RESULT_ARENA_BYTES), 0);
        assert_int_equal(command_result_make(&benchmark, &facts, arena, &document), 0);
        assert_int_equal(indicator_from_value(document, DOCUMENT_LIMITS_NONE, ret, &complaint), 0);
        return document;
}

static void a_run_is_a_result_with_its_resources(void **state) {
        static const struct {
                const char *key;
                double value;
        } rows[] = {
                { "elapsed", 1.5 }, { "user_time", 0.25 }, { "system_time", 0.5 }, { "max_rss", 2048 }, { "read_bytes", 1536 },
                { "written_bytes", 2048 }, { "voluntary_context_switches", 5 }, { "involuntary_context_switches", 6 },
                { "minor_page_faults", 7 }, { "major_page_faults", 8 },
        };
        char *words[] = { (char *)"sort", (char *)"a b", NULL };
        scoped(arena_deinit) Arena arena = {};
        Indicator indicator;
        double value;

        (void)state;
        make(words, true, &arena, &indicator);
        assert_string_equal(indicator.name, "sort");
        assert_string_equal(indicator.component, "command");
        assert_string_equal(value_get(indicator.parameters, "command")->string, "sort 'a b'");
        assert_int_equal(indicator.result->n_members, N_ELEMENTS(rows));
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                assert_true(value_get_double(indicator.result, rows[i].key, &value));
                assert_float_equal(value, rows[i].value, 0);
        }
}

static void unknown_resources_are_absent(void **state) {
        scoped(arena_deinit) Arena arena = {};
        Indicator indicator;

        (void)state;
        make(NULL, false, &arena, &indicator);
        assert_int_equal(indicator.parameters->n_members, 0);
        assert_int_equal(indicator.result->n_members, 1);
        assert_string_equal(indicator.result->members[0].key, "elapsed");
}

static void long_command_lines_stay_apart(void **state) {
        Arena arenas[2] = {};
        char *longest = calloc(1, COMMAND_RESULT_TEXT_MAX + 10);
        char *words[] = { (char *)"\xff", longest, NULL };
        const char *lines[2];
        Indicator indicator;

        (void)state;
        assert_non_null(longest);
        memset(longest, 'x', COMMAND_RESULT_TEXT_MAX + 8);
        for (size_t i = 0; i < 2; i++) {
                longest[COMMAND_RESULT_TEXT_MAX + 7] = i == 0 ? 'a' : 'b';
                make(words, true, &arenas[i], &indicator);
                lines[i] = value_get(indicator.parameters, "command")->string;
                assert_non_null(strstr(lines[i], "xxx… sha256:"));
        }
        assert_string_not_equal(lines[0], lines[1]);
        free(longest);
        arena_deinit(&arenas[0]);
        arena_deinit(&arenas[1]);
}

static void add(Summary *summary, double elapsed) {
        const Member members[] = {
                { .key = "elapsed", .value = { .type = VALUE_DOUBLE, .number = elapsed } },
                { .key = "user_time", .value = { .type = VALUE_DOUBLE, .number = 0.001 } },
                { .key = "system_time", .value = { .type = VALUE_DOUBLE, .number = 0.002 } },
                { .key = "max_rss", .value = { .type = VALUE_DOUBLE, .number = 2097152 } },
        };
        const Value result = { .type = VALUE_OBJECT, .members = members, .n_members = N_ELEMENTS(members) };
        const Indicator indicator = { .name = "sort", .component = "command", .result = &result };

        assert_int_equal(summary_add(summary, &indicator), 0);
}

static void expect(const double *values, size_t n, const char *text) {
        scoped(summary_deinit) Summary summary = {};
        scoped(buffer_deinit) Buffer out = {};

        for (size_t i = 0; i < n; i++)
                add(&summary, values[i]);
        summary_write_commands(&summary, &out);
        assert_string_equal(out.text, text);
}

static void the_summary_names_doubtful_results(void **state) {
        static const double steady[] = { 2, 2.1, 1.9 }, slow_start[] = { 0.3, 0.2, 0.2 },
                            outlier[] = { 0.2, 0.201, 0.9, 0.2, 0.199 };
        static const double tiny[] = { 0.002 };

        (void)state;
        expect(steady, 3, "sort: mean 2.000 s ± 0.100 s, median 2.000 s, range 1.900 s to 2.100 s, 3 runs\n"
                          "  CPU time: user 1.0 ms, system 2.0 ms; memory: 2.00 MiB\n");
        expect(slow_start, 3,
               "sort: mean 233.3 ms ± 57.7 ms, median 200.0 ms, range 200.0 ms to 300.0 ms, 3 runs\n"
               "  CPU time: user 1.0 ms, system 2.0 ms; memory: 2.00 MiB\n"
               "  the first run took 50 % longer than the median: use --warmup 1 to fill the caches first\n");
        expect(outlier, 5, "sort: mean 340.0 ms ± 313.1 ms, median 200.0 ms, range 199.0 ms to 900.0 ms, 5 runs\n"
                           "  CPU time: user 1.0 ms, system 2.0 ms; memory: 2.00 MiB\n"
                           "  1 of 5 runs is an outlier: other processes may have disturbed the node\n");
        expect(tiny, 1, "sort: mean 2.0 ms, median 2.0 ms, range 2.0 ms to 2.0 ms, 1 run\n"
                        "  CPU time: user 1.0 ms, system 2.0 ms; memory: 2.00 MiB\n"
                        "  the runs take less than 5 ms: the start of a process is a large part of this\n");
}

static void progress_shows_the_remaining_time(void **state) {
        scoped(summary_deinit) Summary summary = {};
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        summary_write_progress(&summary, 3, &out);
        assert_null(out.text);
        add(&summary, 0.25);
        summary_write_progress(&summary, 3, &out);
        assert_string_equal(out.text, "run 1 of 4: median 250.0 ms, 750 ms left");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_name_is_made_valid),
                cmocka_unit_test(a_run_is_a_result_with_its_resources),
                cmocka_unit_test(unknown_resources_are_absent),
                cmocka_unit_test(long_command_lines_stay_apart),
                cmocka_unit_test(the_summary_names_doubtful_results),
                cmocka_unit_test(progress_shows_the_remaining_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
