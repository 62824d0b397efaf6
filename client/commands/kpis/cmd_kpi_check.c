/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/judge.h"
#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/kpi/kpi_gate.h"
#include "client/kpi/kpi_report.h"
#include "client/kpi/series_check.h"
#include "kpi/history.h"
#include "util/parse.h"

#define IGNORED_ENTRIES_MAX 16U
#define WINDOW_MAX 1000U
#define SEPARATING_MAX 64U /* keys of the answers about several KPIs that separate their runs */

/* Options that apply to --file only. */
typedef struct SeriesOptions {
        const char *file, *column;
        OptionNumber window;
        const char *max_pvalue, *min_magnitude; /* NULL: not given */
} SeriesOptions;

typedef struct KpiCheckOptions {
        SelectionOptions selection;
        OptionTexts by, ignore;
        const char *component, *component_version, *across, *order, *method, *direction, *fdr, *format, *output, *as;
        KpiGate gate;
        OptionTexts ignore_entry; /* each KEY=VALUE,… */
        SeriesOptions series;
        bool json;
} KpiCheckOptions;

static int parse_entry(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        const char *equals = strchr(value, '=');

        if (!equals || equals == value || !equals[1])
                return option_refuse(option, value, "KEY=VALUE or KEY=VALUE,VALUE", ret_error);
        return option_add_text(option, value, place, ret_error);
}

static const Option series_options[] = {
        { "file", 0, "FILE", "Judge the series of numbers in a file, without perfd; - is standard input",
          OPTION_TEXT(SeriesOptions, file), .value = OPTION_VALUE_FILE },
        { "column", 0, "NAME", "Name or number of the column with the values", OPTION_TEXT(SeriesOptions, column) },
        { "window", 0, "N", "Length of hunter's windows, " OPTION_DIGITS(HUNTER_WINDOW) " if not given",
          OPTION_NUMBER(SeriesOptions, window, 2, WINDOW_MAX) },
        { "max-pvalue", 0, "P", "Limit of hunter's p-value, " OPTION_DIGITS(HUNTER_P_VALUE_MAX) " if not given",
          OPTION_TEXT(SeriesOptions, max_pvalue) },
        { "min-magnitude", 0, "M", "Smallest relative change for hunter, " OPTION_DIGITS(HUNTER_MAGNITUDE_MIN) " if not given",
          OPTION_TEXT(SeriesOptions, min_magnitude) },
        {},
};

/* --- a series without perfd ----------------------------------------------------------------------- */

static int parse_number(const CommandLine *line, const char *option, const char *text, double least, double most,
                        double *ret) {
        if (!text || (parse_double(text, ret) == 0 && *ret >= least && *ret <= most))
                return EXIT_DONE;
        return command_refuse(line->command->name, "--%s expects a number from %g to %g, not '%.80s'", option, least,
                              most, text);
}

static int parse_hunter(const CommandLine *line, HunterSettings *ret) {
        const KpiCheckOptions *options = line->options;
        const SeriesOptions *series = &options->series;
        const char *given = series->window.is_given ? "window" : series->max_pvalue ? "max-pvalue"
                          : series->min_magnitude   ? "min-magnitude"
                                                    : NULL;
        int r;

        if (given && strcmp(options->method, judge_method_names[JUDGE_HUNTER]) != 0)
                return command_refuse(line->command->name, "--%s requires --method hunter", given);

        if (series->window.is_given)
                ret->window = series->window.value;
        r = parse_number(line, "max-pvalue", series->max_pvalue, 0, 1, &ret->p_value_max);
        return r == EXIT_DONE ? parse_number(line, "min-magnitude", series->min_magnitude, 0, 1e6, &ret->magnitude_min)
                              : r;
}

static int parse_settings(const CommandLine *line, JudgeSettings *ret) {
        const KpiCheckOptions *options = line->options;
        const char *direction = options->direction ?: judge_direction_names[JUDGE_NEITHER];

        *ret = (JudgeSettings){ .hunter = HUNTER_DEFAULTS, .shift = SHIFT_DEFAULTS };
        while (strcmp(judge_method_names[ret->method], options->method) != 0)
                ret->method++;
        while (strcmp(judge_direction_names[ret->direction], direction) != 0)
                ret->direction++;
        if (options->as && (ret->method == JUDGE_PERFD || ret->method == JUDGE_RELATIVE))
                return command_refuse(line->command->name, "--as requires --method hunter, stdev or zscore");
        return parse_hunter(line, &ret->hunter);
}

