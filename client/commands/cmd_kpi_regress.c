/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

#define IGNORED_ENTRIES_MAX 16U

typedef struct KpiRegressOptions {
        SelectionOptions selection;
        const char *current, *compare_by, *ignore, *across, *order, *method, *direction, *fdr, *fail_on;
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
        { "compare-by", 0, "KEY,…", "Keys that tell versions apart (default version)", OPTION_TEXT(KpiRegressOptions, compare_by) },
        { "ignore", 0, "KEY,…", "Parameters that may differ in a history", OPTION_TEXT(KpiRegressOptions, ignore) },
        { "ignore-entry", 0, "KEY=VALUE", "Leave out results with VALUE, or one of VALUE,VALUE; may be repeated",
          OPTION_TEXTS(KpiRegressOptions, ignore_entry, IGNORED_ENTRIES_MAX, parse_entry) },
        { "across", 0, "WHAT,…", "Compare results that differ in WHAT, as hardware",
          OPTION_CHOICE(KpiRegressOptions, across, "hardware") },
        { "order", 0, "HOW", "Order of versions (default semver)", OPTION_CHOICE(KpiRegressOptions, order, "semver", "time", "number") },
        { "method", 0, "METHOD", "Method of the analysis", .initial = "perfd",
          OPTION_CHOICE(KpiRegressOptions, method, "perfd", "hunter", "stdev", "zscore", "relative") },
        { "direction", 0, "WHICH", "Which values are better",
          OPTION_CHOICE(KpiRegressOptions, direction, "none", "lower", "higher") },
        { "fdr", 0, "RATE", "Largest share of false changes among all (default 0.05)", OPTION_TEXT(KpiRegressOptions, fdr) },
        { "fail-on", 0, "LIST", "Verdicts with exit status 4; no-verdict: 5", .initial = "regression",
          OPTION_TEXT(KpiRegressOptions, fail_on) },
        OPTION_ROW_COMPAT(KpiRegressOptions, compat),
        OPTION_ROW_JSON(KpiRegressOptions, json),
        {},
};

/* --- exit status ---------------------------------------------------------------------------------- */

/* A word of --fail-on, and the verdicts it stands for. */
typedef struct FailWord {
        const char *word, *verdicts[2];
        int status;
} FailWord;

static const FailWord fail_words[] = {
        { "regression", { "regression" }, EXIT_REGRESSED },
        { "improvement", { "improvement" }, EXIT_REGRESSED },
        { "changed", { "changed" }, EXIT_REGRESSED },
        { "no-verdict", { "unknown", "rerun" }, EXIT_NO_VERDICT },
};

static const FailWord *find_word(const char *text, size_t n) {
        for (size_t i = 0; i < N_ELEMENTS(fail_words); i++)
                if (strlen(fail_words[i].word) == n && memcmp(fail_words[i].word, text, n) == 0)
                        return &fail_words[i];
        return NULL;
}

static int check_fail_on(const CommandLine *line, const char *list) {
        for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
                size_t n = strcspn(p, ",");

                if (!find_word(p, n) && !(n == 4 && memcmp(p, "none", 4) == 0))
                        return command_refuse(line->command->name, "--fail-on expects a list of regression, improvement, changed and "
                                              "no-verdict, or none, not '%.80s'", list);
        }
        return EXIT_DONE;
}

/* A change takes precedence over a missing verdict. */
static int find_status(const Value *answer, const char *list) {
        const Value *counts = value_get(answer, "counts");
        int status = EXIT_DONE;

        for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
                const FailWord *word = find_word(p, strcspn(p, ","));

                for (size_t i = 0; word && i < N_ELEMENTS(word->verdicts) && word->verdicts[i]; i++)
                        if (answer_number_or_zero(counts, word->verdicts[i]) > 0 && status != EXIT_REGRESSED)
                                status = word->status;
        }
        return status;
}

/* --- output --------------------------------------------------------------------------------------- */

static void put_value(Buffer *out, const char *key, const Value *value) {
        Json json = { .out = out };

        buffer_printf(out, "%s%s=", out->n > 0 ? " " : "", key);
        if (value->type == VALUE_STRING)
                buffer_puts(out, value->string);
        else
                value_write_json(value, &json);
}

static void put_labels(Grid *grid, const Value *labels) {
        const Value *parameters = value_get(labels, "parameters");
        scoped(buffer_deinit) Buffer text = {};

        buffer_puts(&text, answer_text(labels, "component"));
        for (size_t i = 0; i < answer_n_members(parameters); i++)
                put_value(&text, parameters->members[i].key, &parameters->members[i].value);
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
                put_labels(grid, value_get(kpi, "labels"));
                grid_whole(grid, answer_text(kpi, "verdict"));
                put_percent(grid, answer_number(kpi, "relative_change"));
                put_interval(grid, kpi);
                grid_value(grid, value_get(kpi, "since_version"));
                grid_number(grid, answer_number(kpi, "runs"));
                put_percent(grid, answer_number(kpi, "smallest_change"));
        }
}

