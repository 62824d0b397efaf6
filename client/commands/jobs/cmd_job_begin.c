/* SPDX-License-Identifier: Apache-2.0 */
#include <pwd.h>

#include "client/api/api_query.h"
#include "client/commands/commands.h"
#include "client/commands/jobs/job_change.h"
#include "client/run/job_info.h"
#include "util/parse.h"

typedef struct JobBeginOptions {
        JobOptions job;
        uint64_t timeout_ns;
        bool json;
} JobBeginOptions;

/* A prolog may wait for a directory server. The largest number does not belong to a user. */
static int parse_user(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        const struct passwd *user = getpwnam(value);
        OptionNumber *uid = place;

        if (user)
                uid->value = user->pw_uid;
        else if (parse_u64(value, &uid->value) != 0 || uid->value >= UINT32_MAX)
                return option_refuse(option, value, "the name of a user of this machine, or a number from 0 to 4294967294", ret_error);
        uid->is_given = true;
        return 0;
}

static const Option options_table[] = {
        OPTION_INCLUDE(JobBeginOptions, job, JobOptions, job_options),
        { "pid", 0, "PID", "Process that represents the job", OPTION_COUNT(JobBeginOptions, job.pid, 1, INT32_MAX), .value = OPTION_VALUE_PID },
        { "user", 'u', "USER", "User, a name or a number", .parse = parse_user,
          .offset = OPTION_PLACE(JobBeginOptions, job.uid, OptionNumber), .value = OPTION_VALUE_UID },
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
                r = deliver_begin(&courier, &(JobBegin){ .info = &info, .has_uid = job.uid.is_given, .sample_ns = job.interval_ns },
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
