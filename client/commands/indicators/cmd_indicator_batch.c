/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

static void fill_statistics(Grid *grid, const Value *statistics, const Value *units) {
        static const char *const keys[] = { "n", "median", "mean", "sd", "min", "max", "cov", "covm" };

        grid_init_heads(grid, "RESULT|UNIT|>n|>median|>mean|>sd|>min|>max|>cov|>covm");
        for (size_t i = 0; i < answer_n_members(statistics); i++) {
                grid_text(grid, statistics->members[i].key);
                grid_text(grid, units ? answer_text(units, statistics->members[i].key) : "");
                for (size_t k = 0; k < N_ELEMENTS(keys); k++)
                        grid_number(grid, answer_number(&statistics->members[i].value, keys[k]));
        }
}

static int write_batch(Screen *screen, const Value *batch) {
        const Value *failed = value_get(batch, "failed");
        scoped(grid_deinit) Grid grid = {};

        (void)screen_text(screen, answer_text(batch, "name"));
        buffer_putc(screen->out, ' ');
        (void)screen_text(screen, answer_text(batch, "component"));
        buffer_printf(screen->out, ": %.0f runs", answer_number_or_zero(batch, "n") + answer_number_or_zero(batch, "n_failed"));
        if (answer_length(failed) > 0)
                buffer_printf(screen->out, ", of which %zu failed", answer_length(failed));
        buffer_puts(screen->out, "\n\n");

        fill_statistics(&grid, value_get(batch, "statistics"), value_get(batch, "units"));
        if (grid_write(&grid, screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        for (size_t i = 0; i < answer_length(failed); i++)
                buffer_printf(screen->out, "Run %.0f failed with %.0f\n", answer_number_or_zero(&failed->items[i], "index"),
                              answer_number_or_zero(&failed->items[i], "exit_status"));
        return EXIT_DONE;
}

static int indicator_batch_run(const CommandLine *line) {
        const JsonOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer out = {}, path = {};
        Screen screen;
        int r;

        indicator_path_batch(&path, line->arguments[0]);
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        r = write_batch(&screen, query.answer);
        return r == EXIT_DONE ? output_print(&out) : r;
}

const Command cmd_indicator_batch = {
        .name = "indicator batch",
        .arguments = "ID",
        .summary = "Show statistics of a batch of runs",
        .help = "Statistics of each result and of the resources that the runs used. Failed runs are listed.",
        .examples = { "perfctl indicator batch 0123456789abcdef0123456789abcdef" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = indicator_batch_run,
};
