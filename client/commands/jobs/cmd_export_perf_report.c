/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/report/perf_report.h"
#include "util/file.h"

/* Jobs that begin between two samples, or are reported late by less, are whole. */
#define LATE_MS_MIN 1000.0

typedef struct ExportPerfReportOptions {
        bool renumber;
        const char *as, *output;
} ExportPerfReportOptions;

static const Option options_table[] = {
        OPTION_ROW_AS(ExportPerfReportOptions, as, "perf.py"),
        { "renumber", 0, NULL, "Number the ranks in the order of the arguments", OPTION_FLAG(ExportPerfReportOptions, renumber) },
        OPTION_ROW_OUTPUT(ExportPerfReportOptions, output, OPTION_VALUE_FILE),
        {},
};

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
                message_print("null in the report: %s; for the reasons see 'perfctl metrics --job %s'", names.text, rank->from);
}

/* Reports where the samples are not those that were taken, from the start to the end of the job. */
static void report_limits(const char *id, const Value *answer) {
        uint64_t n_merged = answer_time(answer, "n_merged");
        double late_ms = answer_number(answer, "samples_begin_ms") - answer_number(answer, "begin_ms");

        if (n_merged > 1)
                message_print("job '%s' ran too long to keep each sample: each sample of the report is the mean or the maximum of %ju "
                              "samples", id, (uintmax_t)n_merged);
        if (late_ms >= LATE_MS_MIN)
                message_print("job '%s' has no samples of its first %.1f s: perfd began to observe it later, or was restarted", id,
                              late_ms / 1e3);
}

/* Writes the same bytes as upstream, without a newline at the end except on a terminal. */
static int print(const Buffer *report) {
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

        message_print("cannot write to %s: %s", path, strerrordesc_np(-r));
        return EXIT_FAILED;
}

static int add_totals(PerfReport *report, const CommandLine *line, const char *id, const char *from) {
        const ExportPerfReportOptions *options = line->options;
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
                      options->as ? "; try without --as perf.py, which exports the totals of a short job" : "");
        return EXIT_FAILED;
}

static int add_job(PerfReport *report, const CommandLine *line, const char *job) {
        const ExportPerfReportOptions *options = line->options;
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

static int add_file(PerfReport *report, const char *file) {
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

/* A job's id may have a '.', but no slash. */
static bool is_file(const char *argument) {
        size_t n = strlen(argument);

        return strchr(argument, '/') || (n > 5 && strcmp(argument + n - 5, ".json") == 0);
}

static int export_perf_report_run(const CommandLine *line) {
        const ExportPerfReportOptions *options = line->options;
        scoped(perf_report_deinit) PerfReport report = {};
        scoped(buffer_deinit) Buffer text = {};
        int r;

        for (int i = 0; i < line->n_arguments; i++) {
                const char *argument = line->arguments[i];

                r = is_file(argument) ? add_file(&report, argument) : add_job(&report, line, argument);
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
        return options->output ? write_file(options->output, &text) : print(&text);
}

const Command cmd_export_perf_report = {
        .name = "export perf-report",
        .arguments = "JOB|FILE...",
        .summary = "Export samples of jobs in the format of perf.py",
        .help = "Writes the JSON artifact of lightgbm-benchmark, whose sampler is perf.py: for each rank, a list of samples with "
                "twelve fields each, as perfd took them while the job ran. Counters begin at 0 with the job or, with "
                "--as perf.py, at boot. "
                "An argument with a slash, or that ends in .json, is an artifact, for example of another node.",
        .examples = { "perfctl export perf-report train-17 > perf_report.json",
                      "perfctl export perf-report --as perf.py --output perf_report.json train-17",
                      "perfctl export perf-report train-17.0 train-17.1 node2.json > all.json" },
        COMMAND_OPTIONS(ExportPerfReportOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_JOB,
        .run = export_perf_report_run,
};
