/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"
#include "client/report/report.h"
#include "client/report/shared_reports.h"
#include "client/run/job_info.h"
#include "client/wire/user.h"
#include "text/text.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/parse.h"
#include "value/value_parse.h"

/* Prints the outcome of a delivery. r: of the delivery. done: "begun" or "ended". Returns the exit status. */
static int print_change(const char *id, bool is_json, const Courier *courier, const Delivery *delivery, int r,
                        const char *done) {
        scoped(buffer_deinit) Buffer out = {};
        bool is_duplicate;

        if (r != 0)
                return delivery_failure_print(delivery, courier, r);

        is_duplicate = delivery->reply.status == STATUS_DUPLICATE;
        if (is_json)
                buffer_printf(&out, "{\"job\":\"%s\",\"%s\":true,\"duplicate\":%s}\n", id, done,
                              is_duplicate ? "true" : "false");
        else
                buffer_printf(&out, "job %s: %s%s\n", id, is_duplicate ? "already " : "", done);
        return output_print(&out);
}

/* --- job list --------------------------------------------------------------------------------- */

typedef struct JobListOptions {
        const char *state, *user, *name; /* NULL: all */
        OptionTexts labels;
        OptionNumber since_ns;
        uint64_t limit;
        bool failed, json;
} JobListOptions;

static void put_state(Grid *grid, const Value *job) {
        const char *state = answer_text(job, "state"), *slurm = answer_text(value_get(job, "slurm"), "state");
        char end[REPORT_EXIT_MAX];

        if (*slurm) {
                grid_whole(grid, slurm);
                grid_style(grid, report_format_exit(job, end));
                return;
        }
        grid_whole(grid, state);
        grid_style(grid, strcmp(state, "running") == 0       ? STYLE_GOOD
                         : strcmp(state, "interrupted") == 0 ? STYLE_WARN
                                                             : STYLE_DIM);
}

static void put_exit(Grid *grid, const Value *exit) {
        int64_t status;

        grid_number(grid, answer_number(exit, "status"));
        if (value_get_int(exit, "status", &status) && status != 0)
                grid_style(grid, STYLE_BAD);
}

static void fill_jobs(Grid *grid, const Value *jobs) {
        grid_init_heads(grid, "JOB|STATE|BEGAN|DURATION|>EXIT|USER|NAME");
        for (size_t i = 0; i < jobs->n_items; i++) {
                const Value *job = &jobs->items[i];
                uint64_t begin_ms = answer_time(job, "begin_ms"), end_ms = answer_time(job, "end_ms");
                const char *name = answer_text(job, "name");
                char duration[TEXT_MAX] = "-";

                if (end_ms == 0 && strcmp(answer_text(job, "state"), "running") == 0)
                        end_ms = clock_realtime_ns() / NS_PER_MS;
                if (end_ms > 0)
                        text_duration((end_ms > begin_ms ? end_ms - begin_ms : 0) * NS_PER_MS, duration);
                grid_whole(grid, answer_text(job, "id")); /* there to be copied */
                put_state(grid, job);
                grid_minute(grid, begin_ms);
                grid_whole(grid, duration);
                put_exit(grid, value_get(job, "exit"));
                grid_text(grid, answer_text(job, "user"));
                grid_text(grid, *name ? name : answer_text(job, "command"));
        }
}

/* Returns the name of a user who is given as a number, if the number has a name. */
static const char *find_user(const char *user, char name[static TEXT_MAX]) {
        uint64_t uid;

        name[0] = '\0';
        if (user && parse_u64(user, &uid) == 0 && uid <= UINT32_MAX)
                user_name_find((uid_t)uid, name, TEXT_MAX);
        return name[0] ? name : user;
}

static void put_path(const JobListOptions *options, Buffer *path) {
        char name[TEXT_MAX];

        buffer_printf(path, "/api/v1/jobs?limit=%ju", (uintmax_t)options->limit);
        api_query_put_path(path, "state", options->state);
        api_query_put_path(path, "user", find_user(options->user, name));
        api_query_put_path(path, "name", options->name);
        api_query_put_path(path, "failed", options->failed ? "true" : NULL);
        for (size_t i = 0; i < options->labels.n; i++)
                api_query_put_path(path, "label", options->labels.items[i]);
        if (options->since_ns.is_given)
                api_query_put_age(path, "since_ms", options->since_ns.value);
}

