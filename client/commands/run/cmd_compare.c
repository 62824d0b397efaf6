/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/run/compare_runs.h"
#include "client/compare/compare_stored.h"
#include "client/run/job_info.h"
#include "util/parse.h"

#define WARMUP_MAX 1000

static int parse_percent(const Option *option, const char *value, void *place,
                         char ret_error[static OPTION_ERROR_MAX]) {
        double percent;

        if (parse_double(value, &percent) != 0 || !(percent >= 0) || percent >= 100)
                return option_refuse(option, value, "a percentage from 0 to 99.9", ret_error);
        *(double *)place = percent / 100;
        return 0;
}

static const Option options_table[] = {
        { "pairs", 0, "N", "Most pairs of runs", OPTION_COUNT(CompareOptions, pairs, 1, PAIRED_PAIRS_MAX), .initial = "60" },
        { "warmup", 0, "K", "K warm-up runs first, discarded", OPTION_COUNT(CompareOptions, warmup, 0, WARMUP_MAX), .initial = "1" },
        { "prepare", 0, "COMMAND", "Shell command before each run, which is not measured", OPTION_TEXT(CompareOptions, prepare) },
        { "timeout", 't', "TIME", "Maximum time to wait", OPTION_DURATION(CompareOptions, timeout_ns, 1) },
        { "within", 0, "PERCENT", "Largest difference that counts as the same", .parse = parse_percent,
          .offset = OPTION_PLACE(CompareOptions, within, double), .initial = "1" },
        { "objective", 'o', "RESULT", "Result to rank or compare by",
          OPTION_TEXT(CompareOptions, objective), .initial = "wall time" },
        { "floor", 0, NULL, "Run A twice in each pair, and compare A with itself", OPTION_FLAG(CompareOptions, floor) },
        { "runs", 0, "NAME", "Compare stored runs, of which this is the name",
          OPTION_TEXT(CompareOptions, runs), .value = OPTION_VALUE_FILE },
        OPTION_ROW_DIRECTION(OPTION_CHOICE(CompareOptions, direction, "lower", "higher")),
        { "fail-on", 0, "LIST", "Verdicts with exit status 4; no-verdict: 5",
          OPTION_CHOICE(CompareOptions, fail_on, "worse", "no-verdict") },
        OPTION_ROW_JSON(CompareOptions, json),
        {},
};

/* Compares the commands after -- each, or two words for the shell. Replaces the -- between the commands by NULL. */
static int compare_commands(const CommandLine *line, PairedRuns *runs, CompareFacts *facts,
                            char names[2][JOB_COMMAND_MAX]) {
        char sh[] = "sh", dash_c[] = "-c", **words = line->arguments;
        char *shells[2][4] = { { sh, dash_c, words[0] }, { sh, dash_c, words[0] ? words[1] : NULL } };
        char *const *both[] = { shells[0], shells[1] };
        int n = line->n_arguments, i = 0;
        bool is_shell = line->n_before_dashes < 0 && n == 2;

        while (line->n_before_dashes == 0 && i < n && strcmp(words[i], "--") != 0)
                i++;
        if (!is_shell && (i == 0 || i + 1 >= n || !words[0][0] || !words[i + 1][0]))
                return command_refuse("compare", "%s", "expected two commands: 'A…' 'B…', or -- A… -- B…");
        if (!is_shell) {
                words[i] = NULL;
                both[0] = words;
                both[1] = &words[i + 1];
        }
        for (size_t k = 0; k < 2; k++) {
                job_info_format_command(both[k], names[k]);
                facts->names[k] = is_shell ? words[k] : names[k];
        }
        return compare_runs(line, line->options, both, runs, facts);
}

