/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "client/api/answer.h"
#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

#define DIGITS_SHOWN 16U

typedef struct IndicatorStackOptions {
        SelectionOptions selection;
        const char *runs;
        bool json;
} IndicatorStackOptions;

static const Option options_table[] = {
        OPTION_INCLUDE(IndicatorStackOptions, selection, SelectionOptions, selection_options),
        { "runs", 0, "NAME", "diff: compare successful and failed runs of an indicator", OPTION_TEXT(IndicatorStackOptions, runs),
          .value = OPTION_VALUE_INDICATOR },
        OPTION_ROW_JSON(IndicatorStackOptions, json),
        {},
};

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

/* Two stacks have a column each; runs have the number of good and of failed runs with each value. */
static int print_diff(const Value *answer, const CommandLine *line, bool is_of_runs) {
        const Value *differ = value_get(answer, "differ");
        scoped(grid_deinit) Grid grid = {};

        if (answer_time(answer, "differ_left_out") > 0)
                message_print("not compared: the software stacks of %" PRIu64 " runs, which are too many: select fewer results",
                              answer_time(answer, "differ_left_out"));
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

typedef enum StackVerb { STACK_LIST, STACK_SHOW, STACK_DIFF, STACK_DIFF_RUNS } StackVerb;

/* Writes the path of the query. False: the arguments do not fit. */
static bool read_arguments(const CommandLine *line, StackVerb *ret, Buffer *path) {
        const IndicatorStackOptions *options = line->options;
        int n = line->n_arguments - 1;
        const char *verb = line->arguments[0];

        if (strcmp(verb, "diff") == 0 && options->runs && n == 0) {
                *ret = STACK_DIFF_RUNS;
                indicator_path_begin(path, options->runs, "stacks");
                indicator_path_select(path, &options->selection);
                return true;
        }
        if (options->runs)
                return false;
        buffer_puts(path, "/api/v1/stacks");
        if (n > 0) {
                buffer_putc(path, '/');
                buffer_put_encoded(path, line->arguments[1]);
        }
        *ret = n == 0 ? STACK_LIST : n == 1 ? STACK_SHOW : STACK_DIFF;
        if (n == 2) {
                buffer_puts(path, "/diff");
                indicator_path_put(path, "to", line->arguments[2]);
        }
        return strcmp(verb, n == 0 ? "list" : n == 1 ? "show" : "diff") == 0;
}

static int indicator_stack_run(const CommandLine *line) {
        const IndicatorStackOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        StackVerb verb;
        int r;

        if (!read_arguments(line, &verb, &path))
                return command_refuse("indicator stack", "%s", "expected list, show DIGEST, diff DIGEST DIGEST, or diff --runs NAME");
        r = api_query_open(&query, &line->global, path.text);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        switch (verb) {
        case STACK_LIST:
                return print_list(query.answer, line);
        case STACK_SHOW:
                return print_stack(query.answer, line);
        case STACK_DIFF:
        case STACK_DIFF_RUNS:
                return print_diff(query.answer, line, verb == STACK_DIFF_RUNS);
        }
        return EXIT_FAILED;
}

const Command cmd_indicator_stack = {
        .name = "indicator stack",
        .arguments = "list|show|diff [DIGEST…]",
        .summary = "List, show and compare software stacks",
        .help = "A stack is the software with which results were measured, named by the first digits of its digest. diff compares two "
                "stacks or, with --runs, the stacks of successful and of failed runs.",
        .examples = {
                "perfctl indicator stack list",
                "perfctl indicator stack diff 0f198928 cce4fa95",
                "perfctl indicator stack diff --runs PiMatmul",
        },
        COMMAND_OPTIONS(IndicatorStackOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 3,
        .run = indicator_stack_run,
};
