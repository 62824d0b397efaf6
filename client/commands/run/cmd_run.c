/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/run/run_job.h"
#include "client/commands/run/run_spec.h"
#include "client/results/summary_export.h"
#include "util/utf8.h"

#define REPEAT_MAX 100000
#define VARIABLE_NAME_BYTES_MAX 256U

/* A variable that is named twice is recorded once. */
static int parse_variable(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        const OptionTexts *names = place;

        if (!value[0] || strchr(value, '=') || strlen(value) > VARIABLE_NAME_BYTES_MAX || !utf8_is_line(value))
                return option_refuse(option, value, "the name of a variable", ret_error);
        for (size_t i = 0; i < names->n; i++)
                if (strcmp(names->items[i], value) == 0)
                        return 0;

        return option_add_text(option, value, place, ret_error);
}

static const Option options_table[] = {
        OPTION_ROW_NEW_JOB(RunOptions, job.id),
        OPTION_INCLUDE(RunOptions, job, JobOptions, job_options),
        { "isolation", 0, "KIND", "Strongest isolation to try",
          OPTION_NAME(RunOptions, isolation, job_enclosure_choices), .initial = "scope" },
        { "limits", 0, "LIST", "Limits of the job's control group, such as cpu=500m,memory=4Gi", OPTION_TEXT(RunOptions, limits) },
        { "wait", 0, NULL, "Wait for all processes that the command started", OPTION_FLAG(RunOptions, wait) },
        { "collect", 0, "WHEN", "Collect results from the output",
          OPTION_CHOICE(RunOptions, collect, "auto", "yes", "no"), .initial = "auto" },
        OPTION_INCLUDE(RunOptions, failed, FailedRunOptions, failed_run_options),
        OPTION_ROW_COMPONENT_VERSION(RunOptions, component_version),
        { "repeat", 0, "N", "Run the command N times, as a batch", OPTION_COUNT(RunOptions, batch.repeat, 1, REPEAT_MAX) },
        { "warmup", 0, "K", "K warm-up runs first, discarded", OPTION_COUNT(RunOptions, batch.warmup, 0, REPEAT_MAX) },
        OPTION_ROW_OUTPUT(RunOptions, batch.output, OPTION_VALUE_FILE),
        { "env", 0, "NAME", "Record a variable with the results; may be repeated",
          OPTION_TEXTS(RunOptions, environment, OPTION_TEXTS_MAX, parse_variable), .value = OPTION_VALUE_VARIABLE },
        { "stack", 0, "WHAT", "Store results with the software stack: pip, conda, dpkg, rpm, module, container, or a lock file",
          OPTION_TEXT(RunOptions, stack), .value = OPTION_VALUE_FILE },
        { "spec", 0, "FILE", "Run the script of an Amun specification", OPTION_TEXT(RunOptions, spec.file), .value = OPTION_VALUE_FILE },
        { "script", 0, "FILE", "Script to run instead of the one that the specification names", OPTION_TEXT(RunOptions, spec.script),
          .value = OPTION_VALUE_FILE },
        { "keep", 0, NULL, "Keep the directory made by --spec", OPTION_FLAG(RunOptions, spec.keep) },
        OPTION_ROW_SPOOL(RunOptions, spool),
        { "report", 0, NULL, "Print the report of the job on standard error at the end", OPTION_FLAG(RunOptions, report) },
        { "at-end", 0, "COMMAND", "Shell command to run when perfd has stored the end", OPTION_TEXT(RunOptions, at_end) },
        OPTION_INCLUDE(RunOptions, kpis, KpiGateOptions, kpi_gate_options),
        { "quiet", 'q', NULL, "Do not report the id and the end of the job", OPTION_FLAG(RunOptions, quiet) },
        { "verbose", 'v', NULL, "Report each step on standard error", OPTION_FLAG(RunOptions, verbose) },
        {},
};

static int run_run(const CommandLine *line) {
        const RunOptions *options = line->options;
        char error[OPTION_ERROR_MAX];
        int r;

        r = command_check_arguments(line, options->spec.file ? 0 : 1, options->spec.file ? 0 : COMMAND_MANY);
        if (r != EXIT_DONE)
                return r;
        if (options->spec.script && !options->spec.file)
                return command_refuse(line->command->name, "--script is the script of a specification: add --spec, or name the file as "
                                      "the command");
        r = kpi_gate_check_options(&options->kpis, line->command->name);
        if (r != EXIT_DONE)
                return r;
        if (common_options_check_place(&options->job.place, error) != 0)
                return command_refuse(line->command->name, "%s", error);

        return options->spec.file ? run_spec(line, options) : run_job(line, options, line->arguments);
}

const Command cmd_run = {
        .name = "run",
        .arguments = "{[--] COMMAND [ARGUMENT]… | --spec FILE [--script FILE]}",
        .summary = "Run a command as a job",
        .help = "The command keeps its input, output and terminal, gets $PERFD_JOB, and perfctl exits as the command did. A perfd "
                "that is down, slow or full does not delay or end the command, or change its exit status. Unless standard output is "
                "a terminal, indicators that the command prints there are submitted for the job, with a record of the run. --repeat "
                "runs the command several times, as a batch; --output writes its statistics to a file whose name ends in "
                EXPORT_ENDINGS ".",
        .examples = {
                "perfctl run -- python3 train.py --epochs 3",
                "perfctl run --name resnet50 --label batch=256 -- ./train.sh > train.log",
                "srun perfctl run -- ./solver",
                "perfctl run --repeat 20 --warmup 2 -- python3 matmul.py",
        },
        COMMAND_OPTIONS(RunOptions, options_table),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_PROGRAM,
        .runs_command = true,
        .stops_early = true,
        .run = run_run,
};
