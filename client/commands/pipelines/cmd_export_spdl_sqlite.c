/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "client/api/answer.h"
#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"
#include "client/spdl/spdl_database_write.h"
#include "client/spdl/spdl_log_write.h"

static int export_spdl_sqlite_run(const CommandLine *line) {
        scoped(api_query_deinit) ApiQuery intervals = {}, events = {};
        const char *job = line->arguments[0], *path = line->arguments[1];
        char error[SPDL_DATABASE_ERROR_MAX];
        size_t n;
        int r;

        r = api_query_open_job_list(&intervals, &line->global, job, SPDL_LOG_PATH, "intervals", SPDL_LOG_INTERVALS_MAX);
        if (r == EXIT_DONE)
                r = api_query_open_job(&events, &line->global, job, SPDL_DATABASE_EVENTS_PATH);
        if (r != EXIT_DONE)
                return r;
        if (answer_length(value_get(intervals.answer, "intervals")) == 0) {
                message_print("job %s has no statistics of a data pipeline; 'perfctl pipeline submit' sends them", job);
                return EXIT_FAILED;
        }
        if (spdl_database_write(path, &(SpdlRows){ intervals.answer, events.answer }, &n, error) != 0) {
                message_print("%s: %s", path, error);
                return EXIT_FAILED;
        }
        if (answer_flag(intervals.answer, "truncated"))
                message_print("the job has more than %zu intervals; the others are left out",
                              answer_length(value_get(intervals.answer, "intervals")));
        printf("%zu rows written\n", n);
        return EXIT_DONE;
}

const Command cmd_export_spdl_sqlite = {
        .name = "export spdl-sqlite",
        .arguments = "JOB FILE",
        .summary = "Export intervals of data pipelines as a database of SPDL's statistics logger",
        .help = "Writes the tables task_stats, queue_stats and event_stats of SPDL's example of a statistics logger into a new SQLite "
                "file, for programs that read such a file. Intervals that perfd has merged become one row. `perfctl import spdl` reads the "
                "file.",
        .examples = { "perfctl export spdl-sqlite train-17 stats.db" },
        .n_arguments_min = 2,
        .n_arguments_max = 2,
        .value = OPTION_VALUE_JOB,
        .run = export_spdl_sqlite_run,
};
