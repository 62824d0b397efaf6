/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/answer.h"
#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/spdl/spdl_log_write.h"

static int export_spdl_log_run(const CommandLine *line) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer out = {};
        size_t n;
        int r;

        r = api_query_open_job_list(&query, &line->global, line->arguments[0], SPDL_LOG_PATH, "intervals", SPDL_LOG_INTERVALS_MAX);
        if (r != EXIT_DONE)
                return r;
        r = spdl_log_write(query.answer, &out, &n);
        if (r < 0)
                return command_fail(r);
        if (n == 0) {
                message_print("job %s has no statistics of a data pipeline; 'perfctl pipeline submit' sends them", line->arguments[0]);
                return EXIT_FAILED;
        }
        if (answer_flag(query.answer, "truncated"))
                message_print("the job has more than %zu intervals; the others are left out", n);
        return output_print(&out);
}

const Command cmd_export_spdl_log = {
        .name = "export spdl-log",
        .arguments = "JOB",
        .summary = "Export intervals of data pipelines as lines of SPDL's log",
        .help = "Writes a line for the tasks and for the queue of each stage and interval, as SPDL logs them, in the order of time. "
                "Intervals that perfd has merged become one line. `perfctl import spdl` reads such a log.",
        .examples = { "perfctl export spdl-log train-17 > spdl.log" },
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = export_spdl_log_run,
};
