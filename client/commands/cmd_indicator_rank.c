/* SPDX-License-Identifier: Apache-2.0 */
/* perfctl indicator rank, batch: which is better, and what a batch comes to. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/commands/perfctl.h"

static size_t length_of(const Value *list) {
        return list && list->type == VALUE_LIST ? list->n_items : 0;
}

static size_t members_of(const Value *object) {
        return object && object->type == VALUE_OBJECT ? object->n_members : 0;
}

static void put_value(Buffer *out, const Value *value) {
        Json json;

        if (value->type == VALUE_STRING) {
                buffer_puts(out, value->string);
                return;
        }
        json_init(&json, out);
        value_write_json(value, &json);
}

/* "component=tensorflow version=2.1", or with blanks between when only the values are to be seen. */
static void put_members(Buffer *out, const Value *object, bool has_names) {
        buffer_puts(out, "");
        for (size_t i = 0; object && object->type == VALUE_OBJECT && i < object->n_members; i++) {
                const Member *member = &object->members[i];

                if (i > 0)
                        buffer_putc(out, ' ');
                if (has_names)
                        buffer_printf(out, "%s=", member->key);
                if (member->value.type == VALUE_NULL)
                        buffer_putc(out, '-');
                else
                        put_value(out, &member->value);
        }
}

/* --- rank ---------------------------------------------------------------------------------------- */

#define INTERVAL_COLUMNS 72U /* of a terminal that has room for intervals */
#define ALONE_MAX 20U /* sets with nothing to compare that are shown, each on a line */

static void trim(Buffer *out) {
        while (!out->failed && out->n > 0 && out->text[out->n - 1] == ' ')
                out->text[--out->n] = '\0';
}

/* On several lines where words would not fit the screen. */
static void put_words(Screen *screen, const char *text) {
        scoped(buffer_deinit) Buffer line = {};
        size_t column = 0;

        while (*text) {
                size_t n = strcspn(text, " ") + (text[strcspn(text, " ")] == ' ');

                if (column > 0 && column + n > screen->width + 1) {
                        trim(screen->out);
                        buffer_puts(screen->out, "\n    ");
                        column = 4;
                }
                buffer_clear(&line);
                buffer_put(&line, text, n);
                column += screen_text(screen, line.text ? line.text : "");
                text += n;
        }
        trim(screen->out);
        buffer_putc(screen->out, '\n');
}

static void write_common(Screen *screen, const Value *ranking) {
        const Value *parameters = value_get(ranking, "parameters"), *hardware = value_get(ranking, "hardware");
        const char *component = text_get(ranking, "component"), *version = text_get(ranking, "version");
        scoped(buffer_deinit) Buffer text = {};

        if (parameters) {
                buffer_puts(&text, "With ");
                put_members(&text, parameters, true);
                put_words(screen, text.n > strlen("With ") ? text.text : "Without parameters");
        }
        buffer_clear(&text);
        if (component[0] || version[0])
                buffer_printf(&text, "Of %s%s%s", component, component[0] && version[0] ? " " : "", version);
        if (text.n > 0)
                put_words(screen, text.text);
        buffer_clear(&text);
        if (hardware && hardware->type == VALUE_STRING)
                buffer_printf(&text, "On %s", hardware->string);
        else if (hardware)
                buffer_puts(&text, "On hardware that is not known: perfctl run and perfctl import note it");
        if (text.n > 0)
                put_words(screen, text.text);
}

/* "0.505 real": beside the best, of all that are compared. */
static void put_difference(Grid *grid, const Value *alternative) {
        const char *difference = text_get(alternative, "difference");
        double ratio = number_find(alternative, "ratio");
        char text[TEXT_MAX];

        if (isfinite(ratio))
                snprintf(text, sizeof(text), "%.3f %.30s", ratio, difference);
        else
                snprintf(text, sizeof(text), "- %.30s", difference);
        grid_right(grid, text);
}

