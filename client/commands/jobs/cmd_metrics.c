/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/metric_list.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/report/perf_report.h"
#include "client/report/report_run.h"
#include "util/error_text.h"
#include "util/file.h"

#define PREFIX_BYTES_MAX 200U /* with a metric's name behind it, no longer than the 250 that MLflow allows */
/* Jobs that begin between two samples, or are reported late by less, are whole. */
#define LATE_MS_MIN 1000.0

typedef struct MetricsOptions {
        const char *as, *names, *prefix, *output; /* NULL: not given */
        bool mlflow, all_ranks, samples, renumber, json;
} MetricsOptions;

/* Plain columns, as they are fed to grep and awk: name, value, unit, quality. */
static void write_metrics(Screen *screen, const Value *answer) {
        const Value *metrics = value_get(answer, "metrics"), *absent = value_get(answer, "absent");

        for (size_t i = 0; i < answer_length(metrics); i++) {
                const Value *metric = &metrics->items[i];
                const char *quality = answer_text(metric, "quality");
                size_t n = screen_text(screen, answer_text(metric, "key"));

                screen_pad(screen, n, 34);
                buffer_printf(screen->out, " %16.6g  %-4s  ", answer_number_or_zero(metric, "value"),
                              answer_text(metric, "unit"));
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
                message_print(
                        "--prefix '%s' makes the name '%s', which MLflow rejects: empty, '.' or '..' between slashes",
                        style.prefix, names.refused);
                return EXIT_USAGE;
        }
        if (names.n_same > 0)
                message_print("%zu names are duplicates, '%s' first: --prefix leaves too little of their 50 "
                              "characters; all are printed",
                              names.n_same, names.same);
        return output_print(&out);
}