/* Refuses options that select stored results, and formats of their verdicts. */
static int check_no_selection(const CommandLine *line) {
        const KpiCheckOptions *options = line->options;
        const SelectionOptions *selection = &options->selection;
        bool has_selection = selection->where.n > 0 || selection->since_ns.is_given || selection->until_ns.is_given ||
                             options->component || options->component_version || options->by.n > 0 ||
                             options->ignore.n > 0 || options->ignore_entry.n > 0 || options->across || options->output;

        if (line->n_arguments > 0)
                return command_refuse(line->command->name, "--file and a KPI cannot be combined");
        if (has_selection)
                return command_refuse(line->command->name,
                                      "--file cannot be combined with options that select or summarize results");
        if (strcmp(options->format, "table") != 0 && strcmp(options->format, "json") != 0)
                return command_refuse(line->command->name, "--file and --format %s cannot be combined",
                                      options->format);
        return EXIT_DONE;
}

static int check_file(const CommandLine *line) {
        const KpiCheckOptions *options = line->options;
        SeriesCheck check = { .file = options->series.file,
                              .column = options->series.column,
                              .is_compat = options->as,
                              .is_json = options->json || strcmp(options->format, "json") == 0,
                              .no_color = line->global.no_color };
        KpiTally tally = { .n_all = 1 };
        JudgeVerdict verdict;
        int r;

        r = check_no_selection(line);
        if (r == EXIT_DONE)
                r = parse_settings(line, &check.settings);
        if (r == EXIT_DONE)
                r = series_check(&check, &verdict);
        if (r != EXIT_DONE)
                return r;

        tally.n[verdict]++;
        return kpi_gate_status(&options->gate, &tally);
}

/* --- verdicts of perfd ---------------------------------------------------------------------------- */

/* The answers about all KPIs of the command line, as one. */
typedef struct KpiAnswers {
        ApiQuery *queries; /* owned */
        size_t n;
        Value *kpis; /* owned; NULL: there is one answer */
        Value keys[SEPARATING_MAX];
        Member members[4], counts[N_JUDGE_VERDICTS];
        Value merged;
        const Value *answer;
        KpiTally tally;
} KpiAnswers;

static void kpi_answers_deinit(KpiAnswers *answers) {
        for (size_t i = 0; i < answers->n; i++)
                api_query_deinit(&answers->queries[i]);
        free(answers->queries);
        free(answers->kpis);
}

static void put_path(const CommandLine *line, const char *kpi, Buffer *path) {
        const KpiCheckOptions *options = line->options;

        buffer_puts(path, "/api/v1/kpis/");
        buffer_put_encoded(path, kpi);
        buffer_puts(path, "/regress");
        api_query_select_path(path, &options->selection);
        api_query_put_path(path, "component", options->component);
        api_query_put_path(path, "current", options->component_version);
        api_query_put_path_list(path, "compare_by", &options->by);
        api_query_put_path_list(path, "ignore", &options->ignore);
        for (size_t i = 0; i < options->ignore_entry.n; i++)
                api_query_put_path(path, "ignore_entry", options->ignore_entry.items[i]);
        api_query_put_path(path, "compat", options->as ? "true" : NULL);
        api_query_put_path(path, "across", options->across);
        api_query_put_path(path, "order", options->order);
        api_query_put_path(path, "method", options->method);
        api_query_put_path(path, "direction", options->direction);
        api_query_put_path(path, "fdr", options->fdr);
}

/* Adds the keys that are not there yet. */
static void join_keys(Value *all, size_t *n, const Value *keys) {
        for (size_t i = 0; i < answer_length(keys) && *n < SEPARATING_MAX; i++) {
                bool is_new = true;

                for (size_t k = 0; k < *n; k++)
                        is_new &= !value_equals(&all[k], &keys->items[i]);
                if (is_new)
                        all[(*n)++] = keys->items[i];
        }
}

