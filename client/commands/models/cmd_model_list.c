/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"

static const char *component_of(const Value *model) {
        const char *component = value_get_string(model, "component");

        return component ? component : "any";
}

/* Number of stored results that the model describes: of its component, or of all. */
static uint64_t count_results(const Value *indicators, const Value *model) {
        const char *component = value_get_string(model, "component");
        uint64_t n = 0;

        for (size_t i = 0; i < answer_length(indicators); i++) {
                const Value *indicator = &indicators->items[i];

                if (strcmp(answer_text(indicator, "name"), answer_text(model, "name")) == 0 &&
                    (!component || strcmp(answer_text(indicator, "component"), component) == 0))
                        n += answer_time(indicator, "results");
        }

        return n;
}

static void put_origin(Grid *grid, const Value *model) {
        const char *file = value_get_string(model, "file");
        const Value *of_user = value_get(model, "applies_to_uid");
        char text[80];

        (void)snprintf(text, sizeof(text), "registered by user %ju%s", (uintmax_t)answer_time(model, "uid"),
                       of_user && of_user->type != VALUE_NULL ? ", own results only" : "");
        grid_text(grid, file ? file : text);
}

static void fill_models(Grid *grid, const Value *models, const Value *indicators) {
        grid_init_heads(grid, "INDICATOR|COMPONENT|>PARAMETERS|>RESULTS|>STORED|DECLARED IN");
        for (size_t i = 0; i < models->n_items; i++) {
                const Value *model = &models->items[i], *declaration = value_get(model, "declaration");

                grid_text(grid, answer_text(model, "name"));
                grid_text(grid, component_of(model));
                grid_count(grid, answer_n_members(value_get(declaration, "parameters")));
                grid_count(grid, answer_n_members(value_get(declaration, "results")));
                grid_count(grid, count_results(indicators, model));
                put_origin(grid, model);
        }
}

static int model_list_run(const CommandLine *line) {
        const JsonOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {}, counts = {};
        scoped(grid_deinit) Grid grid = {};
        const Value *models;
        int r;

        r = api_query_open(&query, &line->global, "/api/v1/models");
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        models = value_get(query.answer, "models");
        if (answer_length(models) == 0) {
                message_print("no models; see perfd-indicators(5)");
                return EXIT_DONE;
        }

        r = api_query_open(&counts, &line->global, "/api/v1/indicators");
        if (r != EXIT_DONE)
                return r;
        fill_models(&grid, models, value_get(counts.answer, "indicators"));
        return grid_print(&grid, line->global.no_color);
}

const Command cmd_model_list = {
        .name = "model list",
        .arguments = "",
        .summary = "List indicator models",
        .help = "",
        .examples = { "perfctl model list", "perfctl model list --json" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .run = model_list_run,
};
