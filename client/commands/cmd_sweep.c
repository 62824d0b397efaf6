/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "client/cli/document.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/commands/perfctl.h"
#include "client/sweep/sweep_command.h"
#include "client/sweep/sweep_layout.h"
#include "client/sweep/sweep_plan.h"
#include "client/sweep/sweep_run.h"
#include "client/sweep/sweep_spelling.h"
#include "util/utf8.h"

typedef struct Asked {
        const Options *options;
        const char *file; /* as messages call it */
        Buffer text;
        Arena arena;
        SweepPlan plan;
        SweepTree tree;
        char program[PATH_MAX];
        char name[SWEEP_NAME_MAX + 1];
} Asked;

static void asked_deinit(Asked *asked) {
        sweep_tree_deinit(&asked->tree);
        sweep_plan_deinit(&asked->plan);
        arena_deinit(&asked->arena);
        buffer_deinit(&asked->text);
}

static int tell(int error) {
        say("%s", strerrordesc_np(-error));
        return EXIT_FAILED;
}

/* --- the file ------------------------------------------------------------------------------------- */

static size_t length(const char *text) {
        return text ? strlen(text) : 0;
}

static int read_plan(Asked *asked) {
        const Options *options = asked->options;
        size_t n = asked->text.n + length(options->launcher) + length(options->node_list);
        SweepError error;
        const Value *file;
        int r;

        r = arena_init(&asked->arena, document_arena_size(asked->text.n) + sweep_plan_arena_size(n));
        if (r < 0)
                return tell(r);
        r = document_parse(&asked->text, asked->file, &asked->arena, &file);
        if (r == 0) {
                r = sweep_plan_read(file, options->launcher, options->node_list, &asked->arena, &asked->plan, &error);
                if (r == SWEEP_WRONG)
                        say("%s: %s", asked->file, error.text);
                if (r == 0)
                        sweep_spelling_check(file, asked->text.text, asked->text.n, &asked->plan.warnings);
        }
        if (r < 0)
                return tell(r);
        return r == 0 ? EXIT_DONE : EXIT_USAGE;
}

static void tell_warnings(Asked *asked) {
        char *rest = asked->plan.warnings.text, *line;

        while ((line = strsep(&rest, "\n")))
                if (*line)
                        say("%s: %s", asked->file, line);
}

/* A name of its own, else the file's without its ending. */
static void set_name(Asked *asked) {
        const char *slash = strrchr(asked->file, '/'), *stem = slash ? slash + 1 : asked->file, *dot = strrchr(stem, '.');
        size_t n = dot && dot > stem ? (size_t)(dot - stem) : strlen(stem);

        n = n > SWEEP_NAME_MAX ? SWEEP_NAME_MAX : n;
        memcpy(asked->name, stem, n);
        asked->name[n] = '\0';
        if (n == 0 || !utf8_is_line(asked->name))
                strcpy(asked->name, "sweep");
        if (asked->options->name)
                asked->plan.name = asked->options->name;
        else if (!asked->plan.name)
                asked->plan.name = asked->name;
}

static int read_file(Asked *asked) {
        int r = input_read(asked->options->arguments[0], &asked->text);

        if (r == 0)
                r = buffer_error(&asked->text);
        if (r < 0) {
                say("Cannot read %s: %s", asked->file, strerrordesc_np(-r));
                return EXIT_FAILED;
        }
        r = read_plan(asked);
        if (r != EXIT_DONE)
                return r;

        tell_warnings(asked);
        set_name(asked);
        if (asked->options->output)
                asked->plan.output = asked->options->output;
        if (asked->plan.output)
                return EXIT_DONE;
        say("%s: output: is not there: say where results go, with 'output: DIRECTORY' or --output DIRECTORY", asked->file);
        return EXIT_USAGE;
}

/* --- --dry-run ------------------------------------------------------------------------------------ */

static int put_point(const SweepOrder *order, size_t i, Buffer *out) {
        const SweepPoint *point = &order->plan->points[i];
        const char *node = order->plan->n_nodes > 0 ? order->plan->nodes[i % order->plan->n_nodes] : NULL;
        scoped(sweep_command_deinit) SweepCommand command = {};
        scoped(buffer_deinit) Buffer path = {}, words = {};
        const SweepRecord *record;
        Screen screen = { .out = out };
        bool is_recorded;
        int r;

        r = sweep_is_recorded(order, point, &is_recorded, &record);
        if (r < 0)
                return r;
        buffer_printf(&path, "%s/", order->tree->path ?: order->plan->output);
        if (record)
                buffer_puts(&path, record->directory);
        else
                sweep_layout_put_directory(&path, order->plan, point, i + 1);
        if (buffer_error(&path) < 0)
                return -ENOMEM;

        /* Without perfd: what is run for it is the same for every point. */
        r = sweep_command_make(&command, order->plan, point, i + 1, node, path.text, NULL, order->options);
        if (r < 0)
                return r;
        sweep_command_put(&command, &words);
        if (buffer_error(&words) < 0)
                return -ENOMEM;
        buffer_printf(out, "%s  %s  ", strrchr(path.text, '/') + 1, is_recorded ? "recorded" : "to run");
        (void)screen_text(&screen, words.text ?: "");
        buffer_putc(out, '\n');
        return buffer_error(out);
}

static int list_points(const SweepOrder *order) {
        scoped(buffer_deinit) Buffer out = {};

        for (size_t i = 0; i < order->plan->n_points; i++) {
                int r = put_point(order, i, &out);

                if (r < 0)
                        return tell(r);
        }
        return print_out(&out);
}

/* --- the whole ------------------------------------------------------------------------------------ */

static int open_tree(Asked *asked) {
        int r = sweep_tree_open(&asked->tree, asked->plan.output, !options_has(asked->options, OPTION_DRY_RUN));

        if (r == SWEEP_TREE_BUSY)
                say("Another sweep is at work in %s: wait for it, or give another --output", asked->plan.output);
        else if (r < 0)
                say("Cannot open %s: %s", asked->plan.output, strerrordesc_np(-r));
        return r == 0 ? EXIT_DONE : EXIT_FAILED;
}

/* By its path, since a launcher may run it on another node, where it is installed alike. */
static int find_program(Asked *asked) {
        ssize_t n = readlink("/proc/self/exe", asked->program, sizeof(asked->program) - 1);

        if (n < 0)
                return tell(-errno);
        asked->program[n] = '\0';
        return EXIT_DONE;
}

int cmd_sweep(const Options *options) {
        scoped(asked_deinit) Asked asked = { .options = options, .file = input_name(options->arguments[0]), .tree.fd = -1 };
        SweepOrder order = { .options = options, .plan = &asked.plan, .tree = &asked.tree };
        int r;

        r = read_file(&asked);
        if (r == EXIT_DONE)
                r = open_tree(&asked);
        if (r == EXIT_DONE)
                r = find_program(&asked);
        if (r != EXIT_DONE)
                return r;

        order.program = options_has(options, OPTION_NO_PERFD) ? NULL : asked.program;
        order.keeps_going = !options->stops_at_failure;
        order.retries_failed = options_has(options, OPTION_RETRY_FAILED);
        order.n_jobs = options->n_jobs > 0 ? options->n_jobs : asked.plan.n_nodes > 0 ? asked.plan.n_nodes : 1;
        if (order.n_jobs > SWEEP_JOBS_MAX)
                order.n_jobs = SWEEP_JOBS_MAX;
        return options_has(options, OPTION_DRY_RUN) ? list_points(&order) : sweep_run(&order);
}
