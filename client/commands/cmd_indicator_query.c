/* SPDX-License-Identifier: Apache-2.0 */
/* perfctl indicator list, show, query: what is known of indicators. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/commands/perfctl.h"

#define GROUPS_LIMIT "10000" /* all that there may be */
#define MINUTE_COLUMNS 16U /* of a time */

static void grid_time(Grid *grid, uint64_t realtime_ms) {
        char text[TEXT_MAX];

        text_time(realtime_ms, text);
        if (realtime_ms > 0)
                text[MINUTE_COLUMNS] = '\0';
        grid_text(grid, text);
}

static int print_grid(const Grid *grid, const Options *options) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        if (grid_write(grid, &screen, isatty(STDOUT_FILENO) == 1) < 0) {
                say("Out of memory");
                return EXIT_FAILED;
        }
        return print_out(&out);
}

static size_t length_of(const Value *list) {
        return list && list->type == VALUE_LIST ? list->n_items : 0;
}

/* --- list ---------------------------------------------------------------------------------------- */

int cmd_indicator_list(const Options *options) {
        scoped(api_query_deinit) ApiQuery question = {};
        scoped(grid_deinit) Grid grid = {};
        const Value *indicators;
        int r;

        r = api_query_open(&question, options, "/api/v1/indicators");
        if (r != EXIT_DONE)
                return r;
        if (options_has(options, OPTION_JSON))
                return api_query_print_json(&question);

        indicators = value_get(question.answer, "indicators");
        if (length_of(indicators) == 0) {
                say("There are no results yet; perfctl submit and perfctl run store them");
                return EXIT_DONE;
        }

        grid_init(&grid, 4, 1);
        grid_text(&grid, "INDICATOR");
        grid_text(&grid, "COMPONENT");
        grid_right(&grid, "RESULTS");
        grid_text(&grid, "LATEST");
        for (size_t i = 0; i < indicators->n_items; i++) {
                const Value *indicator = &indicators->items[i];

                grid_text(&grid, text_get(indicator, "name"));
                grid_text(&grid, text_get(indicator, "component"));
                grid_count(&grid, time_get(indicator, "results"));
                grid_time(&grid, time_get(indicator, "latest_ms"));
        }
        return print_grid(&grid, options);
}

/* --- show ---------------------------------------------------------------------------------------- */

/* "GFLOP/s, higher is better", or what of that is declared. */
static void write_declared(Screen *screen, const Value *declared) {
        const char *unit = text_get(declared, "unit"), *direction = text_get(declared, "direction");
        scoped(buffer_deinit) Buffer text = {};

        if (!*unit && !*direction)
                return;

        buffer_printf(&text, "%s%s%s%s", unit, *unit && *direction ? ", " : "", direction, *direction ? " is better" : "");
        buffer_putc(screen->out, ' ');
        screen_styled(screen, STYLE_DIM, text.text ? text.text : "");
}

/* declared: what a model says of these members, or NULL. */
static void write_members(Screen *screen, const char *title, const Value *object, const Value *declared) {
        if (!object || object->type != VALUE_OBJECT || object->n_members == 0)
                return;

        screen_heading(screen, title);
        for (size_t i = 0; i < object->n_members; i++) {
                scoped(buffer_deinit) Buffer text = {};
                const Value *value = &object->members[i].value;
                size_t n;
                Json json;

                buffer_puts(screen->out, "  ");
                n = screen_text(screen, object->members[i].key);
                screen_pad(screen, n, 24);
                buffer_putc(screen->out, ' ');
                json_init(&json, &text);
                value_write_json(value, &json);
                (void)screen_text_cut(screen, value->type == VALUE_STRING ? value->string : text.text ? text.text : "",
                                      screen->width > 40 ? screen->width - 28 : 40);
                write_declared(screen, value_get(declared, object->members[i].key));
                buffer_putc(screen->out, '\n');
        }
}

static void fill_versions(Grid *grid, const Value *groups) {
        grid_init(grid, 6, 1);
        grid_text(grid, "COMPONENT");
        grid_text(grid, "VERSION");
        grid_right(grid, "RESULTS");
        grid_right(grid, "FAILED");
        grid_text(grid, "FIRST");
        grid_text(grid, "LATEST");
        for (size_t i = 0; i < length_of(groups); i++) {
                const Value *group = &groups->items[i], *key = value_get(group, "key");

                grid_value(grid, value_get(key, "component"));
                grid_value(grid, value_get(key, "version"));
                grid_count(grid, time_get(group, "n"));
                grid_count(grid, time_get(group, "n_failed"));
                grid_time(grid, time_get(group, "first_ms"));
                grid_time(grid, time_get(group, "last_ms"));
        }
}

/* What is declared of the indicator: of the component, else of any. NULL: nothing. */
static const Value *find_declaration(const Value *models, const char *name, const char *component) {
        const Value *of_any = NULL;

        for (size_t i = 0; i < length_of(models); i++) {
                const Value *model = &models->items[i];
                const char *of = value_get_string(model, "component");

                if (strcmp(text_get(model, "name"), name) != 0)
                        continue;
                if (of && strcmp(of, component) == 0)
                        return value_get(model, "declaration");
                if (!of)
                        of_any = value_get(model, "declaration");
        }
        return of_any;
}

