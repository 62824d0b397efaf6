/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "document/condition.h"
#include "util/clock.h"

#define INTERVAL_COLUMNS 80U /* of a terminal that has room for intervals */
#define VALUES_SHOWN 4U     /* values of a key in which software stacks differ */
#define DIFFERING_SHOWN 8U  /* such keys */
#define ALONE_MAX 20U /* sets with nothing to compare that are shown, each on a line */

typedef struct IndicatorRankOptions {
        SelectionOptions selection;
        OptionTexts by, hold, across;
        const char *objective, *direction, *confidence;
        bool json;
} IndicatorRankOptions;

/* "component=tensorflow version=2.1", or with blanks between when only the values are to be seen. */
static void put_members(Buffer *out, const Value *object, bool has_names) {
        buffer_puts(out, "");
        for (size_t i = 0; i < answer_n_members(object); i++) {
                const Member *member = &object->members[i];

                if (i > 0)
                        buffer_putc(out, ' ');
                if (has_names)
                        buffer_printf(out, "%s=", member->key);
                if (member->value.type == VALUE_NULL)
                        buffer_putc(out, '-');
                else
                        answer_put_value(out, &member->value);
        }
}

static void write_common(Screen *screen, const Value *ranking) {
        const Value *parameters = value_get(ranking, "parameters"), *hardware = value_get(ranking, "hardware");
        const char *component = answer_text(ranking, "component"), *version = answer_text(ranking, "version");
        scoped(buffer_deinit) Buffer text = {};
        char digits[TEXT_MAX];

        if (parameters) {
                put_members(&text, parameters, true);
                screen_line(screen, "%s%s", text.n > 0 ? "Parameters " : "No parameters", text.text ?: "");
        }
        if (component[0] || version[0])
                screen_line(screen, "Component %s%s%s", component, component[0] && version[0] ? " " : "",
                           text_shorten_digest(version, digits));
        if (hardware && hardware->type == VALUE_STRING)
                screen_line(screen, "Hardware %s", hardware->string);
        else if (hardware)
                screen_line(screen, "Hardware unknown (perfctl submit does not record it; use perfctl run)");
}

/* Writes the difference of the medians to the best alternative, and whether it is significant: "49.5 % lower,
 * significant". */
static void put_difference(Grid *grid, const Value *alternative, double best) {
        const char *difference = answer_text(alternative, "difference");
        double ratio = answer_number(alternative, "ratio"), median = answer_number(alternative, "median");
        char text[TEXT_MAX];

        if (strcmp(difference, "best") == 0)
                snprintf(text, sizeof(text), "best");
        else if (!isfinite(ratio))
                snprintf(text, sizeof(text), "- %.30s", difference);
        else if (ratio == 1)
                snprintf(text, sizeof(text), "equal, %.30s", difference);
        else if (ratio >= 2 && median > 0)
                snprintf(text, sizeof(text), "%.3g times as high, %.30s", ratio, difference);
        else
                snprintf(text, sizeof(text), "%.3g %% %s, %.30s", 100 * fabs(ratio - 1),
                         median < best ? "lower" : "higher", difference);
        grid_right(grid, text);
}

static void put_interval(Grid *grid, const Value *alternative) {
        double level = answer_number(alternative, "level");
        char text[TEXT_MAX] = "none";

        if (isfinite(level))
                snprintf(text, sizeof(text), "%.6g to %.6g (%.4g %%)", answer_number(alternative, "low"),
                         answer_number(alternative, "high"), 100 * level);
        grid_right(grid, text);
}

/* The keys, each in a column of its own, stand between these. */
static void fill_heads(Grid *grid, const Value *key, const char *unit, bool has_interval) {
        static const char *const heads[] = { "N", "MEDIAN", "VS BEST", "INTERVAL" };
        size_t n_keys = answer_n_members(key), n_heads = has_interval ? 4 : 3;

        grid_init(grid, 1 + n_keys + n_heads, *unit ? 2 : 1);
        grid_right(grid, "RANK");
        for (size_t i = 0; i < n_keys; i++)
                grid_key(grid, key->members[i].key);
        for (size_t i = 0; i < n_heads; i++)
                grid_right(grid, heads[i]);
        if (!*unit)
                return;

        for (size_t i = 0; i < 1 + n_keys; i++)
                grid_text(grid, "");
        for (size_t i = 0; i < n_heads; i++)
                grid_right(grid, i == 1 || i == 3 ? unit : "");
}