/* A job's id may have a '.', but no slash. */
static bool is_file(const char *argument) {
        size_t n = strlen(argument);

        return strchr(argument, '/') || (n > 5 && strcmp(argument + n - 5, ".json") == 0);
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

static int add_argument(ReportRun *run, const CommandLine *line, const char *argument) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer text = {};
        int r;

        if (is_file(argument)) {
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

/* --- the samples of jobs --------------------------------------------------------------------------- */

/* Reports fields that are null: a reader such as perf.py takes the maximum of every field. */
static void report_unknown_fields(const PerfReportRank *rank) {
        scoped(buffer_deinit) Buffer names = {};

        for (size_t field = 0; field < N_PERFPY_FIELDS; field++) {
                size_t i = 0;

                while (i < rank->n && !isnan(compat_field(&rank->samples[i], field)))
                        i++;
                if (i < rank->n)
                        buffer_printf(&names, "%s%s", names.n > 0 ? ", " : "", compat_field_names[field]);
        }

        if (names.n > 0 && buffer_error(&names) == 0)
                message_print("null in the report: %s; for the reasons see 'perfctl metrics %s'", names.text,
                              rank->from);
}

/* Reports where the samples are not those that were taken, from the start to the end of the job. */
static void report_limits(const char *id, const Value *answer) {
        uint64_t n_merged = answer_time(answer, "n_merged");
        double late_ms = answer_number(answer, "samples_begin_ms") - answer_number(answer, "begin_ms");

        if (n_merged > 1)
                message_print("job '%s' ran too long to keep each sample: each sample of the report is the mean or "
                              "the maximum of %ju samples",
                              id, (uintmax_t)n_merged);
        if (late_ms >= LATE_MS_MIN)
                message_print("job '%s' has no samples of its first %.1f s: perfd began to observe it later, or was "
                              "restarted",
                              id, late_ms / 1e3);
}

/* Writes the same bytes as upstream, without a newline at the end except on a terminal. */
static int print_artifact(const Buffer *report) {
        int r;

        r = output_print(report);
        if (r == EXIT_DONE && isatty(STDOUT_FILENO) == 1)
                r = output_print(&(Buffer){ .text = (char[]){ "\n" }, .n = 1 });
        return r;
}

static int write_file(const char *path, const Buffer *report) {
        scoped(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        int r;

        r = fd < 0 ? -errno : file_write_all(fd, report->text, report->n);
        if (r == 0)
                return EXIT_DONE;

        message_print("cannot write to %s: %s", path, error_text(-r));
        return EXIT_FAILED;
}

static int add_totals(PerfReport *report, const CommandLine *line, const char *id, const char *from) {
        const MetricsOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        int r;

        r = api_query_open_job(&query, &line->global, id, "");
        if (r != EXIT_DONE)
                return r;

        r = options->as ? PERF_REPORT_EMPTY : perf_report_add_totals(report, from, query.answer);
        if (r < 0)
                return command_fail(r);
        if (r == 0) {
                report_unknown_fields(&report->ranks[report->n_ranks - 1]);
                return EXIT_DONE;
        }
        message_print("job '%s' has no samples for perf.py's format%s", from,
                      options->as ? "; try without --as perf.py, which prints the totals of a short job" : "");
        return EXIT_FAILED;
}

static int add_samples(PerfReport *report, const CommandLine *line, const char *job) {
        const MetricsOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        int r;

        r = api_query_open_job(&query, &line->global, job, options->as ? "/perf-report?compat=1" : "/perf-report");
        if (r != EXIT_DONE)
                return r;

        r = perf_report_add_samples(report, job, query.answer);
        if (r == PERF_REPORT_EMPTY)
                return add_totals(report, line, answer_text(query.answer, "job"), job);
        if (r < 0)
                return command_fail(r);

        report_limits(job, query.answer);
        report_unknown_fields(&report->ranks[report->n_ranks - 1]);
        return EXIT_DONE;
}

static int add_artifact(PerfReport *report, const char *file) {
        scoped(buffer_deinit) Buffer text = {};
        int r;

        r = input_read(file, &text);
        if (r != EXIT_DONE)
                return r;

        r = perf_report_add_artifact(report, file, text.text ? text.text : "", text.n);
        if (r == PERF_REPORT_INVALID) {
                message_print("%s", report->error);
                return EXIT_FAILED;
        }
        return r < 0 ? command_fail(r) : EXIT_DONE;
}

static int print_samples(const CommandLine *line) {
        const MetricsOptions *options = line->options;
        scoped(perf_report_deinit) PerfReport report = {};
        scoped(buffer_deinit) Buffer text = {};
        int r;

        for (int i = 0; i < line->n_arguments; i++) {
                const char *argument = line->arguments[i];

                r = is_file(argument) ? add_artifact(&report, argument) : add_samples(&report, line, argument);
                if (r != EXIT_DONE)
                        return r;
        }

        if (perf_report_join(&report, options->renumber) != 0) {
                message_print("%s", report.error);
                return EXIT_FAILED;
        }
        perf_report_write(&report, &text);
        r = buffer_error(&text);
        if (r < 0)
                return command_fail(r);
        return options->output ? write_file(options->output, &text) : print_artifact(&text);
}

/* --- the command ----------------------------------------------------------------------------------- */

static int check_options(const CommandLine *line) {
        const MetricsOptions *options = line->options;
        const char *of_list = options->all_ranks ? "all-ranks"
                              : options->prefix  ? "prefix"
                              : options->names   ? "names"
                                                 : NULL;
        const char *of_samples = options->renumber ? "renumber" : options->output ? "output" : NULL;

        if (options->samples && (options->mlflow || options->json))
                return command_refuse(line->command->name, "--samples cannot be combined with --%s",
                                      options->mlflow ? "mlflow" : "json");
        if (of_list && !options->mlflow)
                return command_refuse(line->command->name, "--%s requires --mlflow", of_list);
        if (of_samples && !options->samples)
                return command_refuse(line->command->name, "--%s requires --samples", of_samples);
        if (options->as && !options->mlflow && !options->samples)
                return command_refuse(line->command->name, "--as requires --mlflow or --samples");
        if ((options->all_ranks || options->samples) && line->n_arguments == 0)
                return command_refuse(line->command->name, "--%s requires the jobs or files as arguments",
                                      options->samples ? "samples" : "all-ranks");
        return options->all_ranks || options->samples ? EXIT_DONE : command_check_arguments(line, 0, 1);
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
        if (r == EXIT_DONE && options->samples)
                return print_samples(line);
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
        .help = "Prints one line for each metric: name, value, unit, and whether the value is exact or sampled. With "
                "--samples, prints the artifact of lightgbm-benchmark, whose sampler is perf.py: for each rank, a "
                "list of samples with twelve fields each, as perfd took them while the job ran. Counters begin at 0 "
                "with the job or, with --as perf.py, at boot. An argument with a slash, or that ends in .json, is a "
                "file, for example of another node.",
        .examples = {
                "perfctl metrics",
                "perfctl metrics train-17 | grep cpu",
                "perfctl metrics --mlflow --all-ranks train-17.0 node2/report.json",
                "perfctl metrics --samples train-17 node2.json > perf_report.json",
        },
        COMMAND_OPTION_ROWS(MetricsOptions,
                { "mlflow", 0, NULL, "The numbers for MLflow, see perfd-mlflow(7)", OPTION_FLAG(MetricsOptions, mlflow) },
                { "all-ranks", 0, NULL, "Print one list of the ranks of a run, jobs or reports printed with --json",
                  OPTION_FLAG(MetricsOptions, all_ranks), .value = OPTION_VALUE_JOB },
                { "names", 0, "WHICH", "Spelling of the names in the MLflow list", OPTION_CHOICE(MetricsOptions, names, "sanitised", "raw") },
                { "prefix", 0, "TEXT", "Prefix of each name in the MLflow list", OPTION_LINE(MetricsOptions, prefix, PREFIX_BYTES_MAX) },
                { "samples", 0, NULL, "Print the samples of jobs as the JSON artifact of perf.py", OPTION_FLAG(MetricsOptions, samples) },
                { "renumber", 0, NULL, "Number the ranks of the samples in the order of the arguments", OPTION_FLAG(MetricsOptions, renumber) },
                OPTION_ROW_OUTPUT(MetricsOptions, output, OPTION_VALUE_FILE),
                OPTION_ROW_AS(MetricsOptions, as, "perf.py"),
                OPTION_ROW_JSON(MetricsOptions, json)),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_JOB,
        .run = metrics_run,
};
