/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/report/report.h"

static int job_show_run(const CommandLine *line) {
        const JsonOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {}, of_node = {};
        scoped(buffer_deinit) Buffer out = {};
        const Value *node = NULL;
        Screen screen;
        int r;

        r = api_query_open_job(&query, &line->global, line->arguments[0], "");
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        /* Host name and clock are shown if the answer of perfd contains them. */
        if (api_query_init(&of_node, &line->global) == EXIT_DONE)
                node = api_query_node(&of_node, query.answer);

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        report_write_head(&screen, query.answer, node);
        return output_print(&out);
}

const Command cmd_job_show = {
        .name = "job show",
        .arguments = "[JOB]",
        .summary = "Show a job's description, without its metrics",
        .help = "JOB is an id or a name; default: $PERFD_JOB, else the newest job of this user.",
        .examples = { "perfctl job show train-17" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = job_show_run,
};
