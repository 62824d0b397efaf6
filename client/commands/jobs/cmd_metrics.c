/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/metric_list.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/report/report_run.h"

#define PREFIX_BYTES_MAX 200U /* with a metric's name behind it, no longer than the 250 that MLflow allows */

typedef struct MetricsOptions {
        const char *as, *names, *prefix; /* NULL: not given */
        bool mlflow, all_ranks, json;
} MetricsOptions;

static const Option options_table[] = {
        { "mlflow", 0, NULL, "Print a JSON list for MLflow", OPTION_FLAG(MetricsOptions, mlflow) },
        { "all-ranks", 0, NULL, "Print one list of the ranks of a run, jobs or reports printed with --json",
          OPTION_FLAG(MetricsOptions, all_ranks), .value = OPTION_VALUE_JOB },
        { "names", 0, "WHICH", "Spelling of the names in the MLflow list", OPTION_CHOICE(MetricsOptions, names, "sanitised", "raw") },
        { "prefix", 0, "TEXT", "Prefix of each name in the MLflow list", OPTION_LINE(MetricsOptions, prefix, PREFIX_BYTES_MAX) },
        OPTION_ROW_AS(MetricsOptions, as, "perf.py"),
        OPTION_ROW_JSON(MetricsOptions, json),
        {},
};

/* Plain columns, as they are fed to grep and awk: name, value, unit, quality. */
static void write_metrics(Screen *screen, const Value *answer) {
        const Value *metrics = value_get(answer, "metrics"), *absent = value_get(answer, "absent");

        for (size_t i = 0; i < answer_length(metrics); i++) {
                const Value *metric = &metrics->items[i];
                const char *quality = answer_text(metric, "quality");
                size_t n = screen_text(screen, answer_text(metric, "key"));

                screen_pad(screen, n, 34);
                buffer_printf(screen->out, " %16.6g  %-4s  ", answer_number_or_zero(metric, "value"), answer_text(metric, "unit"));
                screen_styled(screen, strcmp(quality, "exact") == 0 ? STYLE_GOOD : STYLE_DIM, quality);
                buffer_putc(screen->out, '\n');
        }

        for (size_t i = 0; i < answer_length(absent); i++) {
                size_t n = screen_text(screen, answer_text(&absent->items[i], "key"));

                screen_pad(screen, n, 34);
                buffer_printf(screen->out, " %16s  %-4s  ", "-", "");
                screen_styled(screen, STYLE_DIM, answer_text(&absent->items[i], "reason"));
                buffer_putc(screen->out, '\n');
        }
}

/* Equal names are both kept, as perf.py logged both: MLflow then shows one history with two values at one step. */
static int print_list(const MetricsOptions *options, const Value *const *answers, size_t n_answers) {
        MetricListStyle style = {
                .is_compat = options->as,
                .has_raw_names = options->names && strcmp(options->names, "raw") == 0,
                .prefix = options->prefix ?: "",
        };
        scoped(metric_list_names_deinit) MetricListNames names = {};
        scoped(buffer_deinit) Buffer out = {};
        int r;

        r = metric_list_write(answers, n_answers, &style, &out, &names);
        if (r < 0)
                return command_fail(r);
        if (names.refused) {
                message_print("--prefix '%s' makes the name '%s', which MLflow rejects: empty, '.' or '..' between slashes",
                    style.prefix, names.refused);
                return EXIT_USAGE;
        }
        if (names.n_same > 0)
                message_print("%zu names are duplicates, '%s' first: --prefix leaves too little of their 50 characters; all are printed",
                    names.n_same, names.same);
        return output_print(&out);
}

/* --- the ranks of a run --------------------------------------------------------------------------- */

static int add_report(ReportRun *run, const char *name, const Buffer *text) {
        int r;

        r = report_run_add(run, name, text->text ? text->text : "", text->n);
        if (r == RUN_INVALID) {
                message_print("%s", run->error);
                return EXIT_FAILED;
        }
        return r < 0 ? command_fail(r) : EXIT_DONE;
}

/* A job's id may have a '.', but no slash. */
static int add_argument(ReportRun *run, const CommandLine *line, const char *argument) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer text = {};
        size_t n = strlen(argument);
        int r;

        if (strchr(argument, '/') || (n > 5 && strcmp(argument + n - 5, ".json") == 0)) {
                r = input_read(argument, &text);
                return r == EXIT_DONE ? add_report(run, argument, &text) : r;
        }

        r = api_query_open_job(&query, &line->global, argument, "");
        return r == EXIT_DONE ? add_report(run, argument, &query.body) : r;
}

static int print_all_ranks(const CommandLine *line) {
        scoped(report_run_deinit) ReportRun run = {};
        scoped(freep) const Value **answers = NULL;
        int r;

        for (int i = 0; i < line->n_arguments; i++) {
                r = add_argument(&run, line, line->arguments[i]);
                if (r != EXIT_DONE)
                        return r;
        }

        r = report_run_join(&run);
        answers = r == 0 ? calloc(run.n_reports + 1, sizeof(*answers)) : NULL;
        if (r == RUN_INVALID)
                message_print("%s", run.error);
        if (!answers)
                return r > 0 ? EXIT_FAILED : command_fail(r < 0 ? r : -ENOMEM);

        for (size_t i = 0; i < run.n_reports; i++)
                answers[i] = run.reports[i].job;
        return print_list(line->options, answers, run.n_reports);
}

static int check_options(const CommandLine *line) {
        const MetricsOptions *options = line->options;
        const char *option = options->all_ranks ? "all-ranks"
                             : options->as      ? "as"
                             : options->prefix  ? "prefix"
                             : options->names   ? "names"
                                                : NULL;

        if (option && !options->mlflow)
                return command_refuse(line->command->name, "--%s requires --mlflow", option);
        if (options->all_ranks && line->n_arguments == 0)
                return command_refuse(line->command->name, "--all-ranks requires the jobs or reports as arguments");
        return options->all_ranks ? EXIT_DONE : command_check_arguments(line, 0, 1);
}

static int metrics_run(const CommandLine *line) {
        const MetricsOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;
        int r;

        r = check_options(line);
        if (r == EXIT_DONE && options->all_ranks)
                return print_all_ranks(line);
        if (r == EXIT_DONE)
                r = line->n_arguments > 0 ? api_query_open_job(&query, &line->global, line->arguments[0], "") :
                                            api_query_open(&query, &line->global, "/api/v1/node");
        if (r != EXIT_DONE)
                return r;
        if (options->mlflow)
                return print_list(options, &query.answer, 1);
        if (options->json)
                return api_query_print_json(&query);

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        write_metrics(&screen, query.answer);
        return output_print(&out);
}

const Command cmd_metrics = {
        .name = "metrics",
        .arguments = "[JOB|FILE...]",
        .summary = "List all metrics of the node or of a job",
        .help = "Prints one line for each metric: name, value, unit, and whether the value is exact or sampled.",
        .examples = {
                "perfctl metrics",
                "perfctl metrics train-17 | grep cpu",
                "perfctl metrics --mlflow --all-ranks train-17.0 node2/report.json",
                "perfctl metrics --mlflow --prefix node3/ train-17",
        },
        COMMAND_OPTIONS(MetricsOptions, options_table),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_JOB,
        .run = metrics_run,
};
