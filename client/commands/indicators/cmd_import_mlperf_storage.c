/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>

#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/import/mlperf.h"

typedef struct ImportMlperfOptions {
        bool json;
} ImportMlperfOptions;

static const Option options_table[] = {
        OPTION_ROW_JSON(ImportMlperfOptions, json),
        {},
};

/* --- screen --------------------------------------------------------------------------------------- */

static void fill_number(Grid *grid, double v, unsigned n_decimals) {
        char text[48];

        if (isnan(v)) {
                grid_number(grid, v);
                return;
        }
        (void)snprintf(text, sizeof(text), "%.*f", (int)n_decimals, v);
        grid_right(grid, text);
}

static void fill_row(Grid *grid, const MlperfBlock *block) {
        grid_count(grid, block->rank);
        grid_count(grid, block->epoch);
        grid_text(grid, block->name);
        grid_count(grid, block->n_steps);
        fill_number(grid, block->utilization, 1);
        fill_number(grid, block->loading, 1);
        fill_number(grid, block->other, 1);
        fill_number(grid, block->outside, 1);
        fill_number(grid, block->first_step_s, 2);
}

static void write_spread(const MlperfSpread *spread, Screen *screen) {
        buffer_printf(screen->out, "Epoch %ju, ", (uintmax_t)spread->epoch);
        (void)screen_text(screen, spread->block);
        if (spread->n_ranks == 0)
                buffer_puts(screen->out, ": utilization not known\n");
        else
                buffer_printf(screen->out, ": mean %.1f %%, %.1f to %.1f %% over %zu rank%s, lowest on rank %ju\n", spread->mean,
                              spread->min, spread->max, spread->n_ranks, spread->n_ranks == 1 ? "" : "s", (uintmax_t)spread->min_rank);
}

static void write_reasons(const MlperfRun *run, Screen *screen) {
        for (size_t i = 0; i < run->n_blocks; i++) {
                const MlperfBlock *block = &run->blocks[i];

                if (!block->reason[0])
                        continue;
                buffer_printf(screen->out, "Rank %ju, epoch %ju, ", (uintmax_t)block->rank, (uintmax_t)block->epoch);
                (void)screen_text(screen, block->name);
                buffer_printf(screen->out, ": not known: %s\n", block->reason);
        }
}

static int write_screen(const MlperfRun *run, const MlperfSpread *spreads, size_t n_spreads, Screen *screen) {
        scoped(grid_deinit) Grid grid = {};
        int r;

        grid_init_heads(&grid, ">RANK|>EPOCH|BLOCK|>STEPS|>AU %|>LOADING %|>OTHER %|>OUTSIDE %|>FIRST STEP s");
        for (size_t i = 0; i < run->n_blocks; i++)
                fill_row(&grid, &run->blocks[i]);
        r = grid_write(&grid, screen, true);
        if (r < 0)
                return r;

        buffer_putc(screen->out, '\n');
        for (size_t i = 0; i < n_spreads; i++)
                write_spread(&spreads[i], screen);
        write_reasons(run, screen);
        if (run->n_accelerators > run->n_ranks)
                buffer_printf(screen->out, "Results of %zu of %ju accelerators.\n", run->n_ranks, (uintmax_t)run->n_accelerators);
        return 0;
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static void put_block(Json *json, const MlperfBlock *block) {
        json_object_begin(json);
        json_put_uint(json, "rank", block->rank);
        json_put_uint(json, "epoch", block->epoch);
        json_put_string(json, "block", block->name);
        json_put_uint(json, "steps", block->n_steps);
        json_put_double(json, "seconds", block->duration_s);
        json_put_double(json, "first_step_seconds", block->first_step_s);
        json_put_double(json, "first_load_seconds", block->first_load_s);
        json_put_double(json, "utilization_percent", block->utilization);
        json_put_double(json, "loading_percent", block->loading);
        json_put_double(json, "other_percent", block->other);
        json_put_double(json, "outside_percent", block->outside);
        if (block->reason[0])
                json_put_string(json, "reason", block->reason);
        json_object_end(json);
}

static void put_spread(Json *json, const MlperfSpread *spread) {
        json_object_begin(json);
        json_put_uint(json, "epoch", spread->epoch);
        json_put_string(json, "block", spread->block);
        json_put_uint(json, "ranks", spread->n_ranks);
        json_put_double(json, "min_percent", spread->min);
        json_put_double(json, "mean_percent", spread->mean);
        json_put_double(json, "max_percent", spread->max);
        if (spread->n_ranks > 0)
                json_put_uint(json, "min_rank", spread->min_rank);
        json_object_end(json);
}

static void write_json(const MlperfRun *run, const MlperfSpread *spreads, size_t n_spreads, Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_uint(&json, "ranks", run->n_ranks);
        if (run->n_accelerators > 0)
                json_put_uint(&json, "accelerators", run->n_accelerators);
        json_put_array_begin(&json, "blocks");
        for (size_t i = 0; i < run->n_blocks; i++)
                put_block(&json, &run->blocks[i]);
        json_array_end(&json);
        json_put_array_begin(&json, "spread");
        for (size_t i = 0; i < n_spreads; i++)
                put_spread(&json, &spreads[i]);
        json_array_end(&json);
        json_object_end(&json);
        buffer_putc(out, '\n');
}

/* --- the command ---------------------------------------------------------------------------------- */

static int print(const CommandLine *line, const MlperfRun *run) {
        const ImportMlperfOptions *options = line->options;
        scoped(freep) MlperfSpread *spreads = NULL;
        scoped(buffer_deinit) Buffer out = {};
        size_t n_spreads;
        Screen screen;
        int r;

        r = mlperf_run_spreads(run, &spreads, &n_spreads);
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        if (r == 0 && options->json)
                write_json(run, spreads, n_spreads, &out);
        else if (r == 0)
                r = write_screen(run, spreads, n_spreads, &screen);
        return r < 0 ? command_fail(r) : output_print(&out);
}

static int import_mlperf_storage_run(const CommandLine *line) {
        scoped(mlperf_run_deinit) MlperfRun run = {};
        int r;

        r = mlperf_run_read(&run, line->arguments[0]);
        if (r == EXIT_DONE && run.n_blocks == 0) {
                message_print("%s: no steps: an output file has them in proc, load and compute of each epoch", line->arguments[0]);
                r = EXIT_FAILED;
        }
        return r == EXIT_DONE ? print(line, &run) : r;
}

const Command cmd_import_mlperf_storage = {
        .name = "import mlperf-storage",
        .arguments = "DIRECTORY",
        .summary = "Show accelerator utilization of MLPerf Storage",
        .help = "Reads the result files of one run, 0_output.json and so on, and prints for each rank and epoch the shares of the time "
                "after the first step in which the accelerator computed (AU), waited for data, did something else in a step, or was in no "
                "step. Stores nothing, and does not need perfd.",
        .examples = { "perfctl import mlperf-storage results/unet3d_h100/run-1", "perfctl import mlperf-storage --json run-1" },
        COMMAND_OPTIONS(ImportMlperfOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_DIRECTORY,
        .run = import_mlperf_storage_run,
};
