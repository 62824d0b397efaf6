/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"
#include "client/wire/user.h"
#include "text/text.h"
#include "util/clock.h"
#include "util/parse.h"

typedef struct JobListOptions {
        const char *state, *user, *name; /* NULL: all */
        OptionTexts labels;
        OptionNumber since_ns;
        uint64_t limit;
        bool failed, json;
} JobListOptions;

static const Option options_table[] = {
        { "state", 0, "STATE", "List only jobs in this state", OPTION_NAME(JobListOptions, state, job_state_names) },
        { "failed", 0, NULL, "List only jobs that failed", OPTION_FLAG(JobListOptions, failed) },
        OPTION_ROW_USER(JobListOptions, user),
        OPTION_ROW_NAME(JobListOptions, name),
        OPTION_ROW_LABEL(JobListOptions, labels),
        OPTION_ROW_SINCE(JobListOptions, since_ns),
        { "limit", 0, "N", "Show at most N", OPTION_COUNT(JobListOptions, limit, 1, 1000), .initial = "50" },
        OPTION_ROW_JSON(JobListOptions, json),
        {},
};

static void put_state(Grid *grid, const char *state) {
        grid_whole(grid, state);
        grid_style(grid, strcmp(state, "running") == 0 ? STYLE_GOOD : strcmp(state, "interrupted") == 0 ? STYLE_WARN : STYLE_DIM);
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
                uint64_t begin_ms = answer_time(job, "begin_ms"), end_ms = answer_time(job, "end_ms") ?: clock_realtime_ns() / NS_PER_MS;
                const char *name = answer_text(job, "name");
                char duration[TEXT_MAX];

                text_duration((end_ms > begin_ms ? end_ms - begin_ms : 0) * NS_PER_MS, duration);
                grid_whole(grid, answer_text(job, "id")); /* there to be copied */
                put_state(grid, answer_text(job, "state"));
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
        indicator_path_put(path, "state", options->state);
        indicator_path_put(path, "user", find_user(options->user, name));
        indicator_path_put(path, "name", options->name);
        indicator_path_put(path, "failed", options->failed ? "true" : NULL);
        for (size_t i = 0; i < options->labels.n; i++)
                indicator_path_put(path, "label", options->labels.items[i]);
        if (options->since_ns.is_given)
                indicator_path_put_age(path, "since_ms", options->since_ns.value);
}

static int job_list_run(const CommandLine *line) {
        const JobListOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        scoped(grid_deinit) Grid grid = {};
        const Value *jobs;
        int r;

        put_path(options, &path);
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        jobs = value_get(query.answer, "jobs");
        if (answer_length(jobs) == 0) {
                message_print("no jobs%s", strchr(path.text, '&') ? " that meet all conditions" : "");
                return EXIT_DONE;
        }

        fill_jobs(&grid, jobs);
        return grid_print(&grid, line->global.no_color);
}

const Command cmd_job_list = {
        .name = "job list",
        .arguments = "",
        .summary = "List jobs, newest first",
        .help = "",
        .examples = { "perfctl job list", "perfctl job list --state running", "perfctl job list --failed --since 1d --user alice",
                      "perfctl job list --limit 3 --json" },
        COMMAND_OPTIONS(JobListOptions, options_table),
        .run = job_list_run,
};