/* Makes one answer of several: the KPIs of all, their counts, what separates their runs, and the first note. */
static int join(KpiAnswers *answers) {
        const Value *note = NULL;
        size_t n = 0, n_keys = 0;

        answers->kpis = calloc(answers->tally.n_all + 1, sizeof(*answers->kpis));
        if (!answers->kpis)
                return command_fail(-ENOMEM);

        for (size_t i = 0; i < answers->n; i++) {
                const Value *kpis = value_get(answers->queries[i].answer, "kpis");

                for (size_t k = 0; k < answer_length(kpis); k++)
                        answers->kpis[n++] = kpis->items[k];
                join_keys(answers->keys, &n_keys, value_get(answers->queries[i].answer, "separated_by"));
                note = note ?: value_get(answers->queries[i].answer, "note");
        }
        for (JudgeVerdict i = 0; i < N_JUDGE_VERDICTS; i++)
                answers->counts[i] = (Member){ judge_verdict_names[i],
                                               { .type = VALUE_INT, .integer = (int64_t)answers->tally.n[i] } };
        answers->members[0] = (Member){ "kpis", { .type = VALUE_LIST, .items = answers->kpis, .n_items = n } };
        answers->members[1] = (Member){
                "counts", { .type = VALUE_OBJECT, .members = answers->counts, .n_members = N_JUDGE_VERDICTS }
        };
        answers->members[2] = (Member){
                "separated_by", { .type = VALUE_LIST, .items = answers->keys, .n_items = n_keys }
        };
        answers->members[3] = (Member){ "note", note ? *note : (Value){} };
        answers->merged = (Value){ .type = VALUE_OBJECT, .members = answers->members, .n_members = note ? 4 : 3 };
        answers->answer = &answers->merged;
        return EXIT_DONE;
}

static int ask(const CommandLine *line, KpiAnswers *answers) {
        size_t n = line->n_arguments > 0 ? (size_t)line->n_arguments : 1;

        answers->queries = calloc(n, sizeof(*answers->queries));
        if (!answers->queries)
                return command_fail(-ENOMEM);

        for (; answers->n < n; answers->n++) {
                ApiQuery *query = &answers->queries[answers->n];
                scoped(buffer_deinit) Buffer path = {};
                const Value *kpis;
                int r;

                put_path(line, line->n_arguments > 0 ? line->arguments[answers->n] : "*", &path);
                r = api_query_open_path(query, &line->global, &path);
                if (r != EXIT_DONE) {
                        api_query_deinit(query);
                        return r;
                }
                kpis = value_get(query->answer, "kpis");
                for (size_t k = 0; k < answer_length(kpis); k++)
                        kpi_gate_count(&answers->tally, &kpis->items[k]);
        }
        answers->answer = answers->queries[0].answer;
        return n > 1 ? join(answers) : EXIT_DONE;
}

/* --- output --------------------------------------------------------------------------------------- */

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
        grid_init_heads(grid, "KPI|COMPONENT, PARAMETERS|VERDICT|>CHANGE|>INTERVAL|SINCE|>RUNS|DETECTABLE");
        for (size_t i = 0; i < answer_length(kpis); i++) {
                scoped(buffer_deinit) Buffer labels = {}, verdict = {}, since = {}, runs = {}, detectable = {};
                const Value *kpi = &kpis->items[i];
                char digits[TEXT_MAX];

                kpi_report_put_labels(kpi, &labels);
                kpi_report_put_verdict(kpi, &verdict);
                kpi_report_put_runs(kpi, false, &runs);
                kpi_report_put_detectable(kpi, &detectable);
                grid_whole(grid, answer_text(kpi, "kpi"));
                grid_text(grid, labels.text ?: "-");
                grid_whole(grid, verdict.text ?: "");
                put_percent(grid, answer_number(kpi, "relative_change"));
                put_interval(grid, kpi);
                (void)kpi_report_put_since(kpi, &since);
                grid_text(grid, since.n > 0 ? text_shorten_digest(since.text, digits) : "-");
                grid_right(grid, runs.text ?: "");
                grid_text(grid, detectable.text ?: "-");
        }
}

static void write_counts(Screen *screen, const KpiTally *tally) {
        scoped(buffer_deinit) Buffer counts = {};

        kpi_gate_put(tally, &counts);
        screen_line(screen, "%zu KPI%s: %s", tally->n_all, tally->n_all == 1 ? "" : "s", counts.text ?: "");
}

/* Returns true if further runs are needed because of the machine. */
static bool is_disturbed(const Value *kpi) {
        return answer_flag(value_get_given(kpi, "profile"), "is_disturbed") &&
               strcmp(answer_text(kpi, "verdict"), judge_verdict_names[JUDGE_RUN_AGAIN]) == 0;
}

/* Writes the part of the answer that concerns the whole request. */
static void write_note(Screen *screen, const Value *answer) {
        if (*answer_text(answer, "note"))
                screen_line(screen, "Note: %s.", answer_text(answer, "note"));
}

/* Writes the facts that a reader needs to trust the table: the order, the omitted runs, and the number of runs that
 * a verdict needs. */
