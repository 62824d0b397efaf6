/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

/* --- stack list ------------------------------------------------------------------------------- */

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
        api_query_say_cut(&query, "stacks");
        return options->json ? api_query_print_json(&query) : print_list(query.answer, line);
}

const Command cmd_stack_list = {
        .name = "stack list",
        .summary = "List software stacks, the newest first",
        .help = "A stack is the software with which results were measured, named by the first digits of its digest.",
        .examples = { "perfctl stack list" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .run = stack_list_run,
};

/* --- stack show ------------------------------------------------------------------------------- */

static int print_stack(const Value *answer, const CommandLine *line) {
        const Value *packages = value_get(answer, "packages");
        scoped(grid_deinit) Grid grid = {};
        scoped(buffer_deinit) Buffer head = {};
        Screen screen;

        screen_init(&screen, &head, STDOUT_FILENO, line->global.no_color);
        buffer_printf(&head, "Stack %s, %.0f results\n", answer_text(answer, "digest"),
                      answer_number_or_zero(answer, "results"));
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
        .examples = { "perfctl stack show 0f198928" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = stack_show_run,
};

/* --- stack diff ------------------------------------------------------------------------------- */

typedef struct StackDiffOptions {
        SelectionOptions selection;
        const char *runs;
        bool json;
} StackDiffOptions;

/* Two stacks have a column each; runs have the number of good and of failed runs with each value. */
static int print_diff(const Value *answer, const CommandLine *line, bool is_of_runs) {
        const Value *differ = value_get(answer, "differ");
        scoped(grid_deinit) Grid grid = {};

        if (answer_time(answer, "differ_excluded") > 0)
                message_print("not compared: the software stacks of %" PRIu64
                              " runs, which are too many: select fewer results",
                              answer_time(answer, "differ_excluded"));
        if (answer_length(differ) == 0) {
                message_print(is_of_runs ? "the runs have no software stacks that differ" : "the stacks do not differ");
                return EXIT_DONE;
        }
        grid_init_heads(&grid, is_of_runs ? "KEY|VALUE|>GOOD|>FAILED" : "KEY|FIRST|SECOND");
        for (size_t i = 0; i < answer_length(differ); i++) {
                const Value *values = value_get(&differ->items[i], "values");
                const char *first = "-", *second = "-";

                for (size_t k = 0; k < answer_length(values); k++) {
                        const Value *value = &values->items[k], *text = value_get_given(value, "value");

                        if (is_of_runs) {
                                grid_text(&grid, answer_text(&differ->items[i], "key"));
                                grid_value(&grid, text);
                                grid_count(&grid, answer_time(value, "results"));
                                grid_count(&grid, answer_time(value, "failed"));
                                continue;
                        }
                        if (text && answer_time(value, "results") > 0)
                                first = text->string;
                        if (text && answer_time(value, "failed") > 0)
                                second = text->string;
                }
                if (is_of_runs)
                        continue;
                grid_text(&grid, answer_text(&differ->items[i], "key"));
                grid_text(&grid, first);
                grid_text(&grid, second);
        }
        return grid_print(&grid, line->global.no_color);
}

static int stack_diff_run(const CommandLine *line) {
        const StackDiffOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        int r;

        if (line->n_arguments != (options->runs ? 0 : 2))
                return command_refuse("stack diff", "%s", "expected DIGEST DIGEST or --runs NAME");
        if (options->runs) {
                api_query_begin_path(&path, options->runs, "stacks");
                api_query_select_path(&path, &options->selection);
        } else {
                buffer_puts(&path, "/api/v1/stacks/");
                buffer_put_encoded(&path, line->arguments[0]);
                buffer_puts(&path, "/diff");
                api_query_put_path(&path, "to", line->arguments[1]);
        }
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        return options->json ? api_query_print_json(&query) : print_diff(query.answer, line, options->runs);
}

const Command cmd_stack_diff = {
        .name = "stack diff",
        .arguments = "[DIGEST DIGEST]",
        .summary = "Compare software stacks",
        .help = "Compares two stacks or, with --runs, the stacks of successful and of failed runs.",
        .examples = { "perfctl stack diff 0f198928 cce4fa95", "perfctl stack diff --runs PiMatmul" },
        COMMAND_OPTION_ROWS(StackDiffOptions,
                OPTION_INCLUDE(StackDiffOptions, selection, SelectionOptions, selection_options),
                { "runs", 0, "NAME", "Compare stored runs, of which this is the name", OPTION_TEXT(StackDiffOptions, runs),
                  .value = OPTION_VALUE_INDICATOR },
                OPTION_ROW_JSON(StackDiffOptions, json)),
        .n_arguments_max = 2,
        .run = stack_diff_run,
};
