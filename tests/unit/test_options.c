/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "util/clock.h"
#include "util/nearest.h"
#include "util/scoped.h"

#define WORDS_MAX 16

typedef struct Parsed {
        Options options;
        char *words[WORDS_MAX + 1];
        char text[512]; /* what the words point into */
        int r;
} Parsed;

/* Words are separated by blanks. */
static void parse(Parsed *p, const char *line, OptionSet accepted, bool stop_early) {
        int n = 1;

        *p = (Parsed){ .words = { (char[]){ "perfctl" } } };
        strcpy(p->text, line);
        for (char *rest = p->text, *word; (word = strtok_r(rest, " ", &rest));)
                p->words[n++] = word;

        options_init(&p->options);
        p->r = options_parse(&p->options, n, p->words, accepted, stop_early);
}

static void assert_wrong(const char *line, OptionSet accepted, const char *words) {
        Parsed p;

        parse(&p, line, accepted, false);
        assert_int_equal(p.r, OPTIONS_WRONG);
        if (!strstr(p.options.error, words))
                fail_msg("'%s' does not say '%s'", p.options.error, words);
}

#define ALL (OPTION(JOB) | OPTION(TIMEOUT) | OPTION(JSON) | OPTION(LABEL) | OPTION(RANK) | OPTION(LIMIT) | OPTION(VERBOSE) | \
             OPTION(EXIT_STATUS) | OPTION(STATE) | OPTION(INDICATOR) | OPTION(INTERVAL) | OPTION(PID) | OPTION(UID) | \
             OPTION(RANKS) | OPTION(NODE) | OPTION(NODES) | OPTIONS_GLOBAL)

static void options_and_arguments_may_stand_in_any_order(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "a.json --job j1 - --json b.json", ALL, false);
        assert_int_equal(p.r, 0);
        assert_string_equal(p.options.job, "j1");
        assert_true(options_has(&p.options, OPTION_JSON));
        assert_false(options_has(&p.options, OPTION_TIMEOUT));
        assert_int_equal(p.options.n_arguments, 3);
        assert_string_equal(p.options.arguments[0], "a.json");
        assert_string_equal(p.options.arguments[1], "-");
        assert_string_equal(p.options.arguments[2], "b.json");
        assert_null(p.options.arguments[3]);
}

static void every_spelling_of_an_argument_is_taken(void **state) {
        static const char *const lines[] = { "--timeout 250ms", "--timeout=250ms", "-t 250ms", "-t250ms", "-vt250ms", "-v -t 0.25" };
        Parsed p;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                parse(&p, lines[i], ALL, false);
                assert_int_equal(p.r, 0);
                assert_int_equal(p.options.timeout_ns, 250 * NS_PER_MS);
        }
}

static void two_dashes_end_the_options(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "-- --json -x", ALL, false);
        assert_int_equal(p.r, 0);
        assert_false(options_has(&p.options, OPTION_JSON));
        assert_int_equal(p.options.n_arguments, 2);
        assert_string_equal(p.options.arguments[1], "-x");
}

static void the_options_of_a_command_to_run_are_its_own(void **state) {
        static const char *const lines[] = { "--rank 3 python3 --version --job x", "--rank 3 -- python3 --version --job x" };
        Parsed p;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                parse(&p, lines[i], ALL, true);
                assert_int_equal(p.r, 0);
                assert_int_equal(p.options.rank, 3);
                assert_null(p.options.job);
                assert_int_equal(p.options.n_arguments, 4);
                assert_string_equal(p.options.arguments[0], "python3");
                assert_string_equal(p.options.arguments[3], "x");
        }
}

static void two_dashes_after_a_command_are_its_own(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "git log -- file", ALL, true);
        assert_int_equal(p.options.n_arguments, 4);
        assert_string_equal(p.options.arguments[2], "--");
}