static void fill_alternatives(Grid *grid, const Value *alternatives, const char *unit, bool has_interval) {
        char text[TEXT_MAX];

        fill_heads(grid, value_get(&alternatives->items[0], "key"), unit, has_interval);
        for (size_t i = 0; i < answer_length(alternatives); i++) {
                const Value *alternative = &alternatives->items[i];
                const Value *key = value_get(alternative, "key");

                snprintf(text, sizeof(text), "%s%.0f", answer_flag(alternative, "tied") ? "=" : "",
                         answer_number_or_zero(alternative, "rank"));
                grid_right(grid, text);
                for (size_t k = 0; k < answer_n_members(key); k++)
                        grid_value(grid, &key->members[k].value);
                grid_number(grid, answer_number(alternative, "n"));
                grid_number(grid, answer_number(alternative, "median"));
                put_difference(grid, alternative, answer_number(&alternatives->items[0], "median"));
                if (has_interval)
                        put_interval(grid, alternative);
        }
}

/* "2 failed, 1 without rate", or nothing. */
static void put_excluded(Buffer *out, const Value *group, const char *objective) {
        double n_failed = answer_number_or_zero(group, "n_failed"),
               n_without = answer_number_or_zero(group, "n_without");

        if (n_failed > 0)
                buffer_printf(out, "%.0f failed", n_failed);
        if (n_without > 0)
                buffer_printf(out, "%s%.0f without %.80s", n_failed > 0 ? ", " : "", n_without, objective);
}

static void write_excluded(Screen *screen, const Value *alternatives, const char *objective) {
        for (size_t i = 0; i < answer_length(alternatives); i++) {
                scoped(buffer_deinit) Buffer key = {}, why = {};

                put_excluded(&why, &alternatives->items[i], objective);
                put_members(&key, value_get(&alternatives->items[i], "key"), false);
                if (why.n > 0)
                        screen_line(screen, "Not counted: %s (%s)", key.text ?: "", why.text);
        }
}

static void write_excluded_groups(Screen *screen, const Value *excluded, const char *objective) {
        for (size_t i = 0; i < answer_length(excluded); i++) {
                const Value *group = &excluded->items[i];
                scoped(buffer_deinit) Buffer key = {}, why = {};

                put_excluded(&why, group, objective);
                put_members(&key, value_get(group, "key"), false);
                screen_line(screen, "Left out: %s (%s: %.0f%s%s)", key.text ?: "", answer_text(group, "reason"),
                           answer_number_or_zero(group, "n"), why.n > 0 ? ", " : "", why.text ?: "");
        }
}

static bool has_intervals(const Screen *screen) {
        return isatty(STDOUT_FILENO) != 1 || screen->width >= INTERVAL_COLUMNS;
}

/* Writes how many runs are needed where there are too few. */
static void write_needed(Screen *screen, const Value *ranking, const Value *answer) {
        const Value *alternatives = value_get(ranking, "alternatives");

        if (answer_find(alternatives, "difference", "too few runs"))
                screen_line(screen, "Too few runs: distinguishing %zu alternatives at %g %% needs %.0f runs of each",
                           answer_length(alternatives), 100 * answer_number_or_zero(answer, "confidence"),
                           answer_number_or_zero(ranking, "runs_needed"));
}

/* "package.numpy 1.18/1.21 in 12 of 40 runs": the runs without the most frequent value. */
static void put_differing(Buffer *out, const Value *differing) {
        const Value *values = value_get(differing, "values");
        double n = 0, n_most = 0;

        buffer_printf(out, "%s ", answer_text(differing, "key"));
        for (size_t i = 0; i < answer_length(values); i++) {
                const Value *value = &values->items[i];
                double n_of_value = answer_number_or_zero(value, "results") + answer_number_or_zero(value, "failed");

                if (i < VALUES_SHOWN)
                        buffer_printf(out, "%s%s", i > 0 ? "/" : "", value_get_string(value, "value") ?: "-");
                n += n_of_value;
                n_most = fmax(n_most, n_of_value);
        }
        buffer_printf(out, "%s in %.0f of %.0f runs", answer_length(values) > VALUES_SHOWN ? "/…" : "", n - n_most, n);
}

