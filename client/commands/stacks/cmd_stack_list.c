/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"

#define DIGITS_SHOWN 16U

static void put_version(Grid *grid, const Value *facts, const char *key) {
        const Value *version = value_get(facts, key);
        scoped(buffer_deinit) Buffer text = {};

        buffer_printf(&text, "%s%s%s", answer_text(version, "name"), *answer_text(version, "name") ? " " : "",
                      answer_text(version, "version"));
        grid_text(grid, text.n > 0 && strcmp(text.text, " ") != 0 ? text.text : "-");
}

static int print_list(const Value *answer, const CommandLine *line) {
        const Value *stacks = value_get(answer, "stacks");
        scoped(grid_deinit) Grid grid = {};

        if (answer_length(stacks) == 0) {
                message_print("no result has a software stack");
                return EXIT_DONE;
        }
        grid_init_heads(&grid, "STACK|>RESULTS|>PACKAGES|OS|PYTHON|BASE IMAGE");
        for (size_t i = 0; i < answer_length(stacks); i++) {
                const Value *stack = &stacks->items[i], *facts = value_get(stack, "facts");
                char digits[DIGITS_SHOWN + 1] = "";

                strncat(digits, answer_text(stack, "digest"), DIGITS_SHOWN);
                grid_whole(&grid, digits);
                grid_count(&grid, answer_time(stack, "results"));
                grid_count(&grid, answer_time(stack, "n_packages"));
                put_version(&grid, facts, "os");
                put_version(&grid, facts, "python");
                grid_text(&grid, *answer_text(facts, "base_image") ? answer_text(facts, "base_image") : "-");
        }
        return grid_print(&grid, line->global.no_color);
}

static int stack_list_run(const CommandLine *line) {
        const JsonOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        int r;

        r = api_query_open(&query, &line->global, "/api/v1/stacks");
        if (r != EXIT_DONE)
                return r;
        return options->json ? api_query_print_json(&query) : print_list(query.answer, line);
}

const Command cmd_stack_list = {
        .name = "stack list",
        .arguments = "",
        .summary = "List software stacks, the newest first",
        .help = "A stack is the software with which results were measured, named by the first digits of its digest.",
        .examples = { "perfctl stack list" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .run = stack_list_run,
};