/* The keys, each in a column of its own, stand between these. */
static void fill_heads(Grid *grid, const Value *key, const char *unit, bool has_interval) {
        static const char *const heads[] = { "N", "MEDIAN", "TO BEST", "INTERVAL" };
        size_t n_keys = members_of(key), n_heads = has_interval ? 4 : 3;

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
        for (size_t i = 0; i < length_of(alternatives); i++) {
                const Value *alternative = &alternatives->items[i], *tied = value_get(alternative, "tied");
                const Value *key = value_get(alternative, "key");

                snprintf(text, sizeof(text), "%s%.0f", tied && tied->boolean ? "=" : "", number_get(alternative, "rank"));
                grid_right(grid, text);
                for (size_t k = 0; k < members_of(key); k++)
                        grid_value(grid, &key->members[k].value);
                grid_number(grid, number_find(alternative, "n"));
                grid_number(grid, number_find(alternative, "median"));
                put_difference(grid, alternative);
                snprintf(text, sizeof(text), "%.6g to %.6g", number_find(alternative, "low"), number_find(alternative, "high"));
                if (has_interval)
                        grid_right(grid, text);
        }
}

/* "2 failed, 1 without rate", or nothing. */
static void put_uncounted(Buffer *out, const Value *group, const char *objective) {
        double n_failed = number_get(group, "n_failed"), n_without = number_get(group, "n_without");

        if (n_failed > 0)
                buffer_printf(out, "%.0f failed", n_failed);
        if (n_without > 0)
                buffer_printf(out, "%s%.0f without %.80s", n_failed > 0 ? ", " : "", n_without, objective);
}

static void write_uncounted(Screen *screen, const Value *alternatives, const char *objective) {
        for (size_t i = 0; i < length_of(alternatives); i++) {
                scoped(buffer_deinit) Buffer line = {}, why = {};

                put_uncounted(&why, &alternatives->items[i], objective);
                if (why.n == 0)
                        continue;
                buffer_puts(&line, "Not counted: ");
                put_members(&line, value_get(&alternatives->items[i], "key"), false);
                buffer_printf(&line, " (%s)", why.text);
                put_words(screen, line.text ? line.text : "");
        }
}

static void write_left_out(Screen *screen, const Value *left_out, const char *objective) {
        for (size_t i = 0; i < length_of(left_out); i++) {
                const Value *group = &left_out->items[i];
                scoped(buffer_deinit) Buffer line = {}, why = {};

                put_uncounted(&why, group, objective);
                buffer_puts(&line, "Left out: ");
                put_members(&line, value_get(group, "key"), false);
                buffer_printf(&line, " (%s: %.0f%s%s)", text_get(group, "reason"), number_get(group, "n"), why.n > 0 ? ", " : "",
                              why.text ? why.text : "");
                put_words(screen, line.text ? line.text : "");
        }
}

static bool has_intervals(const Screen *screen) {
        return isatty(STDOUT_FILENO) != 1 || screen->width >= INTERVAL_COLUMNS;
}

static bool is_among(const Value *alternatives, const char *difference) {
        for (size_t i = 0; i < length_of(alternatives); i++)
                if (strcmp(text_get(&alternatives->items[i], "difference"), difference) == 0)
                        return true;
        return false;
}

/* What would help where too few runs cannot tell. */
static void write_needed(Screen *screen, const Value *ranking, const Value *answer) {
        const Value *alternatives = value_get(ranking, "alternatives");
        scoped(buffer_deinit) Buffer text = {};

        if (!is_among(alternatives, "too few runs"))
                return;
        buffer_printf(&text, "Too few runs: to tell any two of %zu apart at %g %%, %.0f of each are needed", length_of(alternatives),
                      100 * number_get(answer, "confidence"), number_get(ranking, "runs_needed"));
        put_words(screen, text.text ? text.text : "");
}

