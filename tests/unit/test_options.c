/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/commands/commands.h"
#include "util/clock.h"
#include "util/nearest.h"
#include "util/scoped.h"

#define WORDS_MAX 16

typedef struct TestOptions {
        GlobalOptions global;
        PlaceOptions place;
        JsonOptions more;
        const char *job, *name, *state, *spool;
        OptionTexts labels;
        OptionNumber exit_status, uid;
        uint64_t pid, limit, timeout_ns, interval_ns;
        bool verbose;
} TestOptions;

static const Option all[] = {
        OPTION_INCLUDE(TestOptions, global, GlobalOptions, global_options),
        OPTION_INCLUDE(TestOptions, place, PlaceOptions, place_options),
        OPTION_INCLUDE(TestOptions, more, JsonOptions, json_options),
        OPTION_ROW_NEW_JOB(TestOptions, job),
        OPTION_ROW_NAME(TestOptions, name),
        OPTION_ROW_LABEL(TestOptions, labels),
        OPTION_ROW_TIMEOUT(TestOptions, timeout_ns),
        OPTION_ROW_SPOOL(TestOptions, spool),
        { "verbose", 'v', NULL, "", OPTION_FLAG(TestOptions, verbose) },
        { "exit-status", 0, "N", "", OPTION_NUMBER(TestOptions, exit_status, 0, 255) },
        { "state", 0, "STATE", "", OPTION_CHOICE(TestOptions, state, "running", "finished", "interrupted") },
        { "limit", 0, "N", "", OPTION_COUNT(TestOptions, limit, 1, 1000), .initial = "50" },
        { "interval", 0, "SECONDS", "", OPTION_DURATION(TestOptions, interval_ns, 100 * NS_PER_MS), .initial = "1" },
        { "pid", 0, "PID", "", OPTION_COUNT(TestOptions, pid, 1, INT32_MAX) },
        { "uid", 0, "UID", "", OPTION_NUMBER(TestOptions, uid, 0, UINT32_MAX - 1) },
        {},
};

typedef struct Parsed {
        TestOptions options;
        Arguments arguments;
        char *words[WORDS_MAX + 1];
        char text[512]; /* the words point into this text */
        char error[OPTION_ERROR_MAX];
        int r;
} Parsed;

/* line: words separated by blanks. */
static void parse(Parsed *p, const char *line, bool stop_early) {
        OptionTable table = {};
        int n = 1;

        *p = (Parsed){ .words = { (char[]){ "perfctl" } } };
        strcpy(p->text, line);
        for (char *rest = p->text, *word; (word = strtok_r(rest, " ", &rest));)
                p->words[n++] = word;

        option_table_add(&table, all, &p->options);
        p->r = options_parse(&table, "perfctl test", n, p->words, stop_early, &p->arguments, p->error);
        if (p->r == 0)
                p->r = common_options_check_place(&p->options.place, p->error);
}

static void assert_wrong(const char *line, const char *words) {
        Parsed p;

        parse(&p, line, false);
        assert_int_equal(p.r, OPTION_WRONG);
        if (!strstr(p.error, words))
                fail_msg("'%s' does not contain '%s'", p.error, words);
}

static void options_and_arguments_may_stand_in_any_order(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "a.json --job j1 - --json b.json", false);
        assert_int_equal(p.r, 0);
        assert_string_equal(p.options.job, "j1");
        assert_true(p.options.more.json);
        assert_int_equal(p.options.timeout_ns, 5 * NS_PER_S);
        assert_int_equal(p.options.limit, 50);
        assert_int_equal(p.arguments.n, 3);
        assert_string_equal(p.arguments.items[0], "a.json");
        assert_string_equal(p.arguments.items[1], "-");
        assert_string_equal(p.arguments.items[2], "b.json");
        assert_null(p.arguments.items[3]);
}

static void every_form_of_an_argument_is_accepted(void **state) {
        static const char *const lines[] = { "--timeout 250ms", "--timeout=250ms", "-t 250ms",
                                             "-t250ms",         "-vt250ms",        "-v -t 0.25" };
        Parsed p;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                parse(&p, lines[i], false);
                assert_int_equal(p.r, 0);
                assert_int_equal(p.options.timeout_ns, 250 * NS_PER_MS);
        }
}

static void two_dashes_end_the_options(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "-- --json -x", false);
        assert_int_equal(p.r, 0);
        assert_false(p.options.more.json);
        assert_int_equal(p.arguments.n, 2);
        assert_string_equal(p.arguments.items[1], "-x");
}