static int print_jobs(const CommandLine *line, const Value *jobs, bool is_filtered) {
        scoped(grid_deinit) Grid grid = {};

        if (answer_length(jobs) == 0) {
                message_print("no jobs%s", is_filtered ? " that meet all conditions" : "");
                return EXIT_DONE;
        }

        fill_jobs(&grid, jobs);
        return grid_print(&grid, line->global.no_color);
}

/* --- shared reports, on a machine without perfd ------------------------------------------------ */

static bool meets_conditions(const JobListOptions *options, const Value *job) {
        uint64_t age_ms = options->since_ns.value / NS_PER_MS, now_ms = clock_realtime_ns() / NS_PER_MS;
        const Value *labels = value_get(job, "labels");
        char end[REPORT_EXIT_MAX];

        for (size_t i = 0; i < options->labels.n; i++) {
                scoped(freep) char *key = strdup(options->labels.items[i]);
                char *value = key ? strchr(key, '=') : NULL;

                if (!value)
                        return false;
                *value++ = '\0';
                if (strcmp(answer_text(labels, key), value) != 0)
                        return false;
        }
        return (!options->state || strcmp(answer_text(job, "state"), options->state) == 0) &&
               (!options->name || strcmp(answer_text(job, "name"), options->name) == 0) &&
               (!options->failed || report_format_exit(job, end) == STYLE_BAD) &&
               (!options->since_ns.is_given || answer_time(job, "begin_ms") + age_ms >= now_ms);
}

/* Appends the job whose nodes are the next names, as a node reports it that knows its end. Returns 1 if appended. */
static size_t put_shared_job(const JobListOptions *options, const SharedReports *reports, size_t i, size_t n,
                             Buffer *jobs) {
        scoped(buffer_deinit) Buffer text = {};
        bool is_listed = false, has_end = false;

        for (size_t k = i; k < i + n && !has_end; k++) {
                scoped(buffer_deinit) Buffer read = {};
                scoped(arena_deinit) Arena arena = {};
                char end[REPORT_EXIT_MAX];
                const Value *job;
                ValueError error;
                Style style;

                if (!shared_reports_read(reports, k, &read) ||
                    value_parse_only(read.text, read.n, &arena, &job, &error) != 0 || job->type != VALUE_OBJECT)
                        continue;
                style = report_format_exit(job, end);
                has_end = style == STYLE_GOOD || style == STYLE_BAD;
                is_listed = meets_conditions(options, job);
                buffer_clear(&text);
                buffer_put(&text, read.text, read.n);
        }
        if (is_listed)
                buffer_printf(jobs, "%s%s", jobs->text[jobs->n - 1] == '[' ? "" : ",", text.text);
        return is_listed;
}

static int list_shared(const CommandLine *line, const char *directory) {
        scoped(shared_reports_deinit) SharedReports reports = SHARED_REPORTS_NONE;
        const JobListOptions *options = line->options;
        scoped(buffer_deinit) Buffer jobs = {};
        scoped(arena_deinit) Arena arena = {};
        const struct passwd *user = options->user ? getpwnam(options->user) : NULL;
        uint64_t uid = user ? user->pw_uid : geteuid();
        const Value *answer;
        ValueError error;
        int r;

        if (options->user && !user && (parse_u64(options->user, &uid) != 0 || uid >= UINT32_MAX))
                return command_refuse(line->command->name, "--user: no user '%s'", options->user);
        r = shared_reports_find(&reports, directory, (uid_t)uid, NULL);
        if (r < 0) {
                message_print("cannot read $PERFD_REPORTS %s: %s", directory, error_text(-r));
                return EXIT_FAILED;
        }

        buffer_puts(&jobs, "{\"jobs\":[");
        for (size_t i = 0, n, n_listed = 0; i < reports.n && n_listed < options->limit; i += n) {
                n = shared_reports_count_nodes(&reports, i);
                n_listed += put_shared_job(options, &reports, i, n, &jobs);
        }
        buffer_puts(&jobs, "]}\n");
        if (options->json)
                return output_print(&jobs);
        r = value_parse_only(jobs.text, jobs.n, &arena, &answer, &error);
        return r != 0 ? command_fail(r < 0 ? r : -EBADMSG) : print_jobs(line, value_get(answer, "jobs"), true);
}

static int job_list_run(const CommandLine *line) {
        const JobListOptions *options = line->options;
        const char *directory = shared_reports_directory();
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        int r;

        if (directory && !api_query_has_socket(&line->global))
                return list_shared(line, directory);

        put_path(options, &path);
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        if (value_get(query.answer, "others"))
                message_print("running jobs of others: %ju, which only they and administrators see",
                              (uintmax_t)answer_time(value_get(query.answer, "others"), "running"));
        return print_jobs(line, value_get(query.answer, "jobs"), strchr(path.text, '&'));
}