/* Names the differences of the software stacks of a ranking besides its keys. */
static void write_also_differ(Screen *screen, const Value *differ, uint64_t n_excluded) {
        scoped(buffer_deinit) Buffer text = {};
        size_t n = answer_length(differ);

        if (n_excluded > 0)
                screen_line(screen, "Not compared: the software stacks of %" PRIu64 " runs, which are too many",
                            n_excluded);
        if (n == 0)
                return;
        for (size_t i = 0; i < n && i < DIFFERING_SHOWN; i++) {
                buffer_puts(&text, i > 0 ? ", " : "");
                put_differing(&text, &differ->items[i]);
        }
        if (n > DIFFERING_SHOWN)
                buffer_printf(&text, " and %zu more (--json has all)", n - DIFFERING_SHOWN);
        screen_line(screen, "Also differ: %s (see --hold)", text.text ?: "");
}

static int write_ranking(Screen *screen, const Value *ranking, const Value *answer) {
        const Value *alternatives = value_get(ranking, "alternatives");
        scoped(grid_deinit) Grid grid = {};

        buffer_putc(screen->out, '\n');
        write_common(screen, ranking);
        fill_alternatives(&grid, alternatives, answer_text(answer, "unit"), has_intervals(screen));
        if (grid_write(&grid, screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        write_needed(screen, ranking, answer);
        write_excluded(screen, alternatives, answer_text(answer, "objective"));
        write_excluded_groups(screen, value_get(ranking, "excluded"), answer_text(answer, "objective"));
        write_also_differ(screen, value_get(ranking, "also_differ"), answer_time(ranking, "also_differ_excluded"));
        return EXIT_DONE;
}

/* Writes the keys that distinguish the set from the others. */
static void put_label(Buffer *out, const Value *ranking, const Value *apart) {
        const Value *parameters = value_get(ranking, "parameters");
        size_t begin = out->n;

        for (size_t i = 0; i < answer_length(apart); i++) {
                const char *key = apart->items[i].type == VALUE_STRING ? apart->items[i].string : "";
                const Value *value = value_get(parameters, key) ?: value_get(ranking, key);

                if (!value || value->type == VALUE_OBJECT)
                        continue;
                buffer_printf(out, "%s%s=", out->n > begin ? " " : "", key);
                if (value->type == VALUE_NULL)
                        buffer_puts(out, "unknown");
                else
                        answer_put_value(out, value);
        }
        if (out->n > begin)
                buffer_puts(out, ": ");
}

/* A set in which there is one alternative, or none that has enough runs. */
static void write_alone(Screen *screen, const Value *ranking, const Value *answer) {
        const Value *alternatives = value_get(ranking, "alternatives"), *excluded = value_get(ranking, "excluded");
        size_t n_ranked = answer_length(alternatives), n = n_ranked + answer_length(excluded);
        scoped(buffer_deinit) Buffer line = {}, why = {};

        buffer_puts(&line, "  ");
        put_label(&line, ranking, value_get(answer, "apart"));
        for (size_t i = 0; i < n; i++) {
                const Value *group = i < n_ranked ? &alternatives->items[i] : &excluded->items[i - n_ranked];

                buffer_clear(&why);
                put_excluded(&why, group, answer_text(answer, "objective"));
                buffer_puts(&line, i > 0 ? "; " : "");
                put_members(&line, value_get(group, "key"), false);
                buffer_printf(&line, " (%.0f%s%s)", answer_number_or_zero(group, "n"), why.n > 0 ? ", " : "",
                              why.text ? why.text : "");
        }
        screen_line(screen, "%s", line.text ?: "");
}

static int write_rankings(Screen *screen, const Value *answer) {
        const Value *rankings = value_get(answer, "rankings");
        size_t n_alone = 0;
        int r = EXIT_DONE;

        for (size_t i = 0; r == EXIT_DONE && i < answer_length(rankings); i++)
                if (answer_length(value_get(&rankings->items[i], "alternatives")) > 1)
                        r = write_ranking(screen, &rankings->items[i], answer);
        for (size_t i = 0; r == EXIT_DONE && i < answer_length(rankings); i++) {
                if (answer_length(value_get(&rankings->items[i], "alternatives")) > 1 || n_alone++ >= ALONE_MAX)
                        continue;
                if (n_alone == 1)
                        buffer_puts(screen->out,
                                    "\nNothing to compare: need two alternatives with at least 3 runs each; have:\n");
                write_alone(screen, &rankings->items[i], answer);
        }
        if (n_alone > ALONE_MAX)
                buffer_printf(screen->out, "  and %zu more; see --json\n", n_alone - ALONE_MAX);
        return r;
}

/* Returns true if an alternative of the answer has that difference. */
static bool has_difference(const Value *answer, const char *difference) {
        const Value *rankings = value_get(answer, "rankings");

        for (size_t i = 0; i < answer_length(rankings); i++)
                if (answer_find(value_get(&rankings->items[i], "alternatives"), "difference", difference))
                        return true;
        return false;
}

static void write_head(Screen *screen, const Value *answer) {
        screen_line(screen, "%s by %s, %s is better", answer_text(answer, "name"), answer_text(answer, "objective"),
                   answer_text(answer, "direction"));
}

static void write_legend(Screen *screen, const Value *answer) {
        double percent = 100 * answer_number_or_zero(answer, "confidence");
        scoped(buffer_deinit) Buffer text = {};

        if (has_difference(answer, "significant"))
                buffer_printf(
                        &text,
                        "significant: the difference from the best is unlikely to be chance (%.3g %% level, corrected "
                        "for all comparisons in the table). ",
                        100 - percent);
        if (has_difference(answer, "noise"))
                buffer_printf(&text, "noise: not significant. ");
        if (text.n == 0)
                return;

        if (has_intervals(screen))
                buffer_printf(&text,
                              "interval: confidence interval of the median, with its true confidence; none: too few "
                              "runs for %g %%.",
                              percent);
        buffer_putc(screen->out, '\n');
        screen_line(screen, "%s", text.text);
}

static void write_counts(Screen *screen, const Value *answer) {
        static const struct {
                const char *key, *text;
        } reasons[] = {
                { "failed", "failed" },
                { "without_objective", "without the objective" },
                { "too_few_runs", "in groups with fewer than 3" },
                { "nothing_to_compare_with", "with nothing to compare" },
        };
        const Value *excluded = value_get(answer, "excluded"), *apart = value_get(answer, "apart");
        scoped(buffer_deinit) Buffer text = {};
        bool is_first = true;

        buffer_printf(&text, "Compared: %.0f of %.0f results.", answer_number_or_zero(answer, "compared"),
                      answer_number_or_zero(answer, "scanned"));
        for (size_t i = 0; i < N_ELEMENTS(reasons); i++) {
                double n = answer_number_or_zero(excluded, reasons[i].key);

                if (n <= 0)
                        continue;
                buffer_puts(&text, is_first ? " Left out: " : ", ");
                buffer_printf(&text, "%.0f %s", n, reasons[i].text);
                is_first = false;
        }
        buffer_puts(&text, is_first ? "" : ".");
        screen_line(screen, "%s", text.text ?: "");
        if (answer_length(apart) == 0)
                return;

        buffer_clear(&text);
        buffer_puts(&text, "Not compared across (see --across): ");
        for (size_t i = 0; i < answer_length(apart); i++)
                buffer_printf(&text, "%s%s", i > 0 ? ", " : "",
                              apart->items[i].type == VALUE_STRING ? apart->items[i].string : "");
        screen_line(screen, "%s", text.text ?: "");
}

/* A key with a value is a condition, a key alone a field in which the results of a ranking are equal. */
static void put_hold(Buffer *path, const char *text, Buffer *keys) {
        while (*text) {
                size_t n = condition_key_length(text, ","), n_key = condition_key_length(text, "=!<>,");
                scoped(buffer_deinit) Buffer item = {};

                buffer_put(&item, text, n);
                if (n_key < n)
                        api_query_put_path(path, "where", item.text);
                else
                        buffer_printf(keys, "%s%s", keys->n > 0 ? "," : "", item.text ?: "");
                text += n + (text[n] == ',');
        }
}

#define OBJECTIVE_MAX 256U
#define OBJECTIVE_TIMEOUT_NS (2 * NS_PER_S)

/* Returns the first number that a model of the indicator declares, or NULL. */
static const char *find_declared(const Value *models, const char *name) {
        for (size_t i = 0; i < answer_length(models); i++) {
                const Value *results = value_get(value_get(&models->items[i], "declaration"), "results");

                if (strcmp(answer_text(&models->items[i], "name"), name) != 0 ||
                    !answer_model_applies(&models->items[i]))
                        continue;
                for (size_t k = 0; k < answer_n_members(results); k++) {
                        const char *type = answer_text(&results->members[k].value, "type");

                        if (strcmp(type, "int") == 0 || strcmp(type, "float") == 0)
                                return results->members[k].key;
                }
        }
        return NULL;
}

/* Returns the overall score of a document, else its only result that is a number, or NULL. */
static const char *find_only_number(const Value *document) {
        const Value *result = value_get(document, "@result"), *score = value_get(document, "overall_score");
        const char *found = NULL;

        if (score && value_is_number(score))
                return "overall_score";
        for (size_t i = 0; i < answer_n_members(result); i++) {
                if (!value_is_number(&result->members[i].value))
                        continue;
                if (found)
                        return NULL;
                found = result->members[i].key;
        }
        return found;
}

/* Chooses a result to rank by; "": perfd names those that there are. */
static void choose_objective(const CommandLine *line, char ret[static OBJECTIVE_MAX]) {
        scoped(api_query_deinit) ApiQuery models = {}, newest = {};
        scoped(buffer_deinit) Buffer path = {};
        const char *objective, *name = line->arguments[0];
        const Value *results = api_query_peek(&models, &line->global, "/api/v1/models", OBJECTIVE_TIMEOUT_NS);

        objective = find_declared(value_get(results, "models"), name);
        api_query_begin_path(&path, name, "results");
        api_query_put_path(&path, "limit", "1");
        if (!objective && buffer_error(&path) == 0) {
                results = value_get(api_query_peek(&newest, &line->global, path.text, OBJECTIVE_TIMEOUT_NS), "results");
                if (answer_length(results) > 0)
                        objective = find_only_number(value_get(&results->items[0], "document"));
        }
        (void)snprintf(ret, OBJECTIVE_MAX, "%s", objective ?: "");
}

static int indicator_rank_run(const CommandLine *line) {
        const IndicatorRankOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer out = {}, path = {}, held = {};
        char chosen[OBJECTIVE_MAX] = "";
        Screen screen;
        int r;

        if (!options->objective)
                choose_objective(line, chosen);
        api_query_begin_path(&path, line->arguments[0], "rank");
        api_query_select_path(&path, &options->selection);
        api_query_put_path_list(&path, "by", &options->by);
        api_query_put_path(&path, "objective", options->objective ?: chosen[0] ? chosen : NULL);
        api_query_put_path(&path, "direction", options->direction);
        api_query_put_path(&path, "confidence", options->confidence);
        api_query_put_path_list(&path, "across", &options->across);
        for (size_t i = 0; i < options->hold.n; i++)
                put_hold(&path, options->hold.items[i], &held);
        api_query_put_path(&path, "hold", held.text);
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);
        if (answer_length(value_get(query.answer, "rankings")) == 0) {
                message_print("%s", answer_text(query.answer, "note"));
                return EXIT_DONE;
        }

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        write_head(&screen, query.answer);
        r = write_rankings(&screen, query.answer);
        write_legend(&screen, query.answer);
        write_counts(&screen, query.answer);
        return r == EXIT_DONE ? output_print(&out) : r;
}

const Command cmd_indicator_rank = {
        .name = "indicator rank",
        .arguments = "NAME",
        .summary = "Rank alternatives, and show which differences are significant",
        .help = "Orders alternatives by their median, with a confidence interval. Alternatives that cannot be "
                "distinguished share a rank, marked with =. Each set of parameters and each hardware has its own "
                "ranking; --across compares across them.",
        .examples = {
                "perfctl indicator rank PiMatmul",
                "perfctl indicator rank PiMatmul --objective rate --direction higher",
                "perfctl indicator rank PiMatmul --by version -o elapsed --direction lower",
        },
        COMMAND_OPTION_ROWS(IndicatorRankOptions,
                OPTION_INCLUDE(IndicatorRankOptions, selection, SelectionOptions, selection_options),
                OPTION_ROW_BY(IndicatorRankOptions, by, "by"),
                { "objective", 'o', "RESULT", "Result to rank or compare by", OPTION_TEXT(IndicatorRankOptions, objective) },
                OPTION_ROW_DIRECTION(OPTION_CHOICE(IndicatorRankOptions, direction, "higher", "lower")),
                { "confidence", 0, "P", "Confidence of intervals, 0.5 to 0.999", OPTION_TEXT(IndicatorRankOptions, confidence), .initial = "0.95" },
                { "hold", 0, "KEY,…", "Compare only results with equal KEY, such as package.numpy", OPTION_LIST(IndicatorRankOptions, hold) },
                OPTION_ROW_ACROSS(OPTION_LIST(IndicatorRankOptions, across)),
                OPTION_ROW_JSON(IndicatorRankOptions, json)),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_INDICATOR,
        .run = indicator_rank_run,
};
