/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/commands/commands.h"
#include "client/commands/node/user_id.h"

typedef struct QuotaOptions {
        const char *user;
        bool all, json;
} QuotaOptions;

/* Writes a time, or "never". */
static void put_minute(Grid *grid, const Value *held, const char *key) {
        if (value_get_given(held, key))
                grid_minute(grid, answer_time(held, key));
        else
                grid_text(grid, "never");
}

static int print_user(const Value *answer, bool no_color) {
        const Value *totals = value_get(answer, "resources"), *user = &value_get(answer, "users")->items[0];
        const Value *resources = value_get(user, "resources");
        scoped(grid_deinit) Grid grid = {};

        grid_init_heads(&grid, "RESOURCE|>HELD|>SHARE|>LIMIT OF ALL|>USERS|>REFUSED|LAST REFUSED");
        for (size_t i = 0; i < answer_length(resources); i++) {
                const Value *held = &resources->items[i],
                            *total = answer_find(totals, "name", answer_text(held, "name"));

                grid_text(&grid, answer_text(held, "name"));
                grid_count(&grid, answer_time(held, "held"));
                grid_count(&grid, answer_time(held, "share"));
                grid_count(&grid, answer_time(total, "limit"));
                grid_count(&grid, answer_time(total, "users"));
                grid_count(&grid, answer_time(held, "refused"));
                put_minute(&grid, held, "refused_last_ms");
        }
        return grid_print(&grid, no_color);
}

static void fill_user(Grid *grid, const Value *user) {
        const Value *resources = value_get(user, "resources");

        for (size_t i = 0; i < answer_length(resources); i++) {
                const Value *held = &resources->items[i];

                if (answer_time(held, "held") + answer_time(held, "refused") == 0)
                        continue;
                grid_text(grid, answer_text(user, "user"));
                grid_text(grid, answer_text(held, "name"));
                grid_count(grid, answer_time(held, "held"));
                grid_count(grid, answer_time(held, "share"));
                grid_count(grid, answer_time(held, "refused"));
                put_minute(grid, held, "refused_first_ms");
                put_minute(grid, held, "refused_last_ms");
        }
}

static int print_users(const Value *answer, bool no_color) {
        const Value *users = value_get(answer, "users");
        scoped(grid_deinit) Grid grid = {};

        grid_init_heads(&grid, "USER|RESOURCE|>HELD|>SHARE|>REFUSED|SINCE|LAST REFUSED");
        for (size_t i = 0; i < answer_length(users); i++)
                fill_user(&grid, &users->items[i]);
        return grid_print(&grid, no_color);
}

static int quota_run(const CommandLine *line) {
        const QuotaOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        char path[64] = "/api/v1/quota";
        uint64_t uid;
        int r;

        if (options->all && options->user)
                return command_refuse(line->command->name, "--all and --user cannot be combined");
        r = user_id_find(options->user, &uid);
        if (r != 0)
                return r;
        if (!options->all)
                (void)snprintf(path, sizeof(path), "/api/v1/quota?uid=%ju", (uintmax_t)uid);

        r = api_query_open(&query, &line->global, path);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);
        return options->all ? print_users(query.answer, line->global.no_color)
                            : print_user(query.answer, line->global.no_color);
}

const Command cmd_quota = {
        .name = "quota",
        .summary = "Show resource usage and shares of users",
        .help = "A share is the largest amount that a user may hold at the current usage of the other users. A "
                "request beyond the share is refused. Administrators have no share.",
        .examples = { "perfctl quota", "perfctl quota --user ci", "perfctl quota --all" },
        COMMAND_OPTION_ROWS(QuotaOptions,
                OPTION_ROW_USER(QuotaOptions, user),
                { "all", 'a', NULL, "Show all users who hold resources or whose requests were refused", OPTION_FLAG(QuotaOptions, all) },
                OPTION_ROW_JSON(QuotaOptions, json)),
        .run = quota_run,
};
