/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/report/report.h"
#include "client/report/report_html.h"
#include "client/report/shared_reports.h"
#include "util/clock.h"
#include "util/error_text.h"

typedef struct ReportOptions {
        bool all_nodes, brief, line, json;
        const char *html; /* NULL if not given */
} ReportOptions;

/* --- the reports of several nodes ----------------------------------------------------------------- */

/* Returns 0, RUN_INVALID after reporting the error in the file, or a negative errno. */
static int add_file(ReportRun *run, const char *file) {
        scoped(buffer_deinit) Buffer text = {};
        int r;

        if (input_read(file, &text) != EXIT_DONE)
                return RUN_INVALID;

        r = report_run_add(run, input_name(file), text.text ? text.text : "", text.n);
        if (r == RUN_INVALID)
                message_print("%s", run->error);
        return r;
}

/* Checks the reports of one file: members that cannot be used are reported, the rest is used. */
static bool check_reports(const ReportRun *run, size_t first) {
        bool is_whole = true;

        for (size_t i = first; i < run->n_reports; i++) {
                scoped(buffer_deinit) Buffer names = {};
                const RankReport *report = &run->reports[i];

                if (report_run_check(report->job, &names) == 0)
                        continue;
                message_print("%s:%u: ignoring members that differ from those of perfd: %s", report->file, report->line,
                              names.text ? names.text : "");
                is_whole = false;
        }
        return is_whole;
}

/* Reads all files; each invalid file is reported. */
static int add_files(ReportRun *run, const CommandLine *line, bool *ret_is_whole) {
        int r, result = 0;

        *ret_is_whole = true;

        if (strcmp(line->arguments[0], "-") == 0 && isatty(STDIN_FILENO) == 1)
                message_print("reading reports from the terminal; Ctrl-D ends the input");

        for (int i = 0; i < line->n_arguments; i++) {
                size_t n_before = run->n_reports;

                r = add_file(run, line->arguments[i]);
                if (r < 0)
                        return r;
                *ret_is_whole &= check_reports(run, n_before);
                result = r > 0 ? r : result;
        }
        if (result != 0)
                return result;

        result = report_run_join(run);
        if (result == RUN_INVALID)
                message_print("%s", run->error);
        return result;
}

/* The step on each node. */
static int print_step(const CommandLine *line, const ReportRun *run) {
        const ReportOptions *options = line->options;
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        for (size_t i = 0; i < run->n_reports; i++) {
                const Value *step = report_run_step(run, i);

                if (step) {
                        answer_put_value(&out, step);
                        buffer_putc(&out, '\n');
                }
        }
        if (out.n == 0) {
                message_print("job %s has no step '%.31s'", run->reports[0].id, run->step);
                return EXIT_FAILED;
        }
        if (options->json)
                return output_print(&out);

        buffer_clear(&out);
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        report_write(&screen, run, NULL, false);
        return output_print(&out);
}

static int print_run(const CommandLine *line, const ReportRun *run) {
        const ReportOptions *options = line->options;
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;
        Json json = { .out = &out };

        if (run->step)
                return print_step(line, run);

        if (options->json) {
                int r;

                report_run_write_json(run, &json);
                buffer_putc(&out, '\n');
                r = output_print(&out);
                return r == EXIT_DONE && options->html ? report_html_write_run(run, options->html) : r;
        }
        if (options->html)
                return report_html_write_run(run, options->html);

        if (options->line) {
                report_write_line(run, &out);
                return output_print(&out);
        }

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        report_write(&screen, run, NULL, isatty(STDOUT_FILENO) != 1);
        return output_print(&out);
}

static int merge(const CommandLine *line) {
        scoped(report_run_deinit) ReportRun run = {};
        bool is_whole;
        int r;

        r = add_files(&run, line, &is_whole);
        if (r < 0)
                message_print("cannot read the reports: %s", error_text(-r));
        if (r != 0)
                return EXIT_FAILED;

        if (run.n_duplicates > 0)
                message_print("%zu reports are duplicates; each job counts once", run.n_duplicates);
        r = print_run(line, &run);
        return r == EXIT_DONE && !is_whole ? EXIT_FAILED : r;
}

/* --- a job ---------------------------------------------------------------------------------------- */

/* Reports a job from its shared reports. EXIT_DONE, an exit status after a message, or SHARED_NONE. */
#define SHARED_NONE (-1)
static int report_shared(const CommandLine *line, const char *directory, const char *job, const char *step) {
        scoped(shared_reports_deinit) SharedReports reports = SHARED_REPORTS_NONE;
        const ReportOptions *options = line->options;
        scoped(report_run_deinit) ReportRun run = {};
        int r;

        r = shared_reports_find_any(&reports, directory, job);
        if (r < 0 || reports.n == 0) {
                if (r < 0 && r != -ENOENT)
                        message_print("cannot read $PERFD_REPORTS %s: %s", directory, error_text(-r));
                return SHARED_NONE;
        }
        for (size_t i = 0; i < reports.n && r == 0; i++) {
                scoped(buffer_deinit) Buffer text = {};

                if (!shared_reports_read(&reports, i, &text)) {
                        message_print("cannot read the report %s/%u/%s", directory, reports.uid, reports.names[i]);
                        return EXIT_FAILED;
                }
                if (reports.n == 1 && options->json && !step) {
                        r = output_print(&text);
                        if (r != EXIT_DONE || !options->html)
                                return r;
                }
                r = report_run_add(&run, reports.names[i], text.text, text.n);
        }
        if (r == 0)
                r = report_run_join(&run);
        if (r < 0)
                return command_fail(r);
        if (r > 0) {
                message_print("%s", run.error);
                return EXIT_FAILED;
        }
        run.step = step;
        return reports.n == 1 && options->html ? report_html_write_run(&run, options->html) : print_run(line, &run);
}