/* models: all that perfd knows. */
static int show_latest(ApiQuery *question, const Value *models, const char *name, Screen *screen) {
        scoped(buffer_deinit) Buffer path = {};
        const Value *declaration;
        const Value *results, *document;
        char when[TEXT_MAX];
        int r;

        indicator_path_begin(&path, name, "results");
        buffer_puts(&path, "?limit=1");
        r = api_query_ask(question, path.text ? path.text : "/");
        results = value_get(question->answer, "results");
        if (r != EXIT_DONE || length_of(results) == 0)
                return r;

        document = value_get(&results->items[0], "document");
        text_time(time_get(&results->items[0], "time_ms"), when);
        buffer_printf(screen->out, "\nThe latest is of %s", when);
        if (number_get(&results->items[0], "exit_status") != 0)
                buffer_printf(screen->out, ": its run failed with %.0f", number_get(&results->items[0], "exit_status"));
        buffer_putc(screen->out, '\n');
        declaration = find_declaration(models, name, text_get(&results->items[0], "component"));
        write_members(screen, "Parameters", value_get(document, "@parameters"), value_get(declaration, "parameters"));
        write_members(screen, "Results", value_get(document, "@result"), value_get(declaration, "results"));
        return EXIT_DONE;
}

int cmd_indicator_show(const Options *options) {
        scoped(api_query_deinit) ApiQuery question = {}, models = {};
        scoped(buffer_deinit) Buffer out = {}, path = {};
        scoped(grid_deinit) Grid grid = {};
        const char *name = options->arguments[0];
        const Value *groups;
        Screen screen;
        int r;

        indicator_path_begin(&path, name, "query");
        buffer_puts(&path, "?group_by=component,version");
        r = api_query_open(&question, options, path.text ? path.text : "/");
        if (r != EXIT_DONE)
                return r;
        if (options_has(options, OPTION_JSON))
                return api_query_print_json(&question);

        groups = value_get(question.answer, "groups");
        if (length_of(groups) == 0) {
                say("There are no results of '%s'; perfctl indicator list has the names", name);
                return EXIT_FAILED;
        }

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        fill_versions(&grid, groups);
        if (grid_write(&grid, &screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        r = api_query_open(&models, options, "/api/v1/models");
        if (r == EXIT_DONE)
                r = show_latest(&question, value_get(models.answer, "models"), name, &screen);
        return r == EXIT_DONE ? print_out(&out) : r;
}

/* --- query --------------------------------------------------------------------------------------- */

static size_t members_of(const Value *object) {
        return object && object->type == VALUE_OBJECT ? object->n_members : 0;
}

static void fill_heads(Grid *grid, const Value *key, const Value *values, const Value *units) {
        for (size_t i = 0; i < members_of(key); i++)
                grid_key(grid, key->members[i].key);
        grid_right(grid, "N");
        grid_right(grid, "FAILED");
        for (size_t i = 0; i < members_of(values); i++)
                grid_right(grid, values->members[i].key);
        if (members_of(units) == 0)
                return;

        for (size_t i = 0; i < members_of(key) + 2; i++)
                grid_text(grid, "");
        for (size_t i = 0; i < members_of(values); i++)
                grid_right(grid, text_get(units, values->members[i].key));
}

static int print_groups(const Value *answer, const Options *options) {
        const Value *groups = value_get(answer, "groups"), *units = value_get(answer, "units");
        const Value *first = &groups->items[0];
        size_t n_columns = members_of(value_get(first, "key")) + 2 + members_of(value_get(first, "values"));
        scoped(grid_deinit) Grid grid = {};
        bool is_cut = false;
        int r;

        grid_init(&grid, n_columns, members_of(units) > 0 ? 2 : 1);
        fill_heads(&grid, value_get(first, "key"), value_get(first, "values"), units);
        for (size_t i = 0; i < groups->n_items; i++) {
                const Value *group = &groups->items[i], *key = value_get(group, "key"), *values = value_get(group, "values");

                for (size_t k = 0; k < members_of(key); k++)
                        grid_value(&grid, &key->members[k].value);
                grid_count(&grid, time_get(group, "n"));
                grid_count(&grid, time_get(group, "n_failed"));
                for (size_t k = 0; k < members_of(values); k++)
                        grid_number(&grid, number_find(values, values->members[k].key));
        }

        r = print_grid(&grid, options);
        is_cut = value_get(answer, "truncated") && value_get(answer, "truncated")->boolean;
        if (is_cut)
                say("These are %zu of %" PRIu64 " groups; select less with --where, or group by less", groups->n_items,
                    time_get(answer, "n_groups"));
        return r;
}

int cmd_indicator_query(const Options *options) {
        const char *format = options_has(options, OPTION_JSON) ? "json" : options->format ?: "table";
        scoped(api_query_deinit) ApiQuery question = {};
        scoped(buffer_deinit) Buffer path = {};
        bool is_csv = strcmp(format, "csv") == 0, is_json = strcmp(format, "json") == 0;
        int r;

        if (!is_csv && !is_json && strcmp(format, "table") != 0) {
                say("--format is '%.80s': expected table, json or csv", format);
                return EXIT_USAGE;
        }

        indicator_path_begin(&path, options->arguments[0], "query");
        indicator_path_select(&path, options);
        indicator_path_put(&path, "group_by", options->group_by);
        indicator_path_put(&path, "stat", options->stat);
        indicator_path_put(&path, "format", is_csv ? "csv" : NULL);
        indicator_path_put(&path, "limit", is_json ? GROUPS_LIMIT : NULL); /* a page says it is cut, which nobody reads in a pipe */
        r = api_query_init(&question, options);
        if (r != EXIT_DONE)
                return r;

        r = is_csv ? api_query_ask_text(&question, path.text ? path.text : "/") : api_query_ask(&question, path.text ? path.text : "/");
        if (r != EXIT_DONE)
                return r;
        if (is_csv)
                return print_lines_out(&question.body);
        if (is_json)
                return api_query_print_json(&question);
        if (length_of(value_get(question.answer, "groups")) == 0) {
                say("%s", text_get(question.answer, "note"));
                return EXIT_DONE;
        }
        return print_groups(question.answer, options);
}
