/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

#define GROUPS_LIMIT "10000" /* the most that perfd returns */

typedef struct IndicatorQueryOptions {
        SelectionOptions selection;
        OptionTexts by, stat;
        const char *format;
        bool json;
} IndicatorQueryOptions;

static const Option options_table[] = {
        OPTION_INCLUDE(IndicatorQueryOptions, selection, SelectionOptions, selection_options),
        OPTION_ROW_BY(IndicatorQueryOptions, by, "group_by"),
        { "stat", 's', "STAT:RESULT,…", "Statistics, such as median:rate,p95:elapsed", OPTION_LIST(IndicatorQueryOptions, stat) },
        OPTION_ROW_FORMAT(IndicatorQueryOptions, format, "table", "json", "csv"),
        OPTION_ROW_JSON(IndicatorQueryOptions, json),
        {},
};

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
                const Value *group = &groups->items[i], *key = value_get(group, "key"), *values = value_get(group, "values");

                for (size_t k = 0; k < answer_n_members(key); k++)
                        grid_value(&grid, &key->members[k].value);
                grid_count(&grid, answer_time(group, "n"));
                grid_count(&grid, answer_time(group, "n_failed"));
                for (size_t k = 0; k < answer_n_members(values); k++)
                        grid_number(&grid, answer_number(values, values->members[k].key));
        }

        r = grid_print(&grid, line->global.no_color);
        if (answer_flag(answer, "truncated"))
                message_print("showing %zu of %" PRIu64 " groups; narrow them with --where, or group by fewer keys", groups->n_items,
                    answer_time(answer, "n_groups"));
        return r;
}

static int indicator_query_run(const CommandLine *line) {
        const IndicatorQueryOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        bool is_csv = strcmp(options->format, "csv") == 0, is_json = options->json || strcmp(options->format, "json") == 0;
        int r;

        indicator_path_begin(&path, line->arguments[0], "query");
        indicator_path_select(&path, &options->selection);
        indicator_path_put_list(&path, "group_by", &options->by);
        indicator_path_put_list(&path, "stat", &options->stat);
        indicator_path_put(&path, "format", is_csv && !is_json ? "csv" : NULL);
        /* JSON goes to programs, which would not notice a truncated page. */
        indicator_path_put(&path, "limit", is_json ? GROUPS_LIMIT : NULL);
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
        .help = "Statistics are n, mean, median, sd, standard_error, min, max, q1, q3, iqr, cov, covm, skew and p0 to p100, of a "
                "result or of overall_score. Failed runs are counted separately. A KEY is a parameter, component, version or "
                "hardware.",
        .examples = {
                "perfctl indicator query PiMatmul -w size=512 -b component -s median:rate",
                "perfctl indicator query PiMatmul --since 30d --stat median:rate,p95:elapsed",
                "perfctl indicator query PiMatmul -b dtype -s mean:rate -f csv > rates.csv",
        },
        COMMAND_OPTIONS(IndicatorQueryOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_INDICATOR,
        .run = indicator_query_run,
};