static int write_ranking(Screen *screen, const Value *ranking, const Value *answer) {
        const Value *alternatives = value_get(ranking, "alternatives");
        scoped(grid_deinit) Grid grid = {};

        buffer_putc(screen->out, '\n');
        write_common(screen, ranking);
        fill_alternatives(&grid, alternatives, text_get(answer, "unit"), has_intervals(screen));
        if (grid_write(&grid, screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        write_needed(screen, ranking, answer);
        write_uncounted(screen, alternatives, text_get(answer, "objective"));
        write_left_out(screen, value_get(ranking, "left_out"), text_get(answer, "objective"));
        return EXIT_DONE;
}

/* What tells a set from the others: only that. */
static void put_label(Buffer *out, const Value *ranking, const Value *apart) {
        const Value *parameters = value_get(ranking, "parameters");
        size_t begin = out->n;

        for (size_t i = 0; i < length_of(apart); i++) {
                const char *key = apart->items[i].type == VALUE_STRING ? apart->items[i].string : "";
                const Value *value = value_get(parameters, key) ?: value_get(ranking, key);

                if (!value || value->type == VALUE_OBJECT)
                        continue;
                buffer_printf(out, "%s%s=", out->n > begin ? " " : "", key);
                if (value->type == VALUE_NULL)
                        buffer_puts(out, "unknown");
                else
                        put_value(out, value);
        }
        if (out->n > begin)
                buffer_puts(out, ": ");
}

/* A set in which there is one alternative, or none that has enough runs. */
static void write_alone(Screen *screen, const Value *ranking, const Value *answer) {
        const Value *alternatives = value_get(ranking, "alternatives"), *left_out = value_get(ranking, "left_out");
        size_t n = length_of(alternatives) + length_of(left_out);
        scoped(buffer_deinit) Buffer line = {}, why = {};

        buffer_puts(&line, "  ");
        put_label(&line, ranking, value_get(answer, "apart"));
        for (size_t i = 0; i < n; i++) {
                const Value *group = i < length_of(alternatives) ? &alternatives->items[i] : &left_out->items[i - length_of(alternatives)];

                buffer_clear(&why);
                put_uncounted(&why, group, text_get(answer, "objective"));
                buffer_puts(&line, i > 0 ? "; " : "");
                put_members(&line, value_get(group, "key"), false);
                buffer_printf(&line, " (%.0f%s%s)", number_get(group, "n"), why.n > 0 ? ", " : "", why.text ? why.text : "");
        }
        put_words(screen, line.text ? line.text : "");
}

static int write_rankings(Screen *screen, const Value *answer) {
        const Value *rankings = value_get(answer, "rankings");
        size_t n_alone = 0;
        int r = EXIT_DONE;

        for (size_t i = 0; r == EXIT_DONE && i < length_of(rankings); i++)
                if (length_of(value_get(&rankings->items[i], "alternatives")) > 1)
                        r = write_ranking(screen, &rankings->items[i], answer);
        for (size_t i = 0; r == EXIT_DONE && i < length_of(rankings); i++) {
                if (length_of(value_get(&rankings->items[i], "alternatives")) > 1 || n_alone++ >= ALONE_MAX)
                        continue;
                if (n_alone == 1)
                        buffer_puts(screen->out, "\nNothing to compare with, fewer than two have 3 runs (results of each):\n");
                write_alone(screen, &rankings->items[i], answer);
        }
        if (n_alone > ALONE_MAX)
                buffer_printf(screen->out, "  and %zu more; --json has them all\n", n_alone - ALONE_MAX);
        return r;
}

/* True when an alternative of the answer has that difference. */
static bool has_difference(const Value *answer, const char *difference) {
        const Value *rankings = value_get(answer, "rankings");

        for (size_t i = 0; i < length_of(rankings); i++)
                if (is_among(value_get(&rankings->items[i], "alternatives"), difference))
                        return true;
        return false;
}

static void write_head(Screen *screen, const Value *answer) {
        scoped(buffer_deinit) Buffer text = {};

        buffer_printf(&text, "%s by %s, %s is better", text_get(answer, "name"), text_get(answer, "objective"),
                      text_get(answer, "direction"));
        put_words(screen, text.text ? text.text : "");
}

static void write_legend(Screen *screen, const Value *answer) {
        double percent = 100 * number_get(answer, "confidence");
        scoped(buffer_deinit) Buffer text = {};

        if (has_difference(answer, "real"))
                buffer_printf(&text, "real: chance does not explain the difference to the best, at %g %% for all of a table together. ",
                              percent);
        if (has_difference(answer, "noise"))
                buffer_printf(&text, "noise: chance may explain it. ");
        if (text.n == 0)
                return;

        if (has_intervals(screen))
                buffer_printf(&text, "An interval holds its median at %g %% by itself.", percent);
        buffer_putc(screen->out, '\n');
        put_words(screen, text.text);
}

static void write_counts(Screen *screen, const Value *answer) {
        static const struct {
                const char *key, *text;
        } reasons[] = {
                { "failed", "failed" },
                { "without_objective", "without the objective" },
                { "too_few_runs", "of groups with fewer than 3" },
                { "nothing_to_compare_with", "with nothing to compare with" },
        };
        const Value *left_out = value_get(answer, "left_out"), *apart = value_get(answer, "apart");
        scoped(buffer_deinit) Buffer text = {};
        bool is_first = true;

        buffer_printf(&text, "Compared: %.0f of %.0f results.", number_get(answer, "compared"), number_get(answer, "scanned"));
        for (size_t i = 0; i < N_ELEMENTS(reasons); i++) {
                double n = number_get(left_out, reasons[i].key);

                if (n <= 0)
                        continue;
                buffer_puts(&text, is_first ? " Left out: " : ", ");
                buffer_printf(&text, "%.0f %s", n, reasons[i].text);
                is_first = false;
        }
        buffer_puts(&text, is_first ? "" : ".");
        put_words(screen, text.text ? text.text : "");
        if (length_of(apart) == 0)
                return;

        buffer_clear(&text);
        buffer_puts(&text, "Not compared with each other, since they differ (see --across): ");
        for (size_t i = 0; i < length_of(apart); i++)
                buffer_printf(&text, "%s%s", i > 0 ? ", " : "", apart->items[i].type == VALUE_STRING ? apart->items[i].string : "");
        put_words(screen, text.text);
}

int cmd_indicator_rank(const Options *options) {
        scoped(api_query_deinit) ApiQuery question = {};
        scoped(buffer_deinit) Buffer out = {}, path = {};
        Screen screen;
        int r;

        indicator_path_begin(&path, options->arguments[0], "rank");
        indicator_path_select(&path, options);
        indicator_path_put(&path, "by", options->by);
        indicator_path_put(&path, "objective", options->objective);
        indicator_path_put(&path, "direction", options->direction);
        indicator_path_put(&path, "confidence", options->confidence);
        indicator_path_put(&path, "across", options->across);
        r = api_query_open(&question, options, path.text ? path.text : "/");
        if (r != EXIT_DONE)
                return r;
        if (options_has(options, OPTION_JSON))
                return api_query_print_json(&question);
        if (length_of(value_get(question.answer, "rankings")) == 0) {
                say("%s", text_get(question.answer, "note"));
                return EXIT_DONE;
        }

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        write_head(&screen, question.answer);
        r = write_rankings(&screen, question.answer);
        write_legend(&screen, question.answer);
        write_counts(&screen, question.answer);
        return r == EXIT_DONE ? print_out(&out) : r;
}

/* --- batch --------------------------------------------------------------------------------------- */

static void fill_statistics(Grid *grid, const Value *statistics, const Value *units) {
        static const char *const keys[] = { "n", "median", "mean", "sd", "min", "max", "cov", "covm" };

        grid_init(grid, 2 + N_ELEMENTS(keys), 1);
        grid_text(grid, "RESULT");
        grid_text(grid, "UNIT");
        for (size_t k = 0; k < N_ELEMENTS(keys); k++)
                grid_right(grid, keys[k]);
        for (size_t i = 0; statistics && statistics->type == VALUE_OBJECT && i < statistics->n_members; i++) {
                grid_text(grid, statistics->members[i].key);
                grid_text(grid, units ? text_get(units, statistics->members[i].key) : "");
                for (size_t k = 0; k < N_ELEMENTS(keys); k++)
                        grid_number(grid, number_find(&statistics->members[i].value, keys[k]));
        }
}

static int write_batch(Screen *screen, const Value *batch) {
        const Value *failed = value_get(batch, "failed");
        scoped(grid_deinit) Grid grid = {};

        (void)screen_text(screen, text_get(batch, "name"));
        buffer_putc(screen->out, ' ');
        (void)screen_text(screen, text_get(batch, "component"));
        buffer_printf(screen->out, ": %.0f runs", number_get(batch, "n") + number_get(batch, "n_failed"));
        if (length_of(failed) > 0)
                buffer_printf(screen->out, ", of which %zu failed", length_of(failed));
        buffer_puts(screen->out, "\n\n");

        fill_statistics(&grid, value_get(batch, "statistics"), value_get(batch, "units"));
        if (grid_write(&grid, screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        for (size_t i = 0; i < length_of(failed); i++)
                buffer_printf(screen->out, "Run %.0f failed with %.0f\n", number_get(&failed->items[i], "index"),
                              number_get(&failed->items[i], "exit_status"));
        return EXIT_DONE;
}

int cmd_indicator_batch(const Options *options) {
        scoped(api_query_deinit) ApiQuery question = {};
        scoped(buffer_deinit) Buffer out = {}, path = {};
        Screen screen;
        int r;

        indicator_path_batch(&path, options->arguments[0]);
        r = api_query_open(&question, options, path.text ? path.text : "/");
        if (r != EXIT_DONE)
                return r;
        if (options_has(options, OPTION_JSON))
                return api_query_print_json(&question);

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        r = write_batch(&screen, question.answer);
        return r == EXIT_DONE ? print_out(&out) : r;
}