const Command cmd_job_list = {
        .name = "job list",
        .summary = "List jobs, newest first",
        .examples = { "perfctl job list", "perfctl job list --state running",
                      "perfctl job list --failed --since 1d --user alice", "perfctl job list --limit 3 --json" },
        COMMAND_OPTION_ROWS(JobListOptions,
                { "state", 0, "STATE", "List only jobs in this state", OPTION_NAME(JobListOptions, state, job_state_names) },
                { "failed", 0, NULL, "List only jobs that failed", OPTION_FLAG(JobListOptions, failed) },
                OPTION_ROW_USER(JobListOptions, user),
                OPTION_ROW_NAME(JobListOptions, name),
                OPTION_ROW_LABEL(JobListOptions, labels),
                OPTION_ROW_SINCE(JobListOptions, since_ns),
                { "limit", 0, "N", "Show at most N", OPTION_COUNT(JobListOptions, limit, 1, 1000), .initial = "50" },
                OPTION_ROW_JSON(JobListOptions, json)),
        .run = job_list_run,
};

/* --- job wait --------------------------------------------------------------------------------- */

#define WAIT_INTERVAL_MIN_NS (100 * NS_PER_MS)
#define WAIT_INTERVAL_MAX_NS NS_PER_S

typedef struct JobWaitOptions {
        uint64_t timeout_ns; /* 0: no limit */
} JobWaitOptions;

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
        COMMAND_OPTION_ROWS(JobWaitOptions,
                { "timeout", 't', "TIME", "Maximum time to wait", OPTION_DURATION(JobWaitOptions, timeout_ns, 0) }),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = job_wait_run,
};

/* --- job begin -------------------------------------------------------------------------------- */

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
                return option_refuse(option, value,
                                     "the name of a user of this machine, or a number from 0 to 4294967294", ret_error);
        uid->is_given = true;
        return 0;
}

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
        job_info_find_launcher(&launch);
        r = job_info_fill(&info, &job, &launch, NULL);
        if (r == 0)
                r = deliver_begin(
                        &courier,
                        &(JobBegin){ .info = &info, .has_uid = job.uid.is_given, .sample_ns = job.interval_ns },
                        &delivery);

        return print_change(id, options->json, &courier, &delivery, r, "begun");
}

const Command cmd_job_begin = {
        .name = "job begin",
        .arguments = "JOB",
        .summary = "Begin a job, for example in a scheduler's prolog",
        .help = "If the same user has already begun the job, the command changes nothing and succeeds. With --pid, "
                "the job counts as interrupted when that process ends before `job end`.",
        .examples = { "perfctl job begin --name train --pid $$ train-17" },
        COMMAND_OPTION_ROWS(JobBeginOptions,
                OPTION_INCLUDE(JobBeginOptions, job, JobOptions, job_options),
                { "pid", 0, "PID", "Process that represents the job", OPTION_COUNT(JobBeginOptions, job.pid, 1, INT32_MAX), .value = OPTION_VALUE_PID },
                { "user", 'u', "USER", "User, a name or a number", .parse = parse_user,
                  .offset = OPTION_PLACE(JobBeginOptions, job.uid, OptionNumber), .value = OPTION_VALUE_UID },
                OPTION_ROW_TIMEOUT(JobBeginOptions, timeout_ns),
                OPTION_ROW_JSON(JobBeginOptions, json)),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = job_begin_run,
};

/* --- job end ---------------------------------------------------------------------------------- */

typedef struct JobEndOptions {
        OptionNumber exit_status;
        uint64_t timeout_ns;
        bool json;
} JobEndOptions;

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
        return print_change(batch.ended_job, options->json, &courier, &delivery, r, "ended");
}

const Command cmd_job_end = {
        .name = "job end",
        .arguments = "JOB",
        .summary = "End a job, for example in a scheduler's epilog",
        .help = "Ending a job that has already ended changes nothing and succeeds.",
        .examples = { "perfctl job end --exit-status $? train-17" },
        COMMAND_OPTION_ROWS(JobEndOptions,
                { "exit-status", 0, "N", "Exit status of the job, 0 to 255", OPTION_NUMBER(JobEndOptions, exit_status, 0, 255) },
                OPTION_ROW_TIMEOUT(JobEndOptions, timeout_ns),
                OPTION_ROW_JSON(JobEndOptions, json)),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = job_end_run,
};
