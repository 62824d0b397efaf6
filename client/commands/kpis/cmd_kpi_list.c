/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/api/kpi_exposition.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "document/display.h"

typedef struct KpiListOptions {
        const char *format;
} KpiListOptions;

static const Option options_table[] = {
        OPTION_ROW_FORMAT(KpiListOptions, format, "table", "openmetrics"),
        {},
};

/* Shows the value in the format of the model, otherwise with a readable number of digits. */
static void put_value(Grid *grid, const Value *declared, const Value *value) {
        const char *unit = value_get_string(declared, "unit"), *format = value_get_string(declared, "format");
        Display display = { .format = format, .divisor_unit = value_get_string(declared, "divisor_unit") };
        scoped(buffer_deinit) Buffer text = {};
        char figure[TEXT_MAX];

        (void)value_get_double(declared, "divisor", &display.divisor);
        if (!value_is_number(value) || (format && display_format_is_valid(format)))
                display_put(&display, unit, value, &text);
        else {
                text_figure(value_number(value), figure);
                buffer_printf(&text, "%s%s%s", figure, unit ? " " : "", unit ?: "");
        }
        grid_right(grid, text.text ?: "");
}

static void add_row(Grid *grid, const KpiSet *set, const KpiIndicator *indicator, const Member *declared) {
        const char *direction = value_get_string(&declared->value, "direction");
        scoped(buffer_deinit) Buffer name = {};
        const Value *value;
        uint64_t time_ms;

        value = kpi_set_latest(indicator, declared->key, &time_ms);
        if (!value)
                return;
        if (kpi_set_is_ambiguous(set, indicator, declared->key))
                buffer_printf(&name, "%s.", indicator->name);
        buffer_puts(&name, declared->key);
        grid_text(grid, name.text ?: "");
        put_value(grid, &declared->value, value);
        grid_text(grid, direction ?: "-");
        grid_text(grid, indicator->name);
        grid_minute(grid, time_ms);
}

static int print_table(const KpiSet *set, const CommandLine *line) {
        scoped(grid_deinit) Grid grid = {};
        size_t n_heads;

        grid_init_heads(&grid, "KPI|>VALUE|BETTER|MODEL|LATEST");
        n_heads = grid.n;
        for (size_t i = 0; i < set->n; i++)
                for (size_t k = 0; k < answer_n_members(set->indicators[i].declared); k++)
                        add_row(&grid, set, &set->indicators[i], &set->indicators[i].declared->members[k]);
        if (grid.n == n_heads) {
                message_print("no results of an indicator with a model; import some with perfctl import kpis");
                return EXIT_DONE;
        }
        return grid_print(&grid, line->global.no_color);
}

static int kpi_list_run(const CommandLine *line) {
        const KpiListOptions *options = line->options;
        bool is_table = strcmp(options->format, "table") == 0;
        scoped(kpi_set_deinit) KpiSet set = {};
        scoped(buffer_deinit) Buffer out = {};
        int r;

        r = kpi_set_open(&set, &line->global, KPI_RESULTS_MAX);
        if (r != EXIT_DONE)
                return r;
        if (is_table)
                return print_table(&set, line);

        kpi_exposition_write(&set, &out);
        return output_print(&out);
}

const Command cmd_kpi_list = {
        .name = "kpi list",
        .arguments = "",
        .summary = "List KPIs: results of indicators that have a model",
        .help = "Shows the newest value of each result. The name of a KPI is that of the result, preceded by the name of the model if "
                "several models have such a result. With --format openmetrics, prints the newest value of each set of labels, with the "
                "time of its result; labels that identify the run are left out.",
        .examples = { "perfctl kpi list", "perfctl kpi list --format openmetrics >kpis.txt" },
        COMMAND_OPTIONS(KpiListOptions, options_table),
        .run = kpi_list_run,
};
