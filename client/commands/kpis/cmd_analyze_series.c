/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/judge.h"
#include "client/analysis/series_input.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "json/json.h"
#include "util/parse.h"

#define POINTS_MAX 20000U /* perfd's method takes n^2 steps */
#define WINDOW_MAX 1000U

typedef struct AnalyzeSeriesOptions {
        const char *method, *direction, *column;
        OptionNumber window;
        const char *max_pvalue, *min_magnitude; /* NULL: not given */
        bool compat, json;
} AnalyzeSeriesOptions;

static const Option options_table[] = {
        OPTION_ROW_METHOD(OPTION_NAME(AnalyzeSeriesOptions, method, judge_method_names), .initial = "perfd"),
        OPTION_ROW_DIRECTION(OPTION_NAME(AnalyzeSeriesOptions, direction, judge_direction_names), .initial = "none"),
        { "column", 0, "NAME", "Name or number of the column with the values", OPTION_TEXT(AnalyzeSeriesOptions, column) },
        { "window", 0, "N", "Length of hunter's windows, " OPTION_DIGITS(HUNTER_WINDOW) " if not given",
          OPTION_NUMBER(AnalyzeSeriesOptions, window, 2, WINDOW_MAX) },
        { "max-pvalue", 0, "P", "Limit of hunter's p-value, " OPTION_DIGITS(HUNTER_P_VALUE_MAX) " if not given",
          OPTION_TEXT(AnalyzeSeriesOptions, max_pvalue) },
        { "min-magnitude", 0, "M", "Smallest relative change for hunter, " OPTION_DIGITS(HUNTER_MAGNITUDE_MIN) " if not given",
          OPTION_TEXT(AnalyzeSeriesOptions, min_magnitude) },
        OPTION_ROW_COMPAT(AnalyzeSeriesOptions, compat),
        OPTION_ROW_JSON(AnalyzeSeriesOptions, json),
        {},
};

/* --- options -------------------------------------------------------------------------------------- */

static int parse_number(const CommandLine *line, const char *option, const char *text, double least, double most, double *ret) {
        if (!text || (parse_double(text, ret) == 0 && *ret >= least && *ret <= most))
                return EXIT_DONE;
        return command_refuse(line->command->name, "--%s expects a number from %g to %g, not '%.80s'", option, least, most, text);
}

static int parse_hunter(const CommandLine *line, HunterSettings *ret) {
        const AnalyzeSeriesOptions *options = line->options;
        const char *given = options->window.is_given ? "window"
                            : options->max_pvalue    ? "max-pvalue"
                            : options->min_magnitude ? "min-magnitude"
                                                     : NULL;
        int r;

        if (given && strcmp(options->method, judge_method_names[JUDGE_HUNTER]) != 0)
                return command_refuse(line->command->name, "--%s requires --method hunter", given);

        if (options->window.is_given)
                ret->window = options->window.value;
        r = parse_number(line, "max-pvalue", options->max_pvalue, 0, 1, &ret->p_value_max);
        return r == EXIT_DONE ? parse_number(line, "min-magnitude", options->min_magnitude, 0, 1e6, &ret->magnitude_min) : r;
}

static int parse_settings(const CommandLine *line, JudgeSettings *ret) {
        const AnalyzeSeriesOptions *options = line->options;

        *ret = (JudgeSettings){ .hunter = HUNTER_DEFAULTS, .shift = SHIFT_DEFAULTS };
        while (strcmp(judge_method_names[ret->method], options->method) != 0)
                ret->method++;
        while (strcmp(judge_direction_names[ret->direction], options->direction) != 0)
                ret->direction++;
        if (options->compat && (ret->method == JUDGE_PERFD || ret->method == JUDGE_RELATIVE))
                return command_refuse(line->command->name, "--compat requires --method hunter, stdev or zscore");
        return parse_hunter(line, &ret->hunter);
}

/* --- output --------------------------------------------------------------------------------------- */

static void put_point(Json *json, const ChangePoint *point, const SeriesInput *input) {
        const SeriesPoint *first = &input->points[point->index];

        json_object_begin(json);
        json_put_uint(json, "index", first->at);
        if (first->time)
                json_put_string(json, "time", first->time);
        json_put_double(json, "mean_before", point->mean_before);
        json_put_double(json, "mean_after", point->mean_after);
        json_put_double(json, "relative_change", point->relative);
        json_put_double(json, "p_value", point->p_value);
        json_object_end(json);
}

static void put_verdict(Json *json, const JudgeResult *judgement, const SeriesInput *input) {
        json_put_object_begin(json, "verdict");
        json_put_string(json, "verdict", judge_verdict_names[judgement->verdict]);
        json_put_double(json, "relative_change", judgement->relative);
        json_put_double(json, "p_value", judgement->p_value);
        if (judgement->since < input->n)
                json_put_uint(json, "since", input->points[judgement->since].at);
        json_object_end(json);
}

static void put_bool(Json *json, const char *key, BaselineBool v) {
        json_key(json, key);
        if (v == BASELINE_NONE)
                json_null(json);
        else
                json_bool(json, v == BASELINE_TRUE);
}

static void put_status(Json *json, JudgeMethod method, const BaselineStatus *status) {
        json_put_object_begin(json, "compat");
        put_bool(json, "accepted", status->is_accepted);
        put_bool(json, "improved", status->is_improved);
        json_put_double(json, "rating", status->rating);
        json_put_string(json, "description", status->description);
        json_put_double(json, "historical_mean", status->mean);
        json_put_double(json, "stddev", status->sd);
        json_put_double(json, method == JUDGE_ZSCORE ? "zscore" : "change", status->score);
        json_object_end(json);
}

