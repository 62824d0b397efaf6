/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/grid.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/cli/screen.h"
#include "client/commands/commands.h"
#include "client/sweep/sweep_plan.h"
#include "client/sweep/sweep_run.h"
#include "client/sweep/sweep_text.h"
#include "text/text.h"
#include "util/error_text.h"
#include "util/utf8.h"

typedef struct SweepOptions {
        const char *output, *name, *component, *component_version, *spool;
        bool dry_run, stop_on_failure, retry_failed, no_perfd;
} SweepOptions;

typedef struct SweepInput {
        const CommandLine *line;
        const SweepOptions *options;
        const char *file; /* as messages call it */
        Buffer text, specification_text;
        Arena arena, specification_arena;
        SweepPlan plan;
        SweepTree tree;
        const SweepRecord **records; /* of each point */
        char program[PATH_MAX];
        char name[SWEEP_NAME_MAX + 1];
} SweepInput;

static void sweep_input_deinit(SweepInput *input) {
        free(input->records);
        sweep_tree_deinit(&input->tree);
        sweep_plan_deinit(&input->plan);
        arena_deinit(&input->specification_arena);
        arena_deinit(&input->arena);
        buffer_deinit(&input->specification_text);
        buffer_deinit(&input->text);
}

/* --- the file ------------------------------------------------------------------------------------- */

/* Reads the file that the plan names as its specification; *ret stays NULL if it names none. Returns an exit status. */
static int read_specification(SweepInput *input, const Value *file, const Value **ret) {
        const char *path = value_get_string(file, "specification");
        int r;

        if (!path)
                return EXIT_DONE;
        r = input_read(path, &input->specification_text);
        if (r != EXIT_DONE)
                return r;
        r = arena_init(&input->specification_arena, input_arena_size(input->specification_text.n));
        if (r == 0)
                r = input_parse(&input->specification_text, path, &input->specification_arena, ret);
        if (r < 0)
                return command_fail(r);
        return r == 0 ? EXIT_DONE : EXIT_USAGE;
}

static int read_plan(SweepInput *input) {
        const Value *specification = NULL;
        SweepError error;
        const Value *file;
        int r, status;

        r = arena_init(&input->arena, input_arena_size(input->text.n) + sweep_plan_arena_size(input->text.n));
        if (r < 0)
                return command_fail(r);
        r = input_parse(&input->text, input->file, &input->arena, &file);
        if (r == 0 && (status = read_specification(input, file, &specification)) != EXIT_DONE)
                return status;
        if (r == 0) {
                r = sweep_plan_read(file, specification, &input->arena, &input->plan, &error);
                if (r == SWEEP_WRONG)
                        message_print("%s: %s", input->file, error.text);
                if (r == 0)
                        sweep_text_check_spelling(file, input->text.text, input->text.n, &input->plan.warnings);
        }
        if (r < 0)
                return command_fail(r);
        return r == 0 ? EXIT_DONE : EXIT_USAGE;
}

static void print_warnings(SweepInput *input) {
        char *rest = input->plan.warnings.text, *line;

        while ((line = strsep(&rest, "\n")))
                if (*line)
                        message_print("%s: %s", input->file, line);
}

/* A name of its own, else the file's without its ending. */
static void set_name(SweepInput *input) {
        const char *stem = basename(input->file), *dot = strrchr(stem, '.');
        size_t n = dot && dot > stem ? (size_t)(dot - stem) : strlen(stem);

        n = n > SWEEP_NAME_MAX ? SWEEP_NAME_MAX : n;
        memcpy(input->name, stem, n);
        input->name[n] = '\0';
        if (n == 0 || !utf8_is_line(input->name))
                strcpy(input->name, "sweep");
        if (input->options->name)
                input->plan.name = input->options->name;
        else if (!input->plan.name)
                input->plan.name = input->name;
}

static int read_file(SweepInput *input) {
        int r = input_read(input->line->arguments[0], &input->text);

        if (r == EXIT_DONE)
                r = read_plan(input);
        if (r != EXIT_DONE)
                return r;

        print_warnings(input);
        set_name(input);
        if (input->options->output)
                input->plan.output = input->options->output;
        if (input->plan.specification && input->options->no_perfd)
                return command_refuse("sweep", "%s",
                                      "--no-perfd: perfctl run runs the points of a specification, as jobs");
        if (input->plan.output)
                return EXIT_DONE;
        message_print("%s: missing output directory; add 'output: DIRECTORY' or use --output DIRECTORY", input->file);
        return EXIT_USAGE;
}

/* --- --dry-run ------------------------------------------------------------------------------------ */

static int add_point(Grid *grid, const SweepOrder *order, size_t i) {
        scoped(buffer_deinit) Buffer settings = {};
        char number[TEXT_MAX];

        (void)snprintf(number, sizeof(number), "%03zu", i + 1);
        sweep_plan_put_point(order->plan, &order->plan->points[i], &settings);
        grid_whole(grid, number);
        grid_text(grid, settings.text ?: "");
        grid_whole(grid, sweep_run_is_recorded(order, i) ? "recorded" : "to run");
        return buffer_error(&settings);
}