static void the_options_of_a_command_to_run_are_its_own(void **state) {
        static const char *const lines[] = { "--rank 3 python3 --version --job x",
                                             "--rank 3 -- python3 --version --job x" };
        Parsed p;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                parse(&p, lines[i], true);
                assert_int_equal(p.r, 0);
                assert_int_equal(p.options.place.rank.value, 3);
                assert_null(p.options.job);
                assert_int_equal(p.arguments.n, 4);
                assert_string_equal(p.arguments.items[0], "python3");
                assert_string_equal(p.arguments.items[3], "x");
        }
}

static void two_dashes_after_a_command_are_its_own(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "git log -- file", true);
        assert_int_equal(p.arguments.n, 4);
        assert_string_equal(p.arguments.items[2], "--");
}

static void a_typo_gets_a_suggestion(void **state) {
        (void)state;
        assert_wrong("--jbo x", "unknown option '--jbo' for 'perfctl test'; did you mean '--job'?");
        assert_wrong("--tiemout=5", "did you mean '--timeout'?");
        assert_wrong("--nocolor", "did you mean '--no-color'?");
        assert_wrong("--completely-else", "unknown option '--completely-else' for 'perfctl test'");
        assert_wrong("-q", "unknown option '-q' for 'perfctl test'");
        assert_wrong("-vq", "unknown option '-q' for 'perfctl test'");
}

/* Otherwise a new option could change the meaning of an existing script. */
static void nothing_is_abbreviated(void **state) {
        (void)state;
        assert_wrong("--verb", "unknown option '--verb' for 'perfctl test'");
        assert_wrong("--js", "unknown option");
}

static void arguments_are_neither_forgotten_nor_invented(void **state) {
        (void)state;
        assert_wrong("--job", "missing argument of --job: --job JOB");
        assert_wrong("--json=yes", "--json takes no argument");
}

static void values_are_checked_in_words(void **state) {
        (void)state;
        assert_wrong("--job a/b", "[A-Za-z0-9_.:-]");
        assert_wrong("--job=", "1 to 128 characters");
        assert_wrong("--rank -1", "--rank expects a number from 0, not '-1'");
        assert_wrong("--rank 9223372036854775808", "--rank expects");
        assert_wrong("--pid 0", "from 1 to 2147483647");
        assert_wrong("--uid alice", "--uid expects a number from 0 to 4294967294, not 'alice'");
        assert_wrong("--uid 4294967295", "--uid expects");
        assert_wrong("--exit-status 256", "from 0 to 255");
        assert_wrong("--limit 0", "from 1 to 1000");
        assert_wrong("--timeout soon", "such as 5, 0.5 or 250ms");
        assert_wrong("--interval 1ms", "at least 100ms");
        assert_wrong("--state asleep", "running, finished or interrupted");
        assert_wrong("--label batch", "KEY=VALUE");
        assert_wrong("--label =1", "KEY=VALUE");
        assert_wrong("--label a/b=1", "[A-Za-z0-9_.:-]");
        assert_wrong("--label a=1 --label a=2", "each KEY once");
        assert_wrong("--label a=\x1b[2J", "without control characters");
}

static void places_in_a_run_count_from_zero(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "--rank 3 --ranks 4 --node 1 --nodes 2", false);
        assert_int_equal(p.r, 0);
        assert_int_equal(p.options.place.n_ranks, 4);
        assert_int_equal(p.options.place.node.value, 1);
        assert_int_equal(p.options.place.n_nodes, 2);

        assert_wrong("--rank 4 --ranks 4", "--rank 4 is out of range: --ranks 4 allows 0 to 3");
        assert_wrong("--nodes 2 --node 2", "--node 2 is out of range: --nodes 2 allows 0 to 1");
        assert_wrong("--node -1", "a number from 0 to");
        assert_wrong("--nodes 0", "a number from 1 to");
        assert_wrong("--ranks 1e3", "a number from 1 to");
        assert_wrong("--nodes 4294967296", "a number from 1 to 2147483647");
}

static void a_choice_is_one_of_its_words(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "--state running", false);
        assert_int_equal(p.r, 0);
        assert_string_equal(p.options.state, "running");
        assert_wrong("--state run", "--state expects running, finished or interrupted, not 'run'");
}

static void zero_is_distinct_from_not_given(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "--exit-status 0 --rank 0", false);
        assert_int_equal(p.r, 0);
        assert_true(p.options.exit_status.is_given && p.options.place.rank.is_given);
        assert_false(p.options.uid.is_given || p.options.place.node.is_given);
        assert_int_equal(p.options.exit_status.value, 0);
}