static void write_notes(Screen *screen, const Value *kpis, bool wants_time) {
        double n_later = 0, n_older = 0, n_needed = 0;
        size_t n_disturbed = 0;
        bool is_by_time = false;

        for (size_t i = 0; i < answer_length(kpis); i++) {
                const Value *kpi = &kpis->items[i], *excluded = value_get(kpi, "excluded");

                n_later += answer_number_or_zero(excluded, "later");
                n_older += answer_number_or_zero(excluded, "older");
                n_needed = fmax(n_needed, answer_number_or_zero(kpi, "runs_needed"));
                is_by_time |= strcmp(answer_text(kpi, "order"), "time") == 0 &&
                              answer_number_or_zero(kpi, "versions") > 1;
                n_disturbed += is_disturbed(kpi);
        }
        if (is_by_time && !wants_time)
                buffer_puts(screen->out, "Versions have no order; ordered by the time of their first runs.\n");
        if (n_later > 0)
                buffer_printf(screen->out, "%.0f run%s of versions later than the judged version ignored.\n", n_later,
                              n_later == 1 ? "" : "s");
        if (n_older > 0)
                buffer_printf(screen->out, "%.0f old run%s beyond the newest %u of a KPI ignored.\n", n_older,
                              n_older == 1 ? "" : "s", HISTORY_RUNS_MAX);
        if (n_needed > 0)
                buffer_printf(screen->out, "Too little data: %.0f more run%s (a batch is one run).\n", n_needed,
                              n_needed == 1 ? "" : "s");
        if (n_disturbed > 0)
                buffer_printf(screen->out,
                              "The machine disturbed the runs of %zu KPI%s; perfctl kpi check KPI shows how.\n",
                              n_disturbed, n_disturbed == 1 ? "" : "s");
}

/* Writes the history and the reason of each verdict, if all are about one KPI. */
static void write_details(Screen *screen, const Value *kpis) {
        for (size_t i = 1; i < answer_length(kpis); i++)
                if (strcmp(answer_text(&kpis->items[i], "kpi"), answer_text(&kpis->items[0], "kpi")) != 0)
                        return;
        for (size_t i = 0; i < answer_length(kpis); i++) {
                buffer_putc(screen->out, '\n');
                kpi_report_write_details(screen, &kpis->items[i]);
        }
}

