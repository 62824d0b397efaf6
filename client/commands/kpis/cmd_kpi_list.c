/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "analysis/statistics.h"
#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"
#include "client/kpi/kpi_report.h"
#include "document/display.h"
#include "document/indicator_model.h"

#define KPI_INDICATORS_MAX 1000U /* indicators in a set */
#define KPI_RESULTS_MAX 100U     /* newest results of each */

/* Results of one indicator. */
typedef struct KpiIndicator {
        const char *name;
        const Value *model;    /* its declaration */
        const Value *declared; /* member `results` of the declaration; without a model, the result named as here */
        Member own_result;
        Value own;
        const Value *results;  /* list as in the API, newest first */
        Buffer sets[KPI_RESULTS_MAX]; /* owned; component and parameters of each */
        ApiQuery query;        /* holds the results */
} KpiIndicator;

typedef struct KpiSet {
        ApiQuery models, names;
        KpiIndicator *indicators; /* owned */
        size_t n, n_omitted;
} KpiSet;

/* --- queries -------------------------------------------------------------------------------------- */

static void kpi_set_deinit(KpiSet *set) {
        for (size_t i = 0; i < set->n; i++) {
                api_query_deinit(&set->indicators[i].query);
                for (size_t k = 0; k < KPI_RESULTS_MAX; k++)
                        buffer_deinit(&set->indicators[i].sets[k]);
        }
        free(set->indicators);
        api_query_deinit(&set->names);
        api_query_deinit(&set->models);
}

static bool is_in(const KpiSet *set, const char *name) {
        for (size_t i = 0; i < set->n; i++)
                if (strcmp(set->indicators[i].name, name) == 0)
                        return true;
        return false;
}

static int read_results(KpiIndicator *indicator, const GlobalOptions *global) {
        scoped(buffer_deinit) Buffer path = {};
        int r;

        api_query_begin_path(&path, indicator->name, "results");
        buffer_printf(&path, "?limit=%u", KPI_RESULTS_MAX);
        r = api_query_open_path(&indicator->query, global, &path);
        indicator->results = value_get(indicator->query.answer, "results");
        for (size_t i = 0; i < answer_length(indicator->results); i++) {
                const Value *row = &indicator->results->items[i];

                kpi_report_put_set(answer_text(row, "component"), value_get(value_get(row, "document"), "@parameters"),
                                   &indicator->sets[i]);
        }
        if (answer_length(indicator->results) == KPI_RESULTS_MAX)
                message_print("%s: only the newest %u results are listed", indicator->name, KPI_RESULTS_MAX);
        return r;
}

static int add_indicator(KpiSet *set, const GlobalOptions *global, const Value *row) {
        const char *name = answer_text(row, "name");
        const Value *model = answer_find_declaration(value_get(set->models.answer, "models"), name,
                                                     answer_text(row, "component"));
        const Value *declared = value_get(model, "results");
        KpiIndicator *indicator = &set->indicators[set->n];

        if ((model && (!declared || declared->type != VALUE_OBJECT)) || is_in(set, name))
                return EXIT_DONE;
        if (set->n == KPI_INDICATORS_MAX) {
                set->n_omitted++;
                return EXIT_DONE;
        }
        set->n++;
        *indicator = (KpiIndicator){ .name = name, .model = model, .declared = declared };
        if (!model) {
                indicator->own_result = (Member){ .key = name };
                indicator->own = (Value){ .type = VALUE_OBJECT, .members = &indicator->own_result, .n_members = 1 };
                indicator->declared = &indicator->own;
        }
        return read_results(indicator, global);
}

/* Returns EXIT_DONE, or an exit status after a message. Call kpi_set_deinit() in both cases. */
static int kpi_set_open(KpiSet *set, const GlobalOptions *global) {
        const Value *rows;
        int r;

        set->indicators = calloc(KPI_INDICATORS_MAX, sizeof(*set->indicators));
        if (!set->indicators)
                return command_fail(-ENOMEM);
        r = api_query_open(&set->models, global, "/api/v1/models");
        if (r == EXIT_DONE)
                r = api_query_open(&set->names, global, "/api/v1/indicators?kpis=true");
        if (r == EXIT_DONE)
                api_query_say_cut(&set->names, "indicators");
        rows = value_get(set->names.answer, "indicators");
        for (size_t i = 0; i < answer_length(rows) && r == EXIT_DONE; i++)
                r = add_indicator(set, global, &rows->items[i]);
        if (set->n_omitted > 0)
                message_print("the first %u indicators are listed, %zu are not; perfctl kpi check NAME shows one",
                              KPI_INDICATORS_MAX, set->n_omitted);
        return r;
}

/* Returns true if another indicator of the set has a result of this name. */
static bool is_ambiguous(const KpiSet *set, const KpiIndicator *indicator, const char *key) {
        for (size_t i = 0; i < set->n; i++)
                if (&set->indicators[i] != indicator && value_get(set->indicators[i].declared, key))
                        return true;
        return false;
}

