/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

/* Writes " GFLOP/s, higher is better", or the declared part of this text. */
static void write_declared(Screen *screen, const Value *declared) {
        const char *unit = answer_text(declared, "unit"), *direction = answer_text(declared, "direction");
        scoped(buffer_deinit) Buffer text = {};

        if (strcmp(direction, "none") == 0)
                direction = "";
        if (!*unit && !*direction)
                return;

        buffer_printf(&text, "%s%s%s%s%s", *unit ? " " : "", unit, *direction ? ", " : "", direction, *direction ? " is better" : "");
        screen_styled(screen, STYLE_DIM, text.text ? text.text : "");
}

/* Writes a measured number for people, and a parameter as a condition of a query has to name it. */
static void put_value(Buffer *out, const Value *value, bool is_measured) {
        char text[TEXT_MAX];

        if (value->type == VALUE_STRING)
                buffer_puts(out, value->string);
        else if (is_measured && value_is_number(value)) {
                text_figure(value->type == VALUE_INT ? (double)value->integer : value->number, text);
                buffer_puts(out, text);
        } else
                value_write_json(value, &(Json){ .out = out });
}

/* declared: the declarations of these members in a model, or NULL. */
static void write_members(Screen *screen, const char *title, const Value *object, const Value *declared, bool is_measured) {
        if (!object || object->type != VALUE_OBJECT || object->n_members == 0)
                return;

        screen_heading(screen, title);
        for (size_t i = 0; i < object->n_members; i++) {
                scoped(buffer_deinit) Buffer text = {};
                size_t n;

                buffer_puts(screen->out, "  ");
                n = screen_text(screen, object->members[i].key);
                screen_pad(screen, n, 24);
                buffer_putc(screen->out, ' ');
                put_value(&text, &object->members[i].value, is_measured);
                (void)screen_text_cut(screen, text.text ? text.text : "", screen->width > 40 ? screen->width - 28 : 40);
                write_declared(screen, value_get(declared, object->members[i].key));
                buffer_putc(screen->out, '\n');
        }
}

/* Writes the numbers that the model computed from the result, and why there is none. */
static void write_derived(Screen *screen, const Value *derived, const Value *declared) {
        if (!derived || derived->type != VALUE_OBJECT || derived->n_members == 0)
                return;

        screen_heading(screen, "Derived");
        for (size_t i = 0; i < derived->n_members; i++) {
                const Value *value = value_get_given(&derived->members[i].value, "value");
                const char *reason = value_get_string(&derived->members[i].value, "reason");
                scoped(buffer_deinit) Buffer text = {};

                buffer_puts(screen->out, "  ");
                screen_pad(screen, screen_text(screen, derived->members[i].key), 24);
                buffer_putc(screen->out, ' ');
                if (value)
                        put_value(&text, value, true);
                else
                        buffer_printf(&text, "none: %s", reason ?: "");
                (void)screen_text_cut(screen, text.text ? text.text : "", screen->width > 40 ? screen->width - 28 : 40);
                if (value)
                        write_declared(screen, value_get(declared, derived->members[i].key));
                buffer_putc(screen->out, '\n');
        }
}

static void fill_versions(Grid *grid, const Value *groups) {
        grid_init_heads(grid, "COMPONENT|VERSION|>RESULTS|>FAILED|FIRST|LATEST");
        for (size_t i = 0; i < answer_length(groups); i++) {
                const Value *group = &groups->items[i], *key = value_get(group, "key");

                grid_value(grid, value_get(key, "component"));
                grid_value(grid, value_get(key, "version"));
                grid_count(grid, answer_time(group, "n"));
                grid_count(grid, answer_time(group, "n_failed"));
                grid_minute(grid, answer_time(group, "first_ms"));
                grid_minute(grid, answer_time(group, "last_ms"));
        }
}

/* Finds the declaration of the indicator for the component, else for any. NULL: none. */
static const Value *find_declaration(const Value *models, const char *name, const char *component) {
        const Value *of_any = NULL;

        for (size_t i = 0; i < answer_length(models); i++) {
                const Value *model = &models->items[i];
                const char *of = value_get_string(model, "component");

                if (strcmp(answer_text(model, "name"), name) != 0 || !answer_model_applies(model))
                        continue;
                if (of && strcmp(of, component) == 0)
                        return value_get(model, "declaration");
                if (!of)
                        of_any = value_get(model, "declaration");
        }
        return of_any;
}

/* Shows the specification of the result. */
static int show_specification(const CommandLine *line, const char *digest, Screen *screen) {
        scoped(api_query_deinit) ApiQuery query = {};
        char path[128];
        int r;

        (void)snprintf(path, sizeof(path), "/api/v1/specifications/%.64s", digest);
        r = api_query_open(&query, &line->global, path);
        if (r == EXIT_DONE)
                write_members(screen, "Specification", value_get(query.answer, "specification"), NULL, false);
        return r;
}

/* models: all that perfd knows. */
static int show_latest(const CommandLine *line, ApiQuery *query, const Value *models, const char *name, Screen *screen) {
        scoped(buffer_deinit) Buffer path = {};
        const Value *declaration;
        const Value *results, *document;
        const char *specification;
        char when[TEXT_MAX];
        int r;

        indicator_path_begin(&path, name, "results");
        buffer_puts(&path, "?limit=1");
        r = api_query_ask_path(query, &path);
        results = value_get(query->answer, "results");
        if (r != EXIT_DONE || answer_length(results) == 0)
                return r;

        document = value_get(&results->items[0], "document");
        text_time(answer_time(&results->items[0], "time_ms"), when);
        buffer_printf(screen->out, "\nLatest result: %s", when);
        if (answer_number_or_zero(&results->items[0], "exit_status") != 0)
                buffer_printf(screen->out, ", failed with exit status %.0f", answer_number_or_zero(&results->items[0], "exit_status"));
        buffer_putc(screen->out, '\n');
        declaration = find_declaration(models, name, answer_text(&results->items[0], "component"));
        write_members(screen, "Parameters", value_get(document, "@parameters"), value_get(declaration, "parameters"), false);
        write_members(screen, "Results", value_get(document, "@result"), value_get(declaration, "results"), true);
        write_derived(screen, value_get(&results->items[0], "derived"), value_get(declaration, "results"));
        specification = value_get_string(&results->items[0], "specification");
        return specification ? show_specification(line, specification, screen) : EXIT_DONE;
}

static int indicator_show_run(const CommandLine *line) {
        const JsonOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {}, models = {};
        scoped(buffer_deinit) Buffer out = {}, path = {};
        scoped(grid_deinit) Grid grid = {};
        const char *name = line->arguments[0];
        const Value *groups;
        Screen screen;
        int r;

        indicator_path_begin(&path, name, "query");
        buffer_puts(&path, "?group_by=component,version");
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        groups = value_get(query.answer, "groups");
        if (answer_length(groups) == 0) {
                message_print("no results of '%s'; for the names see 'perfctl indicator list'", name);
                return EXIT_FAILED;
        }

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        fill_versions(&grid, groups);
        if (grid_write(&grid, &screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        r = api_query_open(&models, &line->global, "/api/v1/models");
        if (r == EXIT_DONE)
                r = show_latest(line, &query, value_get(models.answer, "models"), name, &screen);
        return r == EXIT_DONE ? output_print(&out) : r;
}

const Command cmd_indicator_show = {
        .name = "indicator show",
        .arguments = "NAME",
        .summary = "Show versions and the latest result of an indicator",
        .help = "",
        .examples = { "perfctl indicator show PiMatmul" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_INDICATOR,
        .run = indicator_show_run,
};
