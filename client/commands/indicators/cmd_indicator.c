/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

/* --- indicator list --------------------------------------------------------------------------- */

static int indicator_list_run(const CommandLine *line) {
        const JsonOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(grid_deinit) Grid grid = {};
        const Value *indicators;
        int r;

        r = api_query_open(&query, &line->global, "/api/v1/indicators");
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        indicators = value_get(query.answer, "indicators");
        if (answer_length(indicators) == 0) {
                message_print("no results; store some with perfctl submit or perfctl run");
                return EXIT_DONE;
        }

        grid_init_heads(&grid, "INDICATOR|COMPONENT|>RESULTS|LATEST");
        for (size_t i = 0; i < indicators->n_items; i++) {
                const Value *indicator = &indicators->items[i];

                grid_text(&grid, answer_text(indicator, "name"));
                grid_text(&grid, answer_text(indicator, "component"));
                grid_count(&grid, answer_time(indicator, "results"));
                grid_minute(&grid, answer_time(indicator, "latest_ms"));
        }
        api_query_say_cut(&query, "indicators");
        return grid_print(&grid, line->global.no_color);
}

const Command cmd_indicator_list = {
        .name = "indicator list",
        .summary = "List indicators that have results",
        .examples = { "perfctl indicator list" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .run = indicator_list_run,
};

/* --- indicator show --------------------------------------------------------------------------- */

typedef struct IndicatorShowOptions {
        const char *batch;
        bool json;
} IndicatorShowOptions;

/* Writes " GFLOP/s, higher is better", or the declared part of this text. */
static void write_declared(Screen *screen, const Value *declared) {
        const char *unit = answer_text(declared, "unit"), *direction = answer_text(declared, "direction");
        scoped(buffer_deinit) Buffer text = {};

        if (strcmp(direction, "none") == 0)
                direction = "";
        if (!*unit && !*direction)
                return;

        buffer_printf(&text, "%s%s%s%s%s", *unit ? " " : "", unit, *direction ? ", " : "", direction,
                      *direction ? " is better" : "");
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
static void write_members(Screen *screen, const char *title, const Value *object, const Value *declared,
                          bool is_measured) {
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
static int show_latest(const CommandLine *line, ApiQuery *query, const Value *models, const char *name,
                       Screen *screen) {
        scoped(buffer_deinit) Buffer path = {};
        const Value *declaration;
        const Value *results, *document;
        const char *specification;
        char when[TEXT_MAX];
        int r;

        api_query_begin_path(&path, name, "results");
        buffer_puts(&path, "?limit=1");
        r = api_query_ask_path(query, &path);
        results = value_get(query->answer, "results");
        if (r != EXIT_DONE || answer_length(results) == 0)
                return r;

        document = value_get(&results->items[0], "document");
        text_time(answer_time(&results->items[0], "time_ms"), when);
        buffer_printf(screen->out, "\nLatest result: %s", when);
        if (answer_number_or_zero(&results->items[0], "exit_status") != 0)
                buffer_printf(screen->out, ", failed with exit status %.0f",
                              answer_number_or_zero(&results->items[0], "exit_status"));
        buffer_putc(screen->out, '\n');
        declaration = answer_find_declaration(models, name, answer_text(&results->items[0], "component"));
        write_members(screen, "Parameters", value_get(document, "@parameters"), value_get(declaration, "parameters"),
                      false);
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
        buffer_printf(screen->out, ": %.0f runs",
                      answer_number_or_zero(batch, "n") + answer_number_or_zero(batch, "n_failed"));
        if (answer_length(failed) > 0)
                buffer_printf(screen->out, ", of which %zu failed", answer_length(failed));
        buffer_puts(screen->out, "\n\n");

        fill_statistics(&grid, value_get(batch, "statistics"), value_get(batch, "units"));
        if (grid_write(&grid, screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        for (size_t i = 0; i < answer_length(failed); i++)
                buffer_printf(screen->out, "Run %.0f failed with %.0f\n",
                              answer_number_or_zero(&failed->items[i], "index"),
                              answer_number_or_zero(&failed->items[i], "exit_status"));
        return EXIT_DONE;
}

static int show_batch(const CommandLine *line, const IndicatorShowOptions *options) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer out = {}, path = {};
        Screen screen;
        int r;

        api_query_batch_path(&path, options->batch);
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

        api_query_begin_path(&path, name, "query");
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
        .help = "Shows the versions of an indicator and its latest result or, with --batch, statistics of the "
                "results of a batch of runs and of the resources that they used.",
        .examples = { "perfctl indicator show PiMatmul",
                      "perfctl indicator show --batch 0123456789abcdef0123456789abcdef" },
        COMMAND_OPTION_ROWS(IndicatorShowOptions,
                { "batch", 0, "ID", "Show statistics of a batch of runs", OPTION_TEXT(IndicatorShowOptions, batch) },
                OPTION_ROW_JSON(IndicatorShowOptions, json)),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_INDICATOR,
        .run = indicator_show_run,
};

/* --- indicator query -------------------------------------------------------------------------- */

#define GROUPS_LIMIT "10000" /* the most that perfd returns */

typedef struct IndicatorQueryOptions {
        SelectionOptions selection;
        OptionTexts by, stat;
        const char *format;
        bool json;
} IndicatorQueryOptions;

static void fill_heads(Grid *grid, const Value *key, const Value *values, const Value *units) {
        for (size_t i = 0; i < answer_n_members(key); i++)
                grid_key(grid, key->members[i].key);
        grid_right(grid, "N");
        grid_right(grid, "FAILED");
        for (size_t i = 0; i < answer_n_members(values); i++)
                grid_right(grid, values->members[i].key);
        if (answer_n_members(units) == 0)
                return;

        for (size_t i = 0; i < answer_n_members(key) + 2; i++)
                grid_text(grid, "");
        for (size_t i = 0; i < answer_n_members(values); i++)
                grid_right(grid, answer_text(units, values->members[i].key));
}

static int print_groups(const Value *answer, const CommandLine *line) {
        const Value *groups = value_get(answer, "groups"), *units = value_get(answer, "units");
        const Value *first = &groups->items[0];
        size_t n_columns = answer_n_members(value_get(first, "key")) + 2 + answer_n_members(value_get(first, "values"));
        scoped(grid_deinit) Grid grid = {};
        int r;

        grid_init(&grid, n_columns, answer_n_members(units) > 0 ? 2 : 1);
        fill_heads(&grid, value_get(first, "key"), value_get(first, "values"), units);
        for (size_t i = 0; i < groups->n_items; i++) {
                const Value *group = &groups->items[i], *key = value_get(group, "key"),
                            *values = value_get(group, "values");

                for (size_t k = 0; k < answer_n_members(key); k++)
                        grid_value(&grid, &key->members[k].value);
                grid_count(&grid, answer_time(group, "n"));
                grid_count(&grid, answer_time(group, "n_failed"));
                for (size_t k = 0; k < answer_n_members(values); k++)
                        grid_number(&grid, answer_number(values, values->members[k].key));
        }

        r = grid_print(&grid, line->global.no_color);
        if (answer_flag(answer, "truncated"))
                message_print("showing %zu of %" PRIu64 " groups; narrow them with --where, or group by fewer keys",
                              groups->n_items, answer_time(answer, "n_groups"));
        return r;
}

static int indicator_query_run(const CommandLine *line) {
        const IndicatorQueryOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        bool is_csv = strcmp(options->format, "csv") == 0,
             is_json = options->json || strcmp(options->format, "json") == 0;
        int r;

        api_query_begin_path(&path, line->arguments[0], "query");
        api_query_select_path(&path, &options->selection);
        api_query_put_path_list(&path, "group_by", &options->by);
        api_query_put_path_list(&path, "stat", &options->stat);
        api_query_put_path(&path, "format", is_csv && !is_json ? "csv" : NULL);
        /* JSON goes to programs, which would not notice a truncated page. */
        api_query_put_path(&path, "limit", is_json ? GROUPS_LIMIT : NULL);
        r = api_query_init(&query, &line->global);
        if (r != EXIT_DONE)
                return r;

        if (buffer_error(&path) < 0)
                return command_fail(-ENOMEM);
        r = is_csv ? api_query_ask_text(&query, path.text) : api_query_ask(&query, path.text);
        if (r != EXIT_DONE)
                return r;
        if (is_csv)
                return output_print_lines(&query.body);
        if (is_json)
                return api_query_print_json(&query);
        if (answer_length(value_get(query.answer, "groups")) == 0) {
                message_print("%s", answer_text(query.answer, "note"));
                return EXIT_DONE;
        }
        return print_groups(query.answer, line);
}

const Command cmd_indicator_query = {
        .name = "indicator query",
        .arguments = "NAME",
        .summary = "Compute statistics of an indicator's results",
        .help = "Statistics are n, mean, median, sd, standard_error, min, max, q1, q3, iqr, cov, covm, skew and p0 "
                "to p100, of a result or of overall_score. Failed runs are counted separately. A KEY is a parameter, "
                "component, version or hardware.",
        .examples = {
                "perfctl indicator query PiMatmul -w size=512 -b component -s median:rate",
                "perfctl indicator query PiMatmul --since 30d --stat median:rate,p95:elapsed",
                "perfctl indicator query PiMatmul -b dtype -s mean:rate -f csv > rates.csv",
        },
        COMMAND_OPTION_ROWS(IndicatorQueryOptions,
                OPTION_INCLUDE(IndicatorQueryOptions, selection, SelectionOptions, selection_options),
                OPTION_ROW_BY(IndicatorQueryOptions, by, "group_by"),
                { "stat", 's', "STAT:RESULT,…", "Statistics, such as median:rate,p95:elapsed", OPTION_LIST(IndicatorQueryOptions, stat) },
                OPTION_ROW_FORMAT(IndicatorQueryOptions, format, "table", "json", "csv"),
                OPTION_ROW_JSON(IndicatorQueryOptions, json)),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_INDICATOR,
        .run = indicator_query_run,
};
