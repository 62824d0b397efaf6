/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/cli/text.h"
#include "client/commands/commands.h"
#include "util/clock.h"

#define ID_COLUMNS 16U
#define STATE_COLUMNS 11U
#define TIME_COLUMNS 16U /* to the minute */
#define DURATION_COLUMNS 11U
#define EXIT_COLUMNS 4U
#define USER_COLUMNS 10U
#define FIXED_COLUMNS (ID_COLUMNS + STATE_COLUMNS + TIME_COLUMNS + DURATION_COLUMNS + EXIT_COLUMNS + 5U * 2U)

typedef struct JobListOptions {
        const char *state; /* NULL: all */
        uint64_t limit;
        bool json;
} JobListOptions;

static const Option options_table[] = {
        { "state", 0, "STATE", "List only jobs in this state", OPTION_CHOICE(JobListOptions, state, "running", "finished", "interrupted") },
        { "limit", 0, "N", "Show at most N, newest first", OPTION_COUNT(JobListOptions, limit, 1, 1000), .initial = "50" },
        OPTION_ROW_JSON(JobListOptions, json),
        {},
};

typedef struct JobListLayout {
        bool has_user; /* the screen is wide enough for the user */
        bool is_cut;   /* lines end at the width of the screen */
} JobListLayout;

static JobListLayout choose_layout(const Screen *screen) {
        bool is_cut = isatty(STDOUT_FILENO) == 1;

        return (JobListLayout){ .has_user = !is_cut || screen->width >= FIXED_COLUMNS + USER_COLUMNS + 20, .is_cut = is_cut };
}

static void put_cell(Screen *screen, const char *text, size_t n_columns) {
        size_t n = screen_text(screen, text);

        screen_pad(screen, n, n_columns);
        buffer_puts(screen->out, "  ");
}

static void put_state(Screen *screen, const char *state) {
        screen_style_begin(screen, strcmp(state, "running") == 0 ? STYLE_GOOD : strcmp(state, "interrupted") == 0 ? STYLE_WARN : STYLE_DIM);
        put_cell(screen, state, STATE_COLUMNS);
        screen_style_end(screen);
}

static void put_exit(Screen *screen, const Value *job) {
        int64_t status;
        char text[24] = "-";

        if (!value_get_int(value_get(job, "exit"), "status", &status))
                status = 0;
        else
                snprintf(text, sizeof(text), "%jd", (intmax_t)status);

        if (status != 0)
                screen_style_begin(screen, STYLE_BAD);
        put_cell(screen, text, EXIT_COLUMNS);
        if (status != 0)
                screen_style_end(screen);
}

static void put_name(Screen *screen, const Value *job, JobListLayout layout) {
        const char *name = answer_text(job, "name");
        size_t taken = FIXED_COLUMNS + (layout.has_user ? USER_COLUMNS + 2 : 0);
        size_t n_columns = layout.is_cut && screen->width > taken ? screen->width - taken : layout.is_cut ? 1 : SIZE_MAX;

        (void)screen_text_cut(screen, *name ? name : answer_text(job, "command"), n_columns);
}

static void write_row(Screen *screen, const Value *job, JobListLayout layout) {
        uint64_t begin_ms = answer_time(job, "begin_ms"), end_ms = answer_time(job, "end_ms");
        char text[TEXT_MAX];

        if (end_ms == 0)
                end_ms = clock_realtime_ns() / NS_PER_MS;

        /* Ids are there to be copied: they are never cut. */
        put_cell(screen, answer_text(job, "id"), ID_COLUMNS);
        put_state(screen, answer_text(job, "state"));
        text_time(begin_ms, text);
        text[TIME_COLUMNS] = '\0';
        put_cell(screen, text, TIME_COLUMNS);
        text_duration((end_ms > begin_ms ? end_ms - begin_ms : 0) * NS_PER_MS, text);
        put_cell(screen, text, DURATION_COLUMNS);
        put_exit(screen, job);
        if (layout.has_user)
                put_cell(screen, answer_text(job, "user"), USER_COLUMNS);
        put_name(screen, job, layout);
        buffer_putc(screen->out, '\n');
}

static void write_jobs(Screen *screen, const Value *jobs) {
        JobListLayout layout = choose_layout(screen);

        screen_style_begin(screen, STYLE_BOLD);
        put_cell(screen, "JOB", ID_COLUMNS);
        put_cell(screen, "STATE", STATE_COLUMNS);
        put_cell(screen, "BEGAN", TIME_COLUMNS);
        put_cell(screen, "DURATION", DURATION_COLUMNS);
        put_cell(screen, "EXIT", EXIT_COLUMNS);
        if (layout.has_user)
                put_cell(screen, "USER", USER_COLUMNS);
        buffer_puts(screen->out, "NAME");
        screen_style_end(screen);
        buffer_putc(screen->out, '\n');

        for (size_t i = 0; i < jobs->n_items; i++)
                write_row(screen, &jobs->items[i], layout);
}

static int job_list_run(const CommandLine *line) {
        const JobListOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer out = {};
        const Value *jobs;
        Screen screen;
        char path[96];
        int r;

        snprintf(path, sizeof(path), "/api/v1/jobs?limit=%ju%s%s", (uintmax_t)options->limit, options->state ? "&state=" : "",
                 options->state ?: "");
        r = api_query_open(&query, &line->global, path);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        jobs = value_get(query.answer, "jobs");
        if (answer_length(jobs) == 0) {
                message_print("no %s%sjobs", options->state ?: "", options->state ? " " : "");
                return EXIT_DONE;
        }

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        write_jobs(&screen, jobs);
        return output_print(&out);
}

const Command cmd_job_list = {
        .name = "job list",
        .arguments = "",
        .summary = "List jobs, newest first",
        .help = "",
        .examples = { "perfctl job list", "perfctl job list --state running", "perfctl job list --limit 3 --json" },
        COMMAND_OPTIONS(JobListOptions, options_table),
        .run = job_list_run,
};
