/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

static int print_stack(const Value *answer, const CommandLine *line) {
        const Value *packages = value_get(answer, "packages");
        scoped(grid_deinit) Grid grid = {};
        scoped(buffer_deinit) Buffer head = {};
        Screen screen;

        screen_init(&screen, &head, STDOUT_FILENO, line->global.no_color);
        buffer_printf(&head, "Stack %s, %.0f results\n", answer_text(answer, "digest"), answer_number_or_zero(answer, "results"));
        grid_init_heads(&grid, "PACKAGE|KIND|VERSION|SOURCE|HASH|BUILD");
        for (size_t i = 0; i < answer_length(packages); i++) {
                static const char *const keys[] = { "name", "kind", "version", "source", "hash", "build" };

                for (size_t k = 0; k < N_ELEMENTS(keys); k++)
                        grid_value(&grid, value_get(&packages->items[i], keys[k]));
        }
        if (output_print(&head) != EXIT_DONE)
                return EXIT_FAILED;
        return grid_print(&grid, line->global.no_color);
}

static int stack_show_run(const CommandLine *line) {
        const JsonOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        int r;

        buffer_puts(&path, "/api/v1/stacks/");
        buffer_put_encoded(&path, line->arguments[0]);
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        return options->json ? api_query_print_json(&query) : print_stack(query.answer, line);
}

const Command cmd_stack_show = {
        .name = "stack show",
        .arguments = "DIGEST",
        .summary = "Show the packages of a software stack",
        .help = "",
        .examples = { "perfctl stack show 0f198928" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = stack_show_run,
};