static void labels_add_up_to_their_limit(void **state) {
        char texts[JOB_LABELS_MAX + 1][16], error[OPTION_ERROR_MAX];
        TestOptions options = {};
        OptionTable table = {};
        Arguments arguments;

        (void)state;
        option_table_add(&table, all, &options);
        for (unsigned i = 0; i <= JOB_LABELS_MAX; i++) {
                char *words[] = { (char[]){ "perfctl" }, (char[]){ "--label" }, texts[i], NULL };

                snprintf(texts[i], sizeof(texts[i]), "k%u=b=c", i);
                assert_int_equal(options_parse(&table, "perfctl", 3, words, false, &arguments, error),
                                 i < JOB_LABELS_MAX ? 0 : OPTION_WRONG);
        }
        assert_int_equal(options.labels.n, JOB_LABELS_MAX);
        assert_string_equal(options.labels.items[1], "k1=b=c");
}

static void distances_count_typos(void **state) {
        (void)state;
        assert_int_equal(nearest_distance("submit", "submit"), 0);
        assert_int_equal(nearest_distance("sumbit", "submit"), 1); /* swapped */
        assert_int_equal(nearest_distance("submt", "submit"), 1);
        assert_int_equal(nearest_distance("ssubmit", "submit"), 1);
        assert_int_equal(nearest_distance("sabmit", "submit"), 1);
        assert_int_equal(nearest_distance("", "run"), 3);
}

static const Command *find(const char *first, const char *second, const char **ret_nearest) {
        char *words[] = { strdup(first), strdup(second), NULL };
        int n_words = *second ? 2 : 1, n_taken;
        const Command *command;

        *ret_nearest = NULL;
        command = command_find(commands, words, n_words, &n_taken, ret_nearest);
        free(words[0]);
        free(words[1]);
        return command;
}

static void commands_are_found_by_one_or_two_words(void **state) {
        const char *nearest;

        (void)state;
        assert_ptr_equal(find("run", "", &nearest), &cmd_run);
        assert_ptr_equal(find("job", "list", &nearest), &cmd_job_list);
        assert_ptr_equal(find("submit", "list", &nearest), &cmd_submit);
        assert_null(find("job", "", &nearest));
        assert_true(command_is_group(commands, "job"));
        assert_false(command_is_group(commands, "submit"));
        assert_false(command_is_group(commands, "jo"));
}