static void a_typo_gets_a_suggestion(void **state) {
        (void)state;
        assert_wrong("--jbo x", ALL, "Did you mean '--job'?");
        assert_wrong("--tiemout=5", ALL, "Did you mean '--timeout'?");
        assert_wrong("--nocolor", ALL, "Did you mean '--no-color'?");
        assert_wrong("--completely-else", ALL, "There is no option '--completely-else' here");
        assert_wrong("-q", ALL, "There is no option '-q' here");
        assert_wrong("-vq", ALL, "There is no option '-q' here");
}

/* Else a new option could change what an old script says. */
static void nothing_is_abbreviated(void **state) {
        (void)state;
        assert_wrong("--verb", ALL, "There is no option '--verb' here");
        assert_wrong("--js", ALL, "There is no option");
}

static void an_option_of_another_command_is_none(void **state) {
        (void)state;
        assert_wrong("--limit 3", OPTIONS_GLOBAL | OPTION(JSON), "There is no option '--limit' here");
}

static void arguments_are_neither_forgotten_nor_invented(void **state) {
        (void)state;
        assert_wrong("--job", ALL, "--job needs an argument: --job ID");
        assert_wrong("--json=yes", ALL, "--json takes no argument");
}

static void values_are_checked_in_words(void **state) {
        (void)state;
        assert_wrong("--job a/b", ALL, "[A-Za-z0-9_.:-]");
        assert_wrong("--job=", ALL, "1 to 128 characters");
        assert_wrong("--rank -1", ALL, "--rank expects a number from 0, not '-1'");
        assert_wrong("--rank 9223372036854775808", ALL, "--rank expects");
        assert_wrong("--pid 0", ALL, "from 1 to 2147483647");
        assert_wrong("--uid alice", ALL, "--uid expects a number from 0 to 4294967294, not 'alice'");
        assert_wrong("--uid 4294967295", ALL, "--uid expects");
        assert_wrong("--exit-status 256", ALL, "from 0 to 255");
        assert_wrong("--limit 0", ALL, "from 1 to 1000");
        assert_wrong("--timeout soon", ALL, "such as 5, 0.5 or 250ms");
        assert_wrong("--interval 1ms", ALL, "at least 100ms");
        assert_wrong("--state asleep", ALL, "running, finished or interrupted");
        assert_wrong("--indicator perhaps", ALL, "auto, yes or no");
        assert_wrong("--label batch", ALL, "KEY=VALUE");
        assert_wrong("--label =1", ALL, "KEY=VALUE");
        assert_wrong("--label a/b=1", ALL, "[A-Za-z0-9_.:-]");
        assert_wrong("--label a=1 --label a=2", ALL, "each KEY once");
        assert_wrong("--label a=\x1b[2J", ALL, "without control characters");
}

static void places_in_a_run_count_from_zero(void **state) {
        Parsed p;

        (void)state;
        parse(&p, "--rank 3 --ranks 4 --node 1 --nodes 2", ALL, false);
        assert_int_equal(p.r, 0);
        assert_int_equal(p.options.n_ranks, 4);
        assert_int_equal(p.options.node, 1);
        assert_int_equal(p.options.n_nodes, 2);

        assert_wrong("--rank 4 --ranks 4", ALL, "--rank 4 is none of --ranks 4: they are 0 to 3");
        assert_wrong("--nodes 2 --node 2", ALL, "--node 2 is none of --nodes 2: they are 0 to 1");
        assert_wrong("--node -1", ALL, "a number from 0 to");
        assert_wrong("--nodes 0", ALL, "a number from 1 to");
        assert_wrong("--ranks 1e3", ALL, "a number from 1 to");
        assert_wrong("--nodes 4294967296", ALL, "a number from 1 to 2147483647");
}

static void labels_add_up_to_their_limit(void **state) {
        char texts[JOB_LABELS_MAX + 1][6];
        Options options;

        (void)state;
        options_init(&options);
        for (unsigned i = 0; i <= JOB_LABELS_MAX; i++) {
                char *words[] = { (char[]){ "perfctl" }, (char[]){ "--label" }, texts[i], NULL };

                snprintf(texts[i], sizeof(texts[i]), "%c=b=c", 'a' + i);
                assert_int_equal(options_parse(&options, 3, words, ALL, false), i < JOB_LABELS_MAX ? 0 : OPTIONS_WRONG);
        }
        assert_int_equal(options.n_labels, JOB_LABELS_MAX);
        assert_string_equal(options.labels[1], "b=b=c");
}