static int print_table(const CommandLine *line, const KpiAnswers *answers) {
        const KpiCheckOptions *options = line->options;
        const Value *kpis = value_get(answers->answer, "kpis");
        scoped(buffer_deinit) Buffer out = {};
        scoped(grid_deinit) Grid grid = {};
        Screen screen;

        if (answers->tally.n_all == 0) {
                const char *note = answer_text(answers->answer, "note");

                message_print("%s", *note ? note : "no KPI has this name; perfctl kpi list shows all");
                return EXIT_DONE;
        }
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        fill(&grid, kpis);
        if (grid_write(&grid, &screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        write_counts(&screen, &answers->tally);
        write_notes(&screen, kpis, strcmp(options->order, history_order_names[HISTORY_BY_TIME]) == 0);
        kpi_report_write_separating(&screen, value_get(answers->answer, "separated_by"));
        write_note(&screen, answers->answer);
        write_details(&screen, kpis);
        return output_print(&out);
}

static int print(const CommandLine *line, const KpiAnswers *answers) {
        const KpiCheckOptions *options = line->options;
        scoped(buffer_deinit) Buffer out = {};

        if (options->json || strcmp(options->format, "json") == 0) {
                if (!answers->kpis)
                        return api_query_print_json(&answers->queries[0]);
                value_write_json(answers->answer, &(Json){ .out = &out });
                buffer_putc(&out, '\n');
        } else if (strcmp(options->format, "table") == 0)
                return print_table(line, answers);
        else if (strcmp(options->format, "yaml") == 0)
                kpi_report_put_yaml(answers->answer, &out);
        else
                kpi_report_put_junit(answers->answer, &out);
        return output_print(&out);
}

/* *ret_is_judged: the answer has verdicts, whatever the exit status is. A summary that cannot be written does not
 * hide a verdict. */
static int judge(const CommandLine *line, bool *ret_is_judged) {
        const KpiCheckOptions *options = line->options;
        scoped(kpi_answers_deinit) KpiAnswers answers = {};
        int r, written = EXIT_DONE;

        r = ask(line, &answers);
        if (r != EXIT_DONE)
                return r;
        *ret_is_judged = true;
        r = print(line, &answers);
        if (options->output)
                written = kpi_report_write_files(options->output, answers.answer);
        if (r == EXIT_DONE)
                r = kpi_gate_status(&options->gate, &answers.tally);
        return r == EXIT_DONE ? written : r;
}

static int kpi_check_run(const CommandLine *line) {
        const KpiCheckOptions *options = line->options;
        const SeriesOptions *series = &options->series;
        bool is_judged = false;
        int r;

        if (options->json && strcmp(options->format, "table") != 0 && strcmp(options->format, "json") != 0)
                return command_refuse(line->command->name, "--json and --format %s cannot be combined",
                                      options->format);
        r = kpi_gate_check(&options->gate, line->command->name);
        if (r != EXIT_DONE)
                return r;
        if (series->file)
                return check_file(line);
        if (series->column || series->window.is_given || series->max_pvalue || series->min_magnitude)
                return command_refuse(line->command->name,
                                      "--column, --window, --max-pvalue and --min-magnitude require --file");

        r = judge(line, &is_judged);
        if (options->output && !is_judged && (r == EXIT_FAILED || r == EXIT_UNREACHABLE))
                (void)kpi_report_write_files(options->output, NULL);
        return r;
}

const Command cmd_kpi_check = {
        .name = "kpi check",
        .arguments = "[KPI…]",
        .summary = "Judge whether the newest version changed a KPI",
        .help = "Compares the runs of indicators over versions, separately for each component, hardware and set of "
                "parameters, and prints a verdict for each result that a model declares; of one KPI also its "
                "history. KPI is an indicator, INDICATOR.RESULT, a result that only one indicator declares, or a "
                "pattern such as '*.rate'; without KPI, all results are judged. With --file, judges a series of "
                "numbers, one per line, as CSV or as JSON. Exits with 4 if --fail-on lists a verdict.",
        .examples = { "perfctl kpi check PiMatmul.rate --component-version 2.4.0",
                      "perfctl kpi check PiMatmul --fail-on regression,no-verdict",
                      "perfctl kpi check --allow-failures 1% '*.rate'",
                      "perfctl kpi check --file history.csv --column p99 --direction lower" },
        COMMAND_OPTION_ROWS(KpiCheckOptions,
                OPTION_INCLUDE(KpiCheckOptions, selection, SelectionOptions, selection_options),
                OPTION_ROW_COMPONENT(KpiCheckOptions, component),
                OPTION_ROW_COMPONENT_VERSION(KpiCheckOptions, component_version),
                OPTION_ROW_BY(KpiCheckOptions, by, "compare_by"),
                OPTION_ROW_IGNORE(KpiCheckOptions, ignore),
                { "ignore-entry", 0, "LIST", "Leave out results with KEY=VALUE,VALUE; may be repeated",
                  OPTION_TEXTS(KpiCheckOptions, ignore_entry, IGNORED_ENTRIES_MAX, parse_entry) },
                OPTION_ROW_ACROSS(OPTION_CHOICE(KpiCheckOptions, across, "hardware")),
                { "order", 0, "HOW", "Order of versions", OPTION_NAME(KpiCheckOptions, order, history_order_names), .initial = "semver" },
                OPTION_ROW_METHOD(OPTION_NAME(KpiCheckOptions, method, judge_method_names), .initial = "perfd"),
                OPTION_ROW_DIRECTION(OPTION_NAME(KpiCheckOptions, direction, judge_direction_names)),
                { "fdr", 0, "RATE", "Largest expected share of false changes", OPTION_TEXT(KpiCheckOptions, fdr), .initial = "0.05" },
                OPTION_ROW_FAIL_ON(KpiCheckOptions, gate.fail_on, "regression"),
                { "allow-failures", 0, "N", "KPIs that may fail, such as 3 or 5%, before the status is 4",
                  OPTION_TEXT(KpiCheckOptions, gate.allow_failures) },
                OPTION_ROW_OUTPUT(KpiCheckOptions, output, OPTION_VALUE_DIRECTORY),
                OPTION_INCLUDE(KpiCheckOptions, series, SeriesOptions, series_options),
                OPTION_ROW_FORMAT(KpiCheckOptions, format, "table", "json", "yaml", "junit"),
                OPTION_ROW_AS(KpiCheckOptions, as, "matrix-benchmarking"),
                OPTION_ROW_JSON(KpiCheckOptions, json)),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_INDICATOR,
        .run = kpi_check_run,
};
