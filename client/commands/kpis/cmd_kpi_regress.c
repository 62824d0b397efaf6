/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "analysis/judge.h"
#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/kpi/kpi_gate.h"
#include "client/kpi/kpi_report.h"
#include "kpi/history.h"

#define IGNORED_ENTRIES_MAX 16U

typedef struct KpiRegressOptions {
        SelectionOptions selection;
        OptionTexts compare_by, ignore;
        const char *across, *current, *order, *method, *direction, *fdr, *format, *summary;
        KpiGate gate;
        OptionTexts ignore_entry; /* each KEY=VALUE,… */
        bool compat, json;
} KpiRegressOptions;

static int parse_entry(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        const char *equals = strchr(value, '=');

        if (!equals || equals == value || !equals[1])
                return option_refuse(option, value, "KEY=VALUE or KEY=VALUE,VALUE", ret_error);
        return option_add_text(option, value, place, ret_error);
}

static const Option options_table[] = {
        OPTION_INCLUDE(KpiRegressOptions, selection, SelectionOptions, selection_options),
        { "current", 0, "VERSION", "Version to judge (default: that of the newest run)", OPTION_TEXT(KpiRegressOptions, current) },
        { "compare-by", 0, "KEY,…", "Keys that tell versions apart (default version)", OPTION_LIST(KpiRegressOptions, compare_by) },
        { "ignore", 0, "KEY,…", "Parameters that may differ in a history", OPTION_LIST(KpiRegressOptions, ignore) },
        { "ignore-entry", 0, "LIST", "Leave out results with KEY=VALUE,VALUE; may be repeated",
          OPTION_TEXTS(KpiRegressOptions, ignore_entry, IGNORED_ENTRIES_MAX, parse_entry) },
        OPTION_ROW_ACROSS(OPTION_CHOICE(KpiRegressOptions, across, "hardware")),
        { "order", 0, "HOW", "Order of versions", OPTION_NAME(KpiRegressOptions, order, history_order_names), .initial = "semver" },
        OPTION_ROW_METHOD(OPTION_NAME(KpiRegressOptions, method, judge_method_names), .initial = "perfd"),
        OPTION_ROW_DIRECTION(OPTION_NAME(KpiRegressOptions, direction, judge_direction_names)),
        { "fdr", 0, "RATE", "Largest expected share of false changes", OPTION_TEXT(KpiRegressOptions, fdr), .initial = "0.05" },
        OPTION_ROW_FAIL_ON(KpiRegressOptions, gate.fail_on, "regression"),
        { "allow-failures", 0, "N", "KPIs that may fail, such as 3 or 5%, before the status is 4",
          OPTION_TEXT(KpiRegressOptions, gate.allow_failures) },
        { "summary", 0, "DIRECTORY", "Write regression_summary.yaml and marker files", OPTION_TEXT(KpiRegressOptions, summary),
          .value = OPTION_VALUE_DIRECTORY },
        OPTION_ROW_FORMAT(KpiRegressOptions, format, "table", "json", "yaml", "junit"),
        OPTION_ROW_COMPAT(KpiRegressOptions, compat),
        OPTION_ROW_JSON(KpiRegressOptions, json),
        {},
};

/* --- output --------------------------------------------------------------------------------------- */

static void put_labels(Grid *grid, const Value *kpi) {
        scoped(buffer_deinit) Buffer text = {};

        kpi_report_put_labels(kpi, &text);
        grid_text(grid, text.text ?: "");
}

static void put_percent(Grid *grid, double ratio) {
        char text[TEXT_MAX] = "-";

        if (isfinite(ratio))
                snprintf(text, sizeof(text), "%+.1f %%", 100 * ratio);
        grid_right(grid, text);
}

static void put_interval(Grid *grid, const Value *kpi) {
        double low = answer_number(kpi, "low"), high = answer_number(kpi, "high");
        char text[TEXT_MAX] = "-";

        if (isfinite(low) && isfinite(high))
                snprintf(text, sizeof(text), "%+.1f to %+.1f %%", 100 * low, 100 * high);
        grid_right(grid, text);
}