/* Writes "1 regression, 2 inline". */
static void write_counts(Screen *screen, const Value *answer) {
        const Value *counts = value_get(answer, "counts");
        size_t begin = screen->out->n;
        bool is_first = true;

        buffer_printf(screen->out, "%zu KPIs: ", answer_length(value_get(answer, "kpis")));
        for (size_t i = 0; i < answer_n_members(counts); i++) {
                double n = answer_number_or_zero(counts, counts->members[i].key);

                if (n > 0)
                        buffer_printf(screen->out, "%s%.0f %s", is_first ? "" : ", ", n, counts->members[i].key);
                is_first &= n <= 0;
        }
        buffer_putc(screen->out, '\n');
        screen_fold(screen, begin);
}

/* Writes what a reader needs to trust the table: the order, what was left out, and how many runs a verdict takes. */
static void write_notes(Screen *screen, const Value *kpis, bool wants_time) {
        double n_later = 0, n_older = 0, n_needed = 0;
        bool is_by_time = false;

        for (size_t i = 0; i < answer_length(kpis); i++) {
                const Value *kpi = &kpis->items[i], *left_out = value_get(kpi, "left_out");

                n_later += answer_number_or_zero(left_out, "later");
                n_older += answer_number_or_zero(left_out, "older");
                n_needed = fmax(n_needed, answer_number_or_zero(kpi, "runs_needed"));
                is_by_time |= strcmp(answer_text(kpi, "order"), "time") == 0;
        }
        if (is_by_time && !wants_time)
                buffer_puts(screen->out, "Ordered by time where a version cannot be ordered as requested.\n");
        if (n_later > 0)
                buffer_printf(screen->out, "Left out: %.0f runs of versions later than the judged one.\n", n_later);
        if (n_older > 0)
                buffer_printf(screen->out, "Left out: %.0f old runs beyond the newest 512 of a KPI.\n", n_older);
        if (n_needed > 0)
                buffer_printf(screen->out, "Up to %.0f more runs are needed for the verdicts rerun and unknown.\n", n_needed);
}

static int print(const CommandLine *line, const ApiQuery *query) {
        const KpiRegressOptions *options = line->options;
        const Value *kpis = value_get(query->answer, "kpis");
        scoped(buffer_deinit) Buffer out = {};
        scoped(grid_deinit) Grid grid = {};
        Screen screen;

        if (options->json)
                return api_query_print_json(query);
        if (answer_length(kpis) == 0) {
                const char *note = answer_text(query->answer, "note");

                message_print("%s", *note ? note : "no selected result has a number of this name");
                return EXIT_DONE;
        }

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        fill(&grid, kpis);
        if (grid_write(&grid, &screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        write_counts(&screen, query->answer);
        write_notes(&screen, kpis, options->order && strcmp(options->order, "time") == 0);
        return output_print(&out);
}

static void put_path(const CommandLine *line, Buffer *path) {
        const KpiRegressOptions *options = line->options;

        buffer_puts(path, "/api/v1/kpis/");
        buffer_put_encoded(path, line->n_arguments > 0 ? line->arguments[0] : "*");
        buffer_puts(path, "/regress");
        indicator_path_select(path, &options->selection);
        indicator_path_put(path, "current", options->current);
        indicator_path_put(path, "compare_by", options->compare_by);
        indicator_path_put(path, "ignore", options->ignore);
        for (size_t i = 0; i < options->ignore_entry.n; i++)
                indicator_path_put(path, "ignore_entry", options->ignore_entry.items[i]);
        indicator_path_put(path, "compat", options->compat ? "true" : NULL);
        indicator_path_put(path, "across", options->across);
        indicator_path_put(path, "order", options->order);
        indicator_path_put(path, "method", options->method);
        indicator_path_put(path, "direction", options->direction);
        indicator_path_put(path, "fdr", options->fdr);
}

static int kpi_regress_run(const CommandLine *line) {
        const KpiRegressOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        int r;

        r = check_fail_on(line, options->fail_on);
        if (r != EXIT_DONE)
                return r;
        put_path(line, &path);
        r = api_query_open(&query, &line->global, path.text ? path.text : "/");
        if (r == EXIT_DONE)
                r = print(line, &query);
        return r == EXIT_DONE ? find_status(query.answer, options->fail_on) : r;
}

const Command cmd_kpi_regress = {
        .name = "kpi regress",
        .arguments = "[KPI|PATTERN]",
        .summary = "Judge whether the newest version changed a result",
        .help = "Compares the runs of indicators over versions, separately for each component, hardware and set of parameters, and "
                "prints a verdict for each result that a model declares: of an indicator, of INDICATOR.RESULT, of all that match a "
                "pattern such as '*.rate', or of all. Exits with 4 if a verdict is listed by --fail-on.",
        .examples = { "perfctl kpi regress PiMatmul", "perfctl kpi regress PiMatmul.rate --current 2.4.0",
                      "perfctl kpi regress PiMatmul --fail-on regression,no-verdict", "perfctl kpi regress '*.rate'" },
        COMMAND_OPTIONS(KpiRegressOptions, options_table),
        .n_arguments_max = 1,
        .run = kpi_regress_run,
};