/* Returns the value of a result in one row of the results, also one that the model derives; NULL: none. */
static const Value *find_value(const Value *row, const char *key) {
        const Value *derived = value_get(value_get(row, "derived"), key);

        return derived ? value_get(derived, "value") : value_get(value_get(value_get(row, "document"), "@result"), key);
}

/* Returns the value of a row if it is the newest of its component and parameters; otherwise NULL. */
static const Value *find_newest(const KpiIndicator *indicator, const char *key, size_t i) {
        const Value *value = find_value(&indicator->results->items[i], key);

        for (size_t k = 0; value && k < i; k++)
                if (strcmp(indicator->sets[k].text ?: "", indicator->sets[i].text ?: "") == 0 &&
                    find_value(&indicator->results->items[k], key))
                        return NULL;
        return value;
}

/* --- table ---------------------------------------------------------------------------------------- */

/* Shows the value in the format of the model, otherwise with a readable number of digits. */
static void put_value(const Value *declared, const Value *value, Buffer *out) {
        const char *unit = value_get_string(declared, "unit"), *format = value_get_string(declared, "format");
        Display display = { .format = format, .divisor_unit = value_get_string(declared, "divisor_unit") };
        char figure[TEXT_MAX];

        (void)value_get_double(declared, "divisor", &display.divisor);
        if (!value_is_number(value) || (format && display_format_is_valid(format)))
                display_put(&display, unit, value, out);
        else {
                text_figure(value_number(value), figure);
                buffer_printf(out, "%s%s%s", figure, unit ? " " : "", unit ?: "");
        }
}

/* Shows a list by its median, as it is judged. */
static void put_list(Grid *grid, const Value *declared, const Value *list) {
        scoped(freep) double *numbers = calloc(list->n_items + 1, sizeof(*numbers));
        scoped(buffer_deinit) Buffer text = {};
        Value median = { .type = VALUE_DOUBLE };

        for (size_t i = 0; numbers && i < list->n_items; i++)
                numbers[i] = value_number(&list->items[i]);
        if (numbers)
                median.number = statistics_median_in_place(numbers, list->n_items);
        put_value(declared, &median, &text);
        buffer_printf(&text, " (median of %zu)", list->n_items);
        grid_right(grid, text.text ?: "");
}

/* A row for each component and set of parameters. */
static void add_rows(Grid *grid, const KpiSet *set, const KpiIndicator *indicator, const Member *declared) {
        const char *direction = value_get_string(&declared->value, "direction");
        scoped(buffer_deinit) Buffer name = {};

        if (is_ambiguous(set, indicator, declared->key))
                buffer_printf(&name, "%s.", indicator->name);
        buffer_puts(&name, declared->key);
        for (size_t i = 0; i < answer_length(indicator->results); i++) {
                const Value *value = find_newest(indicator, declared->key, i);
                scoped(buffer_deinit) Buffer text = {};

                if (!value)
                        continue;
                grid_whole(grid, name.text ?: "");
                grid_text(grid, indicator->sets[i].text ?: "-");
                if (value_is_numbers(value) && value->n_items > 0)
                        put_list(grid, &declared->value, value);
                else {
                        put_value(&declared->value, value, &text);
                        grid_right(grid, text.text ?: "");
                }
                grid_text(grid, direction ?: "-");
                grid_text(grid, indicator->model ? indicator->name : "-");
                grid_minute(grid, answer_time(&indicator->results->items[i], "time_ms"));
        }
}

static int print_table(const KpiSet *set, const CommandLine *line) {
        scoped(grid_deinit) Grid grid = {};

        grid_init_heads(&grid, "KPI|COMPONENT, PARAMETERS|>VALUE|BETTER|MODEL|LATEST");
        for (size_t i = 0; i < set->n; i++)
                for (size_t k = 0; k < answer_n_members(set->indicators[i].declared); k++)
                        add_rows(&grid, set, &set->indicators[i], &set->indicators[i].declared->members[k]);
        if (grid.n == grid.n_columns) {
                message_print("no results of an indicator with a model, and no submitted KPI; import some with perfctl "
                              "import kpis");
                return EXIT_DONE;
        }
        return grid_print(&grid, line->global.no_color);
}

static int kpi_list_run(const CommandLine *line) {
        scoped(kpi_set_deinit) KpiSet set = {};
        int r;

        r = kpi_set_open(&set, &line->global);
        return r == EXIT_DONE ? print_table(&set, line) : r;
}

const Command cmd_kpi_list = {
        .name = "kpi list",
        .summary = "List KPIs: results of indicators that have a model, and submitted KPIs",
        .help = "Shows the newest value of each result, component and set of parameters. The name of a KPI is that "
                "of the result, preceded by the name of the model if several models have such a result. perfd serves "
                "the current values as OpenMetrics under /metrics.",
        .examples = { "perfctl kpi list" },
        .run = kpi_list_run,
};
