/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/api_query.h"
#include "client/commands/commands.h"
#include "client/commands/jobs/job_change.h"
#include "client/run/job_info.h"

typedef struct JobBeginOptions {
        JobOptions job;
        uint64_t timeout_ns;
        bool json;
} JobBeginOptions;

static const Option options_table[] = {
        OPTION_INCLUDE(JobBeginOptions, job, JobOptions, job_options),
        { "pid", 0, "PID", "Process that represents the job", OPTION_COUNT(JobBeginOptions, job.pid, 1, INT32_MAX), .value = OPTION_VALUE_PID },
        /* The largest uid does not belong to a user. */
        { "uid", 0, "UID", "User of the job (root and administrators only)", OPTION_NUMBER(JobBeginOptions, job.uid, 0, UINT32_MAX - 1),
          .value = OPTION_VALUE_UID },
        OPTION_ROW_TIMEOUT(JobBeginOptions, timeout_ns),
        OPTION_ROW_JSON(JobBeginOptions, json),
        {},
};

static int job_begin_run(const CommandLine *line) {
        const JobBeginOptions *options = line->options;
        const char *id = line->arguments[0];
        scoped(deliver_courier_deinit) Courier courier;
        scoped(job_info_deinit) JobInfo info = {};
        JobOptions job = options->job;
        char error[OPTION_ERROR_MAX];
        Delivery delivery = {};
        Launch launch;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        if (common_options_check_place(&job.place, error) != 0)
                return command_refuse(line->command->name, "%s", error);
        r = api_query_check_job_id(id);
        if (r != EXIT_DONE)
                return r;

        job.id = id;
        launcher_find(&launch);
        r = job_info_fill(&info, &job, &launch, NULL);
        if (r == 0)
                r = deliver_begin(&courier, &(JobBegin){ .info = &info, .has_uid = job.uid.is_given, .sample_ns = job.sample_ns },
                                  &delivery);

        return job_change_print(id, options->json, &courier, &delivery, r, "begun");
}

const Command cmd_job_begin = {
        .name = "job begin",
        .arguments = "JOB",
        .summary = "Begin a job, for example in a scheduler's prolog",
        .help = "If the same user has already begun the job, the command changes nothing and succeeds. With --pid, the job counts as "
                "interrupted when that process ends before `job end`.",
        .examples = { "perfctl job begin --name train --pid $$ train-17" },
        COMMAND_OPTIONS(JobBeginOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = job_begin_run,
};
