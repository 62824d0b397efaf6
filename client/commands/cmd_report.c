/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/commands/perfctl.h"
#include "client/report/report.h"
#include "client/report/report_check.h"
#include "client/report/report_run.h"

/* --- a job ---------------------------------------------------------------------------------------- */

/* An older perfd does not say in its answer where the job ran. */
static const Value *ask_node(ApiQuery *question, const Value *job) {
        const Value *on = value_get(job, "on");

        if (on && on->type == VALUE_OBJECT)
                return on;

        return api_query_try(question, "/api/v1/node") == EXIT_DONE ? question->answer : NULL;
}

/* `job show` is the first part of `report`. */
static int print_job(const Options *options, const Value *job, bool is_report) {
        scoped(api_query_deinit) ApiQuery of_node = {}, of_results = {};
        scoped(buffer_deinit) Buffer out = {};
        const Value *node = NULL;
        JobResults results = {};
        Screen screen;

        /* A report without host name and clock, or without results, is still one. */
        if (api_query_init(&of_node, options) == EXIT_DONE)
                node = ask_node(&of_node, job);
        if (is_report && api_query_init(&of_results, options) == EXIT_DONE)
                job_results_ask(&of_results, job, &results);

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        if (is_report)
                report_write(&screen, job, node, &results);
        else
                report_write_head(&screen, job, node);
        return print_out(&out);
}

static int show(const Options *options, bool is_report) {
        scoped(api_query_deinit) ApiQuery question = {};
        int r;

        r = api_query_open_job(&question, options, options->arguments[0], "");
        if (r != EXIT_DONE)
                return r;

        return options_has(options, OPTION_JSON) ? api_query_print_json(&question) : print_job(options, question.answer, is_report);
}

/* --- the reports of several nodes ----------------------------------------------------------------- */

/* 0, RUN_INVALID after saying what is wrong with the file, or a negative errno. */
static int add_file(Run *run, const char *file) {
        scoped(buffer_deinit) Buffer text = {};
        const char *name = input_name(file);
        int r;

        r = input_read(file, &text);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                say("Cannot read %s: %s", name, strerrordesc_np(-r));
                return RUN_INVALID;
        }

        r = run_add(run, name, text.text ? text.text : "", text.n);
        if (r == RUN_INVALID)
                say("%s", run->error);
        return r;
}

/* Of the reports that a file has brought: what cannot be counted of them is said, the rest counts. */
static bool check_reports(const Run *run, size_t first) {
        bool is_whole = true;

        for (size_t i = first; i < run->n_reports; i++) {
                scoped(buffer_deinit) Buffer names = {};
                const RankReport *report = &run->reports[i];

                if (report_check(report->job, &names) == 0)
                        continue;
                say("%s:%u: left out, since perfd does not write it so: %s", report->file, report->line, names.text ? names.text : "");
                is_whole = false;
        }
        return is_whole;
}

/* Every file that is wrong is said. */
static int add_files(Run *run, const Options *options, bool *ret_is_whole) {
        int r, result = 0;

        *ret_is_whole = true;

        if (strcmp(options->arguments[0], "-") == 0 && isatty(STDIN_FILENO) == 1)
                say("Reading reports from the terminal; Ctrl-D ends them");

        for (int i = 0; i < options->n_arguments; i++) {
                size_t n_before = run->n_reports;

                r = add_file(run, options->arguments[i]);
                if (r < 0)
                        return r;
                *ret_is_whole &= check_reports(run, n_before);
                result = r > 0 ? r : result;
        }
        if (result != 0)
                return result;

        result = run_join(run);
        if (result == RUN_INVALID)
                say("%s", run->error);
        return result;
}

static int print_run(const Options *options, const Run *run) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;
        Json json;

        if (options_has(options, OPTION_JSON)) {
                json_init(&json, &out);
                run_write_json(run, &json);
                buffer_putc(&out, '\n');
                return print_out(&out);
        }

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        run_write(&screen, run, isatty(STDOUT_FILENO) != 1);
        return print_out(&out);
}

static int merge(const Options *options) {
        scoped(run_deinit) Run run = {};
        bool is_whole;
        int r;

        r = add_files(&run, options, &is_whole);
        if (r < 0)
                say("Cannot take the reports in: %s", strerrordesc_np(-r));
        if (r != 0)
                return EXIT_FAILED;

        if (run.n_duplicates > 0)
                say("%zu of the reports are of a job that another one is of as well; each job counts once", run.n_duplicates);
        r = print_run(options, &run);
        return r == EXIT_DONE && !is_whole ? EXIT_FAILED : r;
}

int cmd_report(const Options *options) {
        return options_has(options, OPTION_ALL_NODES) ? merge(options) : show(options, true);
}

int cmd_job_show(const Options *options) {
        return show(options, false);
}
