/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

typedef struct IndicatorShowOptions {
        const char *batch;
        bool json;
} IndicatorShowOptions;

static const Option options_table[] = {
        { "batch", 0, "ID", "Show statistics of a batch of runs", OPTION_TEXT(IndicatorShowOptions, batch) },
        OPTION_ROW_JSON(IndicatorShowOptions, json),
        {},
};

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

/* --- batch ---------------------------------------------------------------------------------------- */

/* Linux does not count some fields of getrusage(2), and others are 0 for most programs. */
static bool is_unused(const Member *statistics) {
        return strncmp(statistics->key, "ru_", 3) == 0 && answer_number(&statistics->value, "min") == 0 &&
               answer_number(&statistics->value, "max") == 0;
}

static void fill_statistics(Grid *grid, const Value *statistics, const Value *units) {
        static const char *const keys[] = { "n", "median", "mean", "sd", "min", "max", "cov", "covm" };

        grid_init_heads(grid, "RESULT|UNIT|>n|>median|>mean|>sd|>min|>max|>cov|>covm");
        for (size_t i = 0; i < answer_n_members(statistics); i++) {
                if (is_unused(&statistics->members[i]))
                        continue;
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

static int show_batch(const CommandLine *line, const IndicatorShowOptions *options) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer out = {}, path = {};
        Screen screen;
        int r;

        indicator_path_batch(&path, options->batch);
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        r = write_batch(&screen, query.answer);
        return r == EXIT_DONE ? output_print(&out) : r;
}

/* --- indicator ------------------------------------------------------------------------------------- */

static int show_indicator(const CommandLine *line, const IndicatorShowOptions *options) {
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

static int indicator_show_run(const CommandLine *line) {
        const IndicatorShowOptions *options = line->options;

        if (line->n_arguments != (options->batch ? 0 : 1))
                return command_refuse("indicator show", "%s", "expected NAME or --batch ID");
        return options->batch ? show_batch(line, options) : show_indicator(line, options);
}

const Command cmd_indicator_show = {
        .name = "indicator show",
        .arguments = "[NAME]",
        .summary = "Show versions and the latest result of an indicator, or a batch of runs",
        .help = "Shows the versions of an indicator and its latest result or, with --batch, statistics of the results of a batch of runs "
                "and of the resources that they used.",
        .examples = { "perfctl indicator show PiMatmul", "perfctl indicator show --batch 0123456789abcdef0123456789abcdef" },
        COMMAND_OPTIONS(IndicatorShowOptions, options_table),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_INDICATOR,
        .run = indicator_show_run,
};