static void write_json(const JudgeSettings *settings, const SeriesInput *input, const JudgeResult *judgement, const BaselineStatus *status,
                       Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_string(&json, "method", judge_method_names[settings->method]);
        json_put_uint(&json, "n", input->n);
        json_put_uint(&json, "missing", input->n_read - input->n);
        json_put_array_begin(&json, "change_points");
        for (size_t i = 0; i < judgement->n_points; i++)
                put_point(&json, &judgement->points[i], input);
        json_array_end(&json);
        put_verdict(&json, judgement, input);
        if (status)
                put_status(&json, settings->method, status);
        json_object_end(&json);
        buffer_putc(out, '\n');
}

static void write_text(const SeriesInput *input, const JudgeResult *judgement, const BaselineStatus *status, Screen *screen) {
        for (size_t i = 0; i < judgement->n_points; i++) {
                const ChangePoint *point = &judgement->points[i];
                const SeriesPoint *first = &input->points[point->index];

                buffer_printf(screen->out, "index %zu", first->at);
                if (first->time) {
                        buffer_puts(screen->out, " (");
                        screen_text(screen, first->time);
                        buffer_putc(screen->out, ')');
                }
                buffer_printf(screen->out, ": %.6g to %.6g, %+.1f %%", point->mean_before, point->mean_after, 100 * point->relative);
                if (!isnan(point->p_value))
                        buffer_printf(screen->out, ", p = %.2g", point->p_value);
                buffer_putc(screen->out, '\n');
        }

        buffer_printf(screen->out, "%zu change point%s in %zu values. Newest value: %s", judgement->n_points,
                      judgement->n_points == 1 ? "" : "s", input->n, judge_verdict_names[judgement->verdict]);
        if (judgement->verdict == JUDGE_UNKNOWN)
                buffer_puts(screen->out, " (too few values)");
        else if (!isnan(judgement->relative))
                buffer_printf(screen->out, " (%+.1f %%)", 100 * judgement->relative);
        if (status)
                buffer_printf(screen->out, "; compatible status: %s", status->description);
        buffer_putc(screen->out, '\n');
}

/* --- the command ---------------------------------------------------------------------------------- */

static int print(const CommandLine *line, const JudgeSettings *settings, const SeriesInput *input, const JudgeResult *judgement,
                 const BaselineStatus *status) {
        const AnalyzeSeriesOptions *options = line->options;
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        if (options->json)
                write_json(settings, input, judgement, status, &out);
        else
                write_text(input, judgement, status, &screen);
        return output_print(&out);
}

static int analyze(const CommandLine *line, const JudgeSettings *settings, const SeriesInput *input) {
        const AnalyzeSeriesOptions *options = line->options;
        scoped(freep) double *series = calloc(input->n + 1, sizeof(*series));
        scoped(judge_deinit) JudgeResult judgement = {};
        BaselineStatus status;
        int r;

        if (!series)
                return command_fail(-ENOMEM);
        for (size_t i = 0; i < input->n; i++)
                series[i] = input->points[i].value;

        r = judge_series(series, input->n, settings, &judgement);
        if (r < 0)
                return command_fail(r);
        if (options->compat && input->n > 0)
                status = judge_compat_status(series, input->n, settings, &judgement);
        return print(line, settings, input, &judgement, options->compat && input->n > 0 ? &status : NULL);
}

static int analyze_series_run(const CommandLine *line) {
        const AnalyzeSeriesOptions *options = line->options;
        const char *file = line->n_arguments > 0 ? line->arguments[0] : "-";
        scoped(series_input_deinit) SeriesInput input = {};
        scoped(buffer_deinit) Buffer text = {};
        JudgeSettings settings;
        int r;

        r = parse_settings(line, &settings);
        if (r == EXIT_DONE)
                r = input_read(file, &text);
        if (r != EXIT_DONE)
                return r;

        r = series_input_read(&input, input_name(file), &text, options->column);
        if (r < 0)
                return command_fail(r);
        if (r == SERIES_INVALID)
                message_print("%s", input.error);
        else if (input.n > POINTS_MAX)
                message_print("%s: %zu values; at most %u can be analyzed: pass only the newest", input_name(file), input.n, POINTS_MAX);
        if (r == SERIES_INVALID || input.n > POINTS_MAX)
                return EXIT_FAILED;

        if (input.was_sorted)
                message_print("%s: sorted by time; indexes are those of the sorted values", input_name(file));
        return analyze(line, &settings, &input);
}

const Command cmd_analyze_series = {
        .name = "analyze series",
        .arguments = "[FILE|-]",
        .summary = "Find the change points of a series of numbers",
        .help = "Reads numbers, one per line, as CSV or as JSON, and prints where their level changes, and whether the newest value is at "
                "a new level. Does not need perfd. The exit status is 0 even if a level has changed.",
        .examples = { "perfctl analyze series latencies.txt", "perfctl analyze series --direction lower --column p99 history.csv",
                      "perfctl analyze series --method hunter --json < latencies.txt" },
        COMMAND_OPTIONS(AnalyzeSeriesOptions, options_table),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_FILE,
        .run = analyze_series_run,
};