static int compare_stored(const CommandLine *line, PairedRuns *runs, CompareFacts *facts) {
        const CompareOptions *options = line->options;
        int r = command_check_arguments(line, 1, 1);

        if (r == EXIT_DONE && options->floor)
                return command_refuse("compare", "%s", "--floor runs commands, and --runs does not: use one of them");
        facts->is_stored = true;
        facts->names[COMPARISON_A] = options->runs;
        facts->names[COMPARISON_B] = line->arguments[0];
        for (ComparisonSide side = COMPARISON_A; side <= COMPARISON_B && r == EXIT_DONE; side++)
                r = compare_stored_read(runs, side, facts->names[side], &line->global);
        return r;
}

/* B is worse if it has more of a resource, or less of a number of which more is better. */
static int gate_status(const CompareOptions *options, const ComparisonRow *row) {
        bool is_higher_better = options->direction && strcmp(options->direction, "higher") == 0;

        if (options->fail_on && row->verdict == (is_higher_better ? PAIRED_LESS : PAIRED_MORE))
                return EXIT_REGRESSED;
        return options->fail_on && row->verdict == PAIRED_UNKNOWN && strcmp(options->fail_on, "no-verdict") == 0 ?
                       EXIT_NO_VERDICT : EXIT_DONE;
}

/* Prints the report. status: of the runs. Returns it, unless the verdict has one. */
static int conclude(const CommandLine *line, const PairedRuns *runs, const CompareFacts *facts, int status) {
        const CompareOptions *options = line->options;
        const ComparisonSeries *decisive;
        scoped(buffer_deinit) Buffer out = {};
        ComparisonRow row;
        Screen screen;
        int r;

        if (runs->n_pairs == 0) {
                message_print("%s", facts->stop[0] ? facts->stop : "no pair of runs is left");
                return status == EXIT_DONE ? EXIT_FAILED : status;
        }
        decisive = comparison_find(runs, options->objective);
        if (!decisive)
                return EXIT_USAGE;
        if (options->fail_on && !decisive->unit && !options->direction)
                return command_refuse("compare", "--fail-on: which values of '%s' are better? Use --direction",
                                      decisive->name);
        row = comparison_judge(runs, decisive, COMPARISON_B, facts->within);
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        r = options->json ? compare_report_write_json(runs, &row, facts, &out) :
                            compare_report_write(runs, &row, facts, &screen);
        r = r < 0 ? command_fail(r) : output_print(&out);
        return r != EXIT_DONE ? r : status != EXIT_DONE ? status : gate_status(options, &row);
}

static int compare_run_command(const CommandLine *line) {
        const CompareOptions *options = line->options;
        scoped(freep) PairedRuns *runs = calloc(1, sizeof(*runs));
        CompareFacts facts = { .has_floor = options->floor, .within = options->within };
        char names[2][JOB_COMMAND_MAX];
        int r;

        if (!runs)
                return command_fail(-ENOMEM);
        r = options->runs ? compare_stored(line, runs, &facts) : compare_commands(line, runs, &facts, names);
        return r == EXIT_DONE || (!options->runs && r != EXIT_USAGE) ? conclude(line, runs, &facts, r) : r;
}

const Command cmd_compare = {
        .name = "compare",
        .arguments = "{'A' 'B' | -- A… -- B… | --runs ID ID}",
        .summary = "Compare two commands: which is faster, and by how much",
        .help = "Runs both in pairs, in random order, each run as a job, until the verdict is clear: 'same', 'B is "
                "2.1 % slower (1.6 to 2.7)', or 'unknown' after --pairs. A verdict about two equal commands is "
                "wrong in at most 1 of 100 comparisons, however noisy the machine is. Two quoted words are commands "
                "of the shell. Pairs in which a run failed or the machine was disturbed are left out and counted. "
                "Works without perfd too.",
        .examples = {
                "perfctl compare 'sort -u words' 'sort words | uniq'",
                "perfctl compare -o 'CPU time' --within 2 -- ./old --size 9 -- ./new --size 9",
                "perfctl compare --fail-on worse --prepare 'rm -rf cache' ./release ./candidate",
                "perfctl compare --runs old.json new.json",
        },
        COMMAND_OPTIONS(CompareOptions, options_table),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_PROGRAM,
        .runs_command = true,
        .run = compare_run_command,
};
