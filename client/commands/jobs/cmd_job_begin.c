/* SPDX-License-Identifier: Apache-2.0 */
/* Begins and ends jobs manually. */

#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/deliver/deliver.h"
#include "client/run/job_info.h"
#include "util/clock.h"

/* Prints the outcome of a delivery. r: of the delivery. done: "begun" or "ended". Returns the exit status. */
static int print_change(const char *id, bool json, const Courier *courier, const Delivery *delivery, int r, const char *done) {
        scoped(buffer_deinit) Buffer out = {};
        char reason[DELIVERY_TEXT_MAX];
        bool is_duplicate;

        if (r != 0) {
                delivery_explain(delivery, courier, reason);
                message_print("%s", r < 0 ? strerrordesc_np(-r) : reason);
                return r > 0 && delivery->error < 0 ? EXIT_UNREACHABLE : EXIT_FAILED;
        }

        is_duplicate = delivery->reply.status == STATUS_DUPLICATE;
        if (json)
                buffer_printf(&out, "{\"job\":\"%s\",\"%s\":true,\"duplicate\":%s}\n", id, done,
                              is_duplicate ? "true" : "false");
        else
                buffer_printf(&out, "job %s: %s%s\n", id, is_duplicate ? "already " : "", done);
        return output_print(&out);
}

/* --- begin ---------------------------------------------------------------------------------------- */

typedef struct JobBeginOptions {
        JobOptions job;
        uint64_t timeout_ns;
        bool json;
} JobBeginOptions;

static const Option begin_options[] = {
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

        return print_change(id, options->json, &courier, &delivery, r, "begun");
}

const Command cmd_job_begin = {
        .name = "job begin",
        .arguments = "JOB",
        .summary = "Begin a job, for example in a scheduler's prolog",
        .help = "If the same user has already begun the job, the command changes nothing and succeeds. With --pid, the job counts as "
                "interrupted when that process ends before `job end`.",
        .examples = { "perfctl job begin --name train --pid $$ train-17" },
        COMMAND_OPTIONS(JobBeginOptions, begin_options),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = job_begin_run,
};

/* --- end ------------------------------------------------------------------------------------------ */

typedef struct JobEndOptions {
        OptionNumber exit_status;
        uint64_t timeout_ns;
        bool json;
} JobEndOptions;

static const Option end_options[] = {
        { "exit-status", 0, "N", "Exit status of the job, 0 to 255", OPTION_NUMBER(JobEndOptions, exit_status, 0, 255) },
        OPTION_ROW_TIMEOUT(JobEndOptions, timeout_ns),
        OPTION_ROW_JSON(JobEndOptions, json),
        {},
};

static int job_end_run(const CommandLine *line) {
        const JobEndOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        Batch batch = { .ended_job = line->arguments[0] };
        Delivery delivery;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = api_query_check_job_id(batch.ended_job);
        if (r != EXIT_DONE)
                return r;

        batch.end.has_exit_status = options->exit_status.is_given;
        batch.end.exit_status = (int32_t)options->exit_status.value;
        batch.end.realtime_ms = clock_realtime_ns() / NS_PER_MS;
        r = deliver(&courier, &batch, &delivery);
        return print_change(batch.ended_job, options->json, &courier, &delivery, r, "ended");
}

const Command cmd_job_end = {
        .name = "job end",
        .arguments = "JOB",
        .summary = "End a job, for example in a scheduler's epilog",
        .help = "Ending a job that has already ended changes nothing and succeeds.",
        .examples = { "perfctl job end --exit-status $? train-17" },
        COMMAND_OPTIONS(JobEndOptions, end_options),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = job_end_run,
};
