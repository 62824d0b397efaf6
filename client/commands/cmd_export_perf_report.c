/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/report/perf_report.h"
#include "util/file.h"

typedef struct ExportPerfReportOptions {
        bool compat;
        const char *output;
} ExportPerfReportOptions;

static const Option options_table[] = {
        OPTION_ROW_COMPAT(ExportPerfReportOptions, compat),
        { "output", 0, "FILE", "Write to a file instead of standard output", OPTION_TEXT(ExportPerfReportOptions, output),
          .value = OPTION_VALUE_FILE },
        {},
};

/* Reports fields that are null: a reader such as perf.py takes the maximum of every field. */
static void report_unknown_fields(const char *id, const PerfpySample *samples, size_t n) {
        scoped(buffer_deinit) Buffer names = {};

        for (size_t field = 0; field < N_PERF_REPORT_FIELDS; field++) {
                size_t i = 0;

                while (i < n && !isnan(perf_report_field(&samples[i], field)))
                        i++;
                if (i < n)
                        buffer_printf(&names, "%s%s", names.n > 0 ? ", " : "", perf_report_field_name(field));
        }

        if (names.n > 0 && buffer_error(&names) == 0)
                message_print("null in the report: %s; for the reasons see 'perfctl metrics --job %s'", names.text, id);
}

/* Byte for byte what upstream wrote, without a newline at the end, but for a person's terminal. */
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

static int export(const CommandLine *line, const Value *job, const Value *timeline) {
        const ExportPerfReportOptions *options = line->options;
        const char *id = line->arguments[0];
        scoped(freep) PerfpySample *samples = NULL;
        scoped(buffer_deinit) Buffer report = {};
        int64_t rank = 0;
        size_t n = 0;
        int r;

        r = perf_report_samples(job, timeline, options->compat, &samples, &n);
        if (r == PERF_REPORT_EMPTY) {
                message_print("job '%s' has no samples for perf.py's format%s", id,
                    options->compat ? "; try without --compat, which exports the totals of a short job" : "");
                return EXIT_FAILED;
        }
        if (r == 0) {
                (void)value_get_int(job, "rank", &rank);
                perf_report_begin(&report);
                perf_report_put(&report, rank, samples, n, true);
                perf_report_end(&report);
                r = buffer_error(&report);
        }
        if (r < 0)
                return command_fail(r);

        report_unknown_fields(id, samples, n);
        return options->output ? write_file(options->output, &report) : print(&report);
}

static int export_perf_report_run(const CommandLine *line) {
        scoped(api_query_deinit) ApiQuery about_job = {}, about_samples = {};
        int r;

        r = api_query_open_job(&about_job, &line->global, line->arguments[0], "");
        if (r == EXIT_DONE)
                r = api_query_open_job(&about_samples, &line->global, answer_text(about_job.answer, "id"), "/samples");
        return r == EXIT_DONE ? export(line, about_job.answer, about_samples.answer) : r;
}

const Command cmd_export_perf_report = {
        .name = "export perf-report",
        .arguments = "JOB",
        .summary = "Export a job's samples in the format of perf.py",
        .help = "Writes the JSON artifact of lightgbm-benchmark, whose sampler is perf.py: a list of samples with twelve fields "
                "each, from the timeline of the job. Counters begin at 0 with the job or, with --compat, at boot.",
        .examples = { "perfctl export perf-report train-17 > perf_report.json",
                      "perfctl export perf-report --compat --output perf_report.json train-17" },
        COMMAND_OPTIONS(ExportPerfReportOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = export_perf_report_run,
};