static void distances_count_typos(void **state) {
        (void)state;
        assert_int_equal(words_distance("submit", "submit"), 0);
        assert_int_equal(words_distance("sumbit", "submit"), 1); /* swapped */
        assert_int_equal(words_distance("submt", "submit"), 1);
        assert_int_equal(words_distance("ssubmit", "submit"), 1);
        assert_int_equal(words_distance("sabmit", "submit"), 1);
        assert_int_equal(words_distance("", "run"), 3);
}

static int find(const char *first, const char *second, const char **ret_nearest) {
        char *words[] = { strdup(first), strdup(second), NULL };
        int n_words = *second ? 2 : 1, n_taken, id;

        *ret_nearest = NULL;
        id = command_find(words, n_words, &n_taken, ret_nearest);
        free(words[0]);
        free(words[1]);
        return id;
}

static void commands_are_found_by_one_or_two_words(void **state) {
        const char *nearest;

        (void)state;
        assert_int_equal(find("run", "", &nearest), COMMAND_RUN);
        assert_int_equal(find("job", "list", &nearest), COMMAND_JOB_LIST);
        assert_int_equal(find("submit", "list", &nearest), COMMAND_SUBMIT);
        assert_int_equal(find("job", "", &nearest), -1);
}

static void a_mistyped_command_gets_a_suggestion(void **state) {
        static const struct {
                const char *first, *second, *meant;
        } cases[] = {
                { "sumbit", "", "submit" }, { "raport", "", "report" }, { "stauts", "", "status" }, { "rn", "", "run" },
                { "job", "lsit", "job list" }, { "jobs", "show", "job show" }, { "xyzzy", "", NULL }, { "rnu", "file.json", "run" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                const char *nearest;

                assert_int_equal(find(cases[i].first, cases[i].second, &nearest), -1);
                if (cases[i].meant) {
                        assert_non_null(nearest);
                        assert_string_equal(nearest, cases[i].meant);
                } else
                        assert_null(nearest);
        }
}

static void every_command_has_help_with_an_example(void **state) {
        (void)state;
        for (unsigned id = 0; id < N_COMMANDS; id++) {
                scoped(buffer_deinit) Buffer out = {};
                Screen screen = { .out = &out, .width = 80 };

                command_write_help(&screen, (CommandId)id);
                assert_int_equal(buffer_error(&out), 0);
                assert_true(strstr(out.text, "Examples\n  perfctl ") || strstr(out.text, "| perfctl "));
                for (const char *line = out.text; *line; line = strchr(line, '\n') + 1)
                        assert_in_range(strcspn(line, "\n"), 0, 84); /* bytes; … is one column */
                assert_non_null(strstr(out.text, "--help"));
                assert_non_null(strstr(out.text, command_info[id].name));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(options_and_arguments_may_stand_in_any_order),
                cmocka_unit_test(every_spelling_of_an_argument_is_taken),
                cmocka_unit_test(two_dashes_end_the_options),
                cmocka_unit_test(the_options_of_a_command_to_run_are_its_own),
                cmocka_unit_test(two_dashes_after_a_command_are_its_own),
                cmocka_unit_test(a_typo_gets_a_suggestion),
                cmocka_unit_test(nothing_is_abbreviated),
                cmocka_unit_test(an_option_of_another_command_is_none),
                cmocka_unit_test(arguments_are_neither_forgotten_nor_invented),
                cmocka_unit_test(values_are_checked_in_words),
                cmocka_unit_test(places_in_a_run_count_from_zero),
                cmocka_unit_test(labels_add_up_to_their_limit),
                cmocka_unit_test(distances_count_typos),
                cmocka_unit_test(commands_are_found_by_one_or_two_words),
                cmocka_unit_test(a_mistyped_command_gets_a_suggestion),
                cmocka_unit_test(every_command_has_help_with_an_example),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