static void fill(Grid *grid, const Value *kpis) {
        grid_init_heads(grid, "KPI|OF|VERDICT|>CHANGE|>INTERVAL|SINCE|>RUNS|>SMALLEST");
        for (size_t i = 0; i < answer_length(kpis); i++) {
                const Value *kpi = &kpis->items[i];

                grid_whole(grid, answer_text(kpi, "kpi"));
                put_labels(grid, kpi);
                grid_whole(grid, answer_text(kpi, "verdict"));
                put_percent(grid, answer_number(kpi, "relative_change"));
                put_interval(grid, kpi);
                grid_value(grid, value_get(kpi, "since_version"));
                grid_number(grid, answer_number(kpi, "runs"));
                put_percent(grid, answer_number(kpi, "smallest_change"));
        }
}

static void write_counts(Screen *screen, const KpiTally *tally) {
        size_t begin = screen->out->n;

        buffer_printf(screen->out, "%zu KPI%s: ", tally->n_all, tally->n_all == 1 ? "" : "s");
        kpi_gate_put(tally, screen->out);
        buffer_putc(screen->out, '\n');
        screen_fold(screen, begin);
}

/* Returns true if further runs are needed because of the machine. */
static bool is_disturbed(const Value *kpi) {
        const Value *value = value_get(value_get_given(kpi, "profile"), "is_disturbed");

        return value && value->type == VALUE_BOOL && value->boolean && strcmp(answer_text(kpi, "verdict"), "rerun") == 0;
}

/* Writes the part of the answer that concerns the whole request. */
static void write_note(Screen *screen, const Value *answer) {
        const char *note = answer_text(answer, "note");
        size_t begin = screen->out->n;

        if (!*note)
                return;
        buffer_printf(screen->out, "Note: %s.\n", note);
        screen_fold(screen, begin);
}

/* Writes the facts that a reader needs to trust the table: the order, the omitted runs, and the number of runs that a verdict needs. */
static void write_notes(Screen *screen, const Value *kpis, bool wants_time) {
        double n_later = 0, n_older = 0, n_needed = 0;
        size_t n_disturbed = 0;
        bool is_by_time = false;

        for (size_t i = 0; i < answer_length(kpis); i++) {
                const Value *kpi = &kpis->items[i], *left_out = value_get(kpi, "left_out");

                n_later += answer_number_or_zero(left_out, "later");
                n_older += answer_number_or_zero(left_out, "older");
                n_needed = fmax(n_needed, answer_number_or_zero(kpi, "runs_needed"));
                is_by_time |= strcmp(answer_text(kpi, "order"), "time") == 0;
                n_disturbed += is_disturbed(kpi);
        }
        if (is_by_time && !wants_time)
                buffer_puts(screen->out, "Runs are ordered by time if a version cannot be ordered as requested.\n");
        if (n_later > 0)
                buffer_printf(screen->out, "Left out: %.0f runs of versions later than the judged version.\n", n_later);
        if (n_older > 0)
                buffer_printf(screen->out, "Left out: %.0f old runs beyond the newest %u of a KPI.\n", n_older, HISTORY_RUNS_MAX);
        if (n_needed > 0)
                buffer_printf(screen->out, "Up to %.0f more runs are needed for the verdicts rerun and unknown.\n", n_needed);
        if (n_disturbed > 0)
                buffer_printf(screen->out, "The machine disturbed the runs of %zu KPI%s; for details see perfctl kpi show "
                                           "KPI.\n", n_disturbed,
                              n_disturbed == 1 ? "" : "s");
}