static void a_mistyped_command_gets_a_suggestion(void **state) {
        static const struct {
                const char *first, *second, *meant;
        } cases[] = {
                { "sumbit", "", "submit" }, { "raport", "", "report" }, { "stauts", "", "status" }, { "rn", "", "run" },
                { "job", "lsit", "job list" }, { "jobs", "wait", "job wait" }, { "xyzzy", "", NULL }, { "jobs", "", "job list" },
                { "indicator", "compare", "indicator rank" }, { "job", "show", "report" }, { "rnu", "file.json", "run" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                const char *nearest;

                assert_null(find(cases[i].first, cases[i].second, &nearest));
                if (cases[i].meant) {
                        assert_non_null(nearest);
                        assert_string_equal(nearest, cases[i].meant);
                } else
                        assert_null(nearest);
        }
}

/* --- the tables of all commands ------------------------------------------------------------------- */

static void every_command_has_help_with_an_example(void **state) {
        (void)state;
        for (const CommandRow *row = commands; row->heading || row->command; row++) {
                scoped(buffer_deinit) Buffer out = {};
                Screen screen = { .out = &out, .width = 80 };

                if (!row->command)
                        continue;
                command_write_help(&screen, row->command);
                assert_int_equal(buffer_error(&out), 0);
                assert_true(strstr(out.text, "Examples\n  perfctl ") || strstr(out.text, "| perfctl "));
                for (const char *line = out.text; *line; line = strchr(line, '\n') + 1) {
                        size_t n = strcspn(line, "\n"), n_columns = 0;

                        for (size_t i = 0; i < n; i++)
                                n_columns += (line[i] & 0xc0) != 0x80;
                        if (n_columns > 80)
                                fail_msg("perfctl %s --help has a line of %zu columns: %.*s", row->command->name,
                                         n_columns, (int)n, line);
                }
                assert_non_null(strstr(out.text, "--help"));
                assert_non_null(strstr(out.text, row->command->name));
        }
}

static void the_list_has_each_command_once_below_a_heading(void **state) {
        (void)state;
        assert_non_null(commands[0].heading);
        for (const CommandRow *row = commands; row->heading || row->command; row++) {
                assert_true(!row->heading != !row->command);
                for (const CommandRow *other = commands; other != row && row->command; other++)
                        assert_true(!other->command || strcmp(row->command->name, other->command->name) != 0);
        }
}

/* Finds new rows that are incomplete, or do not fit their command. */
static void every_option_of_every_command_stores_its_value(void **state) {
        (void)state;
        for (const CommandRow *row = commands; row->heading || row->command; row++) {
                _Alignas(max_align_t) char options[COMMAND_OPTIONS_MAX] = {};
                const Command *command = row->command;
                GlobalOptions global = {};
                OptionTable table;

                if (!command)
                        continue;
                assert_true((command->run || command->program) && command->summary && command->examples[0]);
                assert_int_equal(command->arguments != NULL, command->n_arguments_max != 0);
                assert_in_range(command->options_size, command->options ? 1 : 0, sizeof(options));
                command_fill_table(&table, command, &global, options);
                for (size_t i = 0; i < table.n; i++) {
                        const Option *option = table.entries[i].option;
                        bool is_global = table.entries[i].base == (char *)&global;

                        assert_true(option->name && option->name[0] && option->help && option->help[0] &&
                                    option->parse);
                        assert_in_range(table.entries[i].offset, 0,
                                        (is_global ? sizeof(global) : command->options_size) - 1);
                        for (size_t k = 0; k < i; k++) {
                                const OptionEntry *other = &table.entries[k];

                                if (strcmp(other->option->name, option->name) == 0)
                                        fail_msg("perfctl %s has --%s twice", command->name, option->name);
                                if (option->letter && other->option->letter == option->letter)
                                        fail_msg("perfctl %s has -%c twice", command->name, option->letter);
                                if (other->base == table.entries[i].base && other->offset == table.entries[i].offset)
                                        fail_msg("perfctl %s: --%s and --%s have one place", command->name,
                                                 option->name, other->option->name);
                        }
                }
        }
}

static void assert_same(const Command *command, const Option *option, const Command *other_command,
                        const Option *other) {
        /* the source of an import is a server, and that of a run a format */
        if (strcmp(option->name, "from") == 0 &&
            (strcmp(command->name, "import kpis") == 0 || strcmp(other_command->name, "import kpis") == 0))
                return;
        if (option->letter != other->letter || strcmp(option->help, other->help) != 0 ||
            strcmp(option->argument ?: "", other->argument ?: "") != 0)
                fail_msg("--%s means one thing for '%s' and another for '%s'", option->name, command->name,
                         other_command->name);
}

static void an_option_means_the_same_in_every_command(void **state) {
        (void)state;
        for (const CommandRow *row = commands; row->heading || row->command; row++) {
                for (const CommandRow *other = commands; other != row && row->command; other++) {
                        OptionTable table, others;

                        if (!other->command)
                                continue;
                        command_fill_table(&table, row->command, NULL, NULL);
                        command_fill_table(&others, other->command, NULL, NULL);
                        for (size_t i = 0; i < table.n; i++) {
                                const char *name = table.entries[i].option->name;
                                const OptionEntry *same = option_table_find(&others, name, strlen(name));

                                if (same)
                                        assert_same(row->command, table.entries[i].option, other->command,
                                                    same->option);
                        }
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(options_and_arguments_may_stand_in_any_order),
                cmocka_unit_test(every_form_of_an_argument_is_accepted),
                cmocka_unit_test(two_dashes_end_the_options),
                cmocka_unit_test(the_options_of_a_command_to_run_are_its_own),
                cmocka_unit_test(two_dashes_after_a_command_are_its_own),
                cmocka_unit_test(a_typo_gets_a_suggestion),
                cmocka_unit_test(nothing_is_abbreviated),
                cmocka_unit_test(arguments_are_neither_forgotten_nor_invented),
                cmocka_unit_test(values_are_checked_in_words),
                cmocka_unit_test(places_in_a_run_count_from_zero),
                cmocka_unit_test(a_choice_is_one_of_its_words),
                cmocka_unit_test(zero_is_distinct_from_not_given),
                cmocka_unit_test(labels_add_up_to_their_limit),
                cmocka_unit_test(distances_count_typos),
                cmocka_unit_test(commands_are_found_by_one_or_two_words),
                cmocka_unit_test(a_mistyped_command_gets_a_suggestion),
                cmocka_unit_test(every_command_has_help_with_an_example),
                cmocka_unit_test(the_list_has_each_command_once_below_a_heading),
                cmocka_unit_test(every_option_of_every_command_stores_its_value),
                cmocka_unit_test(an_option_means_the_same_in_every_command),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