/*
 * Divides Slurm's name of a step, 5001.0 or 5001.batch, unless a run of perfctl-run(1) in this step has a report of its
 * own. False: it is no such name.
 */
static bool find_step(const CommandLine *line, const char *job, char ret_job[static JOB_ID_MAX],
                      const char **ret_step) {
        size_t n = strspn(job, "0123456789");
        scoped(api_query_deinit) ApiQuery query = {};
        const char *step = job + n + 1;
        char path[2 * JOB_ID_MAX];

        if (n == 0 || n >= JOB_ID_MAX / 2 || job[n] != '.' || strlen(step) >= JOB_ID_MAX / 2 ||
            !(strspn(step, "0123456789") == strlen(step) || strcmp(step, "batch") == 0 || strcmp(step, "extern") == 0 ||
              strcmp(step, "interactive") == 0) || !*step)
                return false;
        (void)snprintf(path, sizeof(path), "/api/v1/jobs?limit=1&label=slurm_job%%3D%.*s&label=step%%3D%s", (int)n, job,
                       step);
        if (api_query_has_socket(&line->global) &&
            answer_length(value_get(api_query_peek(&query, &line->global, path, NS_PER_S), "jobs")) > 0)
                return false;
        (void)snprintf(ret_job, JOB_ID_MAX, "%.*s", (int)n, job);
        *ret_step = step;
        return true;
}

static int report_job(const CommandLine *line) {
        const ReportOptions *options = line->options;
        const char *job = line->arguments[0], *directory = shared_reports_directory(), *step = NULL;
        scoped(api_query_deinit) ApiQuery query = {};
        char of_step[JOB_ID_MAX];
        int r;

        r = command_check_arguments(line, 0, 1);
        if (r == EXIT_DONE && job && find_step(line, job, of_step, &step))
                job = of_step;
        if (step && (options->html || options->line || options->brief))
                return command_refuse(line->command->name, "a step has no report with --html, --one-line or --brief");
        if (r == EXIT_DONE && job && directory && !options->brief) {
                r = report_shared(line, directory, job, step);
                if (r != SHARED_NONE)
                        return r;
                r = EXIT_DONE;
        }
        if (r == EXIT_DONE)
                r = api_query_open_job(&query, &line->global, job, "");
        if (r != EXIT_DONE)
                return r;

        if (step) {
                RankReport report;
                ReportRun run;
                RunHost host;

                report_run_of_job(&run, &report, &host, query.answer, NULL);
                run.step = step;
                return print_step(line, &run);
        }
        if (options->json)
                r = report_print_job_json(&line->global, &query);
        if (options->html)
                return r == EXIT_DONE ? report_html_write_job(&query, options->html) : r;
        if (options->json)
                return r;
        if (options->line) {
                scoped(buffer_deinit) Buffer out = {};

                report_write_job_line(query.answer, &out);
                return output_print(&out);
        }
        return report_print_job(&line->global, query.answer, options->brief, STDOUT_FILENO);
}

static int report_run(const CommandLine *line) {
        const ReportOptions *options = line->options;

        if (options->brief + options->line + (options->json || options->html) > 1)
                return command_refuse(line->command->name, "--brief and --one-line can be combined with no other form");
        if (options->json && options->html && strcmp(options->html, "-") == 0)
                return command_refuse(line->command->name, "--json with --html needs a FILE for the page");
        if (options->brief && options->all_nodes)
                return command_refuse(line->command->name, "--brief cannot be combined with --all-nodes");
        if (!options->all_nodes)
                return report_job(line);
        if (line->n_arguments == 0)
                return command_refuse(line->command->name, "--all-nodes requires files, or - for standard input");
        return merge(line);
}

const Command cmd_report = {
        .name = "report",
        .arguments = "{[JOB] | --all-nodes FILE…}",
        .summary = "Show a report of a job on one screen",
        .help = "What ran, where and how it ended; allocated and used resources; phases; the node during the job; "
                "advice. A number marked with ~ comes from samples; the others are exact. JOB is an id or a name; "
                "default: $PERFD_JOB, else the job of Slurm, else the newest job of this user. With --all-nodes, which "
                "takes files or - instead of a job, the reports of all nodes and ranks of a run are shown as one.",
        .examples = {
                "perfctl report",
                "perfctl report train-17 --html train-17.html",
                "perfctl report --json train-17 > $(hostname).json",
                "perfctl report --all-nodes *.json",
        },
        COMMAND_OPTION_ROWS(ReportOptions,
                { "all-nodes", 0, NULL, "Merge reports of a run, printed with --json", OPTION_FLAG(ReportOptions, all_nodes), .value = OPTION_VALUE_FILE },
                { "brief", 0, NULL, "Print the description of the job, without its metrics", OPTION_FLAG(ReportOptions, brief) },
                { "one-line", 0, NULL, "Print duration, nodes, CPUs and memory in a line", OPTION_FLAG(ReportOptions, line) },
                { "html", 0, "FILE", "Write a web page, which is one file, to FILE or -", OPTION_TEXT(ReportOptions, html), .value = OPTION_VALUE_FILE },
                OPTION_ROW_JSON(ReportOptions, json)),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_JOB,
        .run = report_run,
};
