/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"
#include "util/clock.h"

#define WAIT_INTERVAL_MIN_NS (100 * NS_PER_MS)
#define WAIT_INTERVAL_MAX_NS NS_PER_S

typedef struct JobWaitOptions {
        uint64_t timeout_ns; /* 0: no limit */
} JobWaitOptions;

static const Option options_table[] = {
        { "timeout", 't', "TIME", "Maximum time to wait", OPTION_DURATION(JobWaitOptions, timeout_ns, 0) },
        {},
};

/* Sleeps for the interval, but not beyond the end of the time (0: none). False: the time is over. */
static bool sleep_until_next(uint64_t *interval_ns, uint64_t end_ns) {
        uint64_t now_ns = clock_boottime_ns(), sleep_ns = *interval_ns;
        struct timespec time;

        if (end_ns > 0 && now_ns >= end_ns)
                return false;
        if (end_ns > 0 && sleep_ns > end_ns - now_ns)
                sleep_ns = end_ns - now_ns;

        time = (struct timespec){ .tv_sec = (time_t)(sleep_ns / NS_PER_S), .tv_nsec = (long)(sleep_ns % NS_PER_S) };
        (void)nanosleep(&time, NULL);
        *interval_ns = *interval_ns * 2 < WAIT_INTERVAL_MAX_NS ? *interval_ns * 2 : WAIT_INTERVAL_MAX_NS;
        return true;
}

/* Polls the state of a job. A perfd that is being restarted is waited for. */
static int wait_for_end(ApiQuery *query, const char *id, uint64_t end_ns) {
        uint64_t interval_ns = WAIT_INTERVAL_MIN_NS;
        char path[JOB_ID_MAX + 32];
        bool is_reported = false;
        int r = EXIT_DONE;

        snprintf(path, sizeof(path), "/api/v1/jobs/%s", id);
        while (r == EXIT_UNREACHABLE || strcmp(answer_text(query->answer, "state"), "running") == 0) {
                if (!sleep_until_next(&interval_ns, end_ns)) {
                        message_print("job %s is still running", id);
                        return EXIT_FAILED;
                }

                r = api_query_try(query, path);
                if (r == EXIT_UNREACHABLE && !is_reported)
                        message_print("perfd is unreachable; still waiting for job %s", id);
                is_reported |= r == EXIT_UNREACHABLE;
                if (r != EXIT_DONE && r != EXIT_UNREACHABLE)
                        return r;
        }

        return EXIT_DONE;
}

static int job_wait_run(const CommandLine *line) {
        const JobWaitOptions *options = line->options;
        uint64_t end_ns = options->timeout_ns > 0 ? clock_boottime_ns() + options->timeout_ns : 0;
        scoped(api_query_deinit) ApiQuery query = {};
        char id[JOB_ID_MAX];
        int r;

        r = api_query_open_job(&query, &line->global, line->arguments[0], "");
        if (r != EXIT_DONE)
                return r;

        snprintf(id, sizeof(id), "%s", answer_text(query.answer, "id"));
        return wait_for_end(&query, id, end_ns);
}

const Command cmd_job_wait = {
        .name = "job wait",
        .arguments = "[JOB]",
        .summary = "Wait until a job has ended and its metrics are final",
        .help = "JOB is an id, a name or 'last'; default: $PERFD_JOB, else the newest job of this user. "
                "Without --timeout, waits without a limit.",
        .examples = { "perfctl job wait train-17 && perfctl report train-17" },
        COMMAND_OPTIONS(JobWaitOptions, options_table),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = job_wait_run,
};