/* Writes the command of a point without `perfctl run`, which is the same for every point. */
static int put_command(const SweepOrder *order, size_t i, Screen *screen) {
        scoped(buffer_deinit) Buffer path = {}, words = {};
        int r;

        buffer_printf(&path, "%s/", order->tree->path ?: order->plan->output);
        if (order->records[i])
                buffer_puts(&path, order->records[i]->directory);
        else
                sweep_tree_put_directory(&path, order->plan, &order->plan->points[i], i + 1);
        if (buffer_error(&path) < 0)
                return -ENOMEM;
        r = sweep_run_put_command(order, i, path.text, &words);
        if (r < 0)
                return r;

        buffer_printf(screen->out, "Command of point %03zu: ", i + 1);
        (void)screen_text(screen, words.text ?: "");
        buffer_puts(screen->out, "\n\n");
        return 0;
}

static int put_points(const SweepOrder *order, size_t first, Screen *screen) {
        const SweepPlan *plan = order->plan;
        scoped(grid_deinit) Grid grid = {};
        int r = put_command(order, first, screen);

        grid_init_heads(&grid, "POINT|SETTINGS|STATE");
        for (size_t i = 0; r == 0 && i < plan->n_points; i++)
                r = add_point(&grid, order, i);
        return r == 0 ? grid_write(&grid, screen, isatty(STDOUT_FILENO) == 1) : r;
}

static int list_points(const SweepOrder *order) {
        size_t n = order->plan->n_points, n_recorded = 0, first = n;
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;
        int r;

        screen_init(&screen, &out, STDOUT_FILENO, order->no_color);
        for (size_t i = 0; i < n; i++)
                if (sweep_run_is_recorded(order, i))
                        n_recorded++;
                else if (first == n)
                        first = i;
        r = put_points(order, first < n ? first : 0, &screen);
        if (r < 0)
                return command_fail(r);
        buffer_printf(&out, "\n%zu point%s: %zu recorded, %zu to run\n", n, n == 1 ? "" : "s", n_recorded,
                      n - n_recorded);
        return output_print(&out);
}

/* --- the whole ------------------------------------------------------------------------------------ */

static int open_tree(SweepInput *input) {
        int r = sweep_tree_open(&input->tree, input->plan.output, !input->options->dry_run);

        if (r == SWEEP_TREE_BUSY)
                message_print("another sweep is running in %s; wait for it, or use another --output",
                              input->plan.output);
        if (r == 0)
                r = sweep_tree_match(&input->tree, &input->plan, &input->records);
        if (r < 0)
                message_print("cannot open %s: %s", input->plan.output, error_text(-r));
        return r == 0 ? EXIT_DONE : EXIT_FAILED;
}

/* Finds the path of this program, which runs each point. */
static int find_program(SweepInput *input) {
        ssize_t n = readlink("/proc/self/exe", input->program, sizeof(input->program) - 1);

        if (n < 0)
                return command_fail(-errno);
        input->program[n] = '\0';
        return EXIT_DONE;
}

static int sweep_command_run(const CommandLine *line) {
        const SweepOptions *options = line->options;
        scoped(sweep_input_deinit) SweepInput input = {
                .line = line, .options = options, .file = input_name(line->arguments[0]), .tree.fd = -1
        };
        SweepRecorder recorder = { .program = input.program, .socket = line->global.socket, .spool = options->spool,
                                  .component = options->component, .component_version = options->component_version };
        SweepOrder order = { .plan = &input.plan, .tree = &input.tree, .no_color = line->global.no_color };
        int r;

        r = read_file(&input);
        if (r == EXIT_DONE)
                r = open_tree(&input);
        if (r == EXIT_DONE)
                r = find_program(&input);
        if (r != EXIT_DONE)
                return r;

        order.records = input.records;
        order.recorder = options->no_perfd ? NULL : &recorder;
        order.stops_on_failure = options->stop_on_failure;
        order.retries_failed = options->retry_failed;
        return options->dry_run ? list_points(&order) : sweep_run(&order);
}

const Command cmd_sweep = {
        .name = "sweep",
        .arguments = "FILE",
        .summary = "Run a command with all combinations of settings",
        .help = "FILE is YAML or JSON. It contains the command with {setting} placeholders, or a specification whose "
                "fields are settings, the values of each setting, extra combinations, and combinations to exclude. "
                "Each combination is a point: a job with the settings as labels, and a directory with settings.yaml, "
                "stdout, stderr and, after the end, exit_code. Finished points are not run again: after Ctrl-C, the "
                "same command continues.",
        .examples = {
                "perfctl sweep --dry-run matmul.yaml",
                "perfctl sweep --output results matmul.yaml",
        },
        COMMAND_OPTION_ROWS(SweepOptions,
                OPTION_ROW_OUTPUT(SweepOptions, output, OPTION_VALUE_DIRECTORY),
                { "dry-run", 0, NULL, "List the points without running them", OPTION_FLAG(SweepOptions, dry_run) },
                { "stop-on-failure", 0, NULL, "Start no further point after a failed one", OPTION_FLAG(SweepOptions, stop_on_failure) },
                { "retry-failed", 0, NULL, "Run failed points again", OPTION_FLAG(SweepOptions, retry_failed) },
                { "no-perfd", 0, NULL, "Do not record points as jobs", OPTION_FLAG(SweepOptions, no_perfd) },
                OPTION_ROW_NAME(SweepOptions, name),
                OPTION_ROW_COMPONENT(SweepOptions, component),
                OPTION_ROW_COMPONENT_VERSION(SweepOptions, component_version),
                OPTION_ROW_SPOOL(SweepOptions, spool)),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_FILE,
        .run = sweep_command_run,
};
