/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/api_query.h"
#include "client/commands/commands.h"
#include "client/commands/jobs/job_change.h"
#include "util/clock.h"

typedef struct JobEndOptions {
        OptionNumber exit_status;
        uint64_t timeout_ns;
        bool json;
} JobEndOptions;

static const Option options_table[] = {
        { "exit-status", 0, "N", "Exit status of the job, 0 to 255", OPTION_NUMBER(JobEndOptions, exit_status, 0, 255) },
        OPTION_ROW_TIMEOUT(JobEndOptions, timeout_ns),
        OPTION_ROW_JSON(JobEndOptions, json),
        {},
};

static int job_end_run(const CommandLine *line) {
        const JobEndOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        char id[JOB_ID_MAX];
        Batch batch = { .ended_job = id };
        Delivery delivery;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = api_query_find_job_id(&line->global, line->arguments[0], id);
        if (r != EXIT_DONE)
                return r;

        batch.end.has_exit_status = options->exit_status.is_given;
        batch.end.exit_status = (int32_t)options->exit_status.value;
        batch.end.realtime_ms = clock_realtime_ns() / NS_PER_MS;
        r = deliver(&courier, &batch, &delivery);
        return job_change_print(batch.ended_job, options->json, &courier, &delivery, r, "ended");
}

const Command cmd_job_end = {
        .name = "job end",
        .arguments = "JOB",
        .summary = "End a job, for example in a scheduler's epilog",
        .help = "Ending a job that has already ended changes nothing and succeeds.",
        .examples = { "perfctl job end --exit-status $? train-17" },
        COMMAND_OPTIONS(JobEndOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = job_end_run,
};