static int print_table(const CommandLine *line, const Value *answer, const KpiTally *tally) {
        const KpiRegressOptions *options = line->options;
        const Value *kpis = value_get(answer, "kpis");
        scoped(buffer_deinit) Buffer out = {};
        scoped(grid_deinit) Grid grid = {};
        Screen screen;

        if (tally->n_all == 0) {
                const char *note = answer_text(answer, "note");

                message_print("%s", *note ? note : "no selected result has a number of this name");
                return EXIT_DONE;
        }
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        fill(&grid, kpis);
        if (grid_write(&grid, &screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        write_counts(&screen, tally);
        write_notes(&screen, kpis, strcmp(options->order, history_order_names[HISTORY_BY_TIME]) == 0);
        write_note(&screen, answer);
        return output_print(&out);
}

static int print(const CommandLine *line, const ApiQuery *query, const KpiTally *tally) {
        const KpiRegressOptions *options = line->options;
        scoped(buffer_deinit) Buffer out = {};

        if (options->json || strcmp(options->format, "json") == 0)
                return api_query_print_json(query);
        if (strcmp(options->format, "table") == 0)
                return print_table(line, query->answer, tally);
        if (strcmp(options->format, "yaml") == 0)
                kpi_report_put_yaml(query->answer, &out);
        else
                kpi_report_put_junit(query->answer, &out);
        return output_print(&out);
}

static void put_path(const CommandLine *line, Buffer *path) {
        const KpiRegressOptions *options = line->options;

        buffer_puts(path, "/api/v1/kpis/");
        buffer_put_encoded(path, line->n_arguments > 0 ? line->arguments[0] : "*");
        buffer_puts(path, "/regress");
        indicator_path_select(path, &options->selection);
        indicator_path_put(path, "current", options->current);
        indicator_path_put_list(path, "compare_by", &options->compare_by);
        indicator_path_put_list(path, "ignore", &options->ignore);
        for (size_t i = 0; i < options->ignore_entry.n; i++)
                indicator_path_put(path, "ignore_entry", options->ignore_entry.items[i]);
        indicator_path_put(path, "compat", options->compat ? "true" : NULL);
        indicator_path_put(path, "across", options->across);
        indicator_path_put(path, "order", options->order);
        indicator_path_put(path, "method", options->method);
        indicator_path_put(path, "direction", options->direction);
        indicator_path_put(path, "fdr", options->fdr);
}

/* *ret_is_judged: the answer has verdicts, whatever the exit status is. A summary that cannot be written does not hide a verdict. */
static int judge(const CommandLine *line, ApiQuery *query, bool *ret_is_judged) {
        const KpiRegressOptions *options = line->options;
        scoped(buffer_deinit) Buffer path = {};
        const Value *kpis;
        KpiTally tally = {};
        int r, written = EXIT_DONE;

        put_path(line, &path);
        r = api_query_open(query, &line->global, path.text ? path.text : "/");
        if (r != EXIT_DONE)
                return r;
        kpis = value_get(query->answer, "kpis");
        for (size_t i = 0; i < answer_length(kpis); i++)
                kpi_gate_count(&tally, &kpis->items[i]);
        *ret_is_judged = true;
        r = print(line, query, &tally);
        if (options->summary)
                written = kpi_report_write_files(options->summary, query->answer);
        if (r == EXIT_DONE)
                r = kpi_gate_status(&options->gate, &tally);
        return r == EXIT_DONE ? written : r;
}

static int kpi_regress_run(const CommandLine *line) {
        const KpiRegressOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        bool is_judged = false;
        int r;

        if (options->json && strcmp(options->format, "table") != 0 && strcmp(options->format, "json") != 0)
                return command_refuse(line->command->name, "--json and --format %s cannot be combined", options->format);
        r = kpi_gate_check(&options->gate, line->command->name);
        if (r != EXIT_DONE)
                return r;
        r = judge(line, &query, &is_judged);
        if (options->summary && !is_judged && (r == EXIT_FAILED || r == EXIT_UNREACHABLE))
                (void)kpi_report_write_files(options->summary, NULL);
        return r;
}

const Command cmd_kpi_regress = {
        .name = "kpi regress",
        .arguments = "[KPI]",
        .summary = "Judge whether the newest version changed a result",
        .help = "Compares the runs of indicators over versions, separately for each component, hardware and set of parameters, and prints "
                "a verdict for each result that a model declares. KPI is an indicator, INDICATOR.RESULT, a result that only one "
                "indicator declares, or a pattern such as '*.rate'; without KPI, all results are judged. Exits with 4 if --fail-on lists "
                "a verdict.",
        .examples = { "perfctl kpi regress PiMatmul", "perfctl kpi regress PiMatmul.rate --current 2.4.0",
                      "perfctl kpi regress PiMatmul --fail-on regression,no-verdict", "perfctl kpi regress --allow-failures 1% '*.rate'" },
        COMMAND_OPTIONS(KpiRegressOptions, options_table),
        .n_arguments_max = 1,
        .run = kpi_regress_run,
};
