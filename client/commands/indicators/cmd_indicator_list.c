/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"

static int indicator_list_run(const CommandLine *line) {
        const JsonOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(grid_deinit) Grid grid = {};
        const Value *indicators;
        int r;

        r = api_query_open(&query, &line->global, "/api/v1/indicators");
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        indicators = value_get(query.answer, "indicators");
        if (answer_length(indicators) == 0) {
                message_print("no results; store some with perfctl submit or perfctl run");
                return EXIT_DONE;
        }

        grid_init_heads(&grid, "INDICATOR|COMPONENT|>RESULTS|LATEST");
        for (size_t i = 0; i < indicators->n_items; i++) {
                const Value *indicator = &indicators->items[i];

                grid_text(&grid, answer_text(indicator, "name"));
                grid_text(&grid, answer_text(indicator, "component"));
                grid_count(&grid, answer_time(indicator, "results"));
                grid_minute(&grid, answer_time(indicator, "latest_ms"));
        }
        return grid_print(&grid, line->global.no_color);
}

const Command cmd_indicator_list = {
        .name = "indicator list",
        .arguments = "",
        .summary = "List indicators that have results",
        .help = "",
        .examples = { "perfctl indicator list" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .run = indicator_list_run,
};
