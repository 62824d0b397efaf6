/* perfctl indicator rank, batch: which is better, and what a batch comes to. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/grid.h"
#include "client/indicator_path.h"
#include "client/perfctl.h"
#include "client/question.h"
#include "client/say.h"

static size_t length_of(const Value *list) {
        return list && list->type == VALUE_LIST ? list->n_items : 0;
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

static void write_common(Screen *screen, const Value *ranking) {
        const Value *parameters = value_get(ranking, "parameters"), *hardware = value_get(ranking, "hardware");
        scoped(buffer_deinit) Buffer text = {};

        if (parameters) {
                put_members(&text, parameters, true);
                buffer_puts(screen->out, "With ");
                (void)screen_text(screen, text.n > 0 ? text.text : "no parameters");
                buffer_putc(screen->out, '\n');
        }
        if (hardware) {
                buffer_puts(screen->out, "On ");
                (void)screen_text(screen, hardware->type == VALUE_STRING ? hardware->string : "hardware that is not known");
                buffer_putc(screen->out, '\n');
        }
}

static void fill_alternatives(Grid *grid, const Value *alternatives, const char *unit) {
        char head[TEXT_MAX];

        grid_init(grid, 6, 1);
        grid_right(grid, "RANK");
        grid_text(grid, "ALTERNATIVE");
        grid_right(grid, "N");
        snprintf(head, sizeof(head), "MEDIAN%s%.20s", *unit ? " " : "", unit);
        grid_right(grid, head);
        grid_text(grid, "INTERVAL");
        grid_right(grid, "RATIO");
        for (size_t i = 0; i < length_of(alternatives); i++) {
                const Value *alternative = &alternatives->items[i], *tied = value_get(alternative, "tied");
                scoped(buffer_deinit) Buffer name = {};
                char text[TEXT_MAX];

                snprintf(text, sizeof(text), "%s%.0f", tied && tied->boolean ? "=" : "", number_get(alternative, "rank"));
                grid_right(grid, text);
                put_members(&name, value_get(alternative, "key"), false);
                grid_text(grid, name.text ? name.text : "");
                grid_number(grid, number_find(alternative, "n"));
                grid_number(grid, number_find(alternative, "median"));
                snprintf(text, sizeof(text), "%.5g to %.5g", number_find(alternative, "low"), number_find(alternative, "high"));
                grid_text(grid, text);
                snprintf(text, sizeof(text), "%.3f", number_find(alternative, "ratio"));
                grid_right(grid, text);
        }
}

static void write_left_out(Screen *screen, const Value *left_out) {
        for (size_t i = 0; i < length_of(left_out); i++) {
                scoped(buffer_deinit) Buffer name = {};

                put_members(&name, value_get(&left_out->items[i], "key"), false);
                buffer_puts(screen->out, "Left out: ");
                (void)screen_text(screen, name.text ? name.text : "");
                buffer_printf(screen->out, " (%s)\n", text_get(&left_out->items[i], "reason"));
        }
}

static int write_rankings(Screen *screen, const Value *answer) {
        const Value *rankings = value_get(answer, "rankings");

        for (size_t i = 0; i < length_of(rankings); i++) {
                const Value *ranking = &rankings->items[i], *alternatives = value_get(ranking, "alternatives");
                scoped(grid_deinit) Grid grid = {};

                if (i > 0)
                        buffer_putc(screen->out, '\n');
                write_common(screen, ranking);
                fill_alternatives(&grid, alternatives, text_get(answer, "unit"));
                if (length_of(alternatives) > 0 && grid_write(&grid, screen, isatty(STDOUT_FILENO) == 1) < 0)
                        return EXIT_FAILED;
                write_left_out(screen, value_get(ranking, "left_out"));
        }
        return EXIT_DONE;
}

int cmd_indicator_rank(const Options *options) {
        scoped(question_deinit) Question question = {};
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
        r = question_init(&question, options);
        if (r == EXIT_DONE)
                r = question_ask(&question, path.text ? path.text : "/");
        if (r != EXIT_DONE)
                return r;
        if (options_has(options, OPTION_JSON))
                return question_print_json(&question);
        if (length_of(value_get(question.answer, "rankings")) == 0) {
                say("There are no such results of '%s'", options->arguments[0]);
                return EXIT_DONE;
        }

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        r = write_rankings(&screen, question.answer);
        return r == EXIT_DONE ? print_out(&out) : r;
}

/* --- batch --------------------------------------------------------------------------------------- */

static void fill_statistics(Grid *grid, const Value *statistics) {
        static const char *const keys[] = { "n", "median", "mean", "sd", "min", "max", "cov", "covm" };

        grid_init(grid, 1 + N_ELEMENTS(keys), 1);
        grid_text(grid, "RESULT");
        for (size_t k = 0; k < N_ELEMENTS(keys); k++)
                grid_right(grid, keys[k]);
        for (size_t i = 0; statistics && statistics->type == VALUE_OBJECT && i < statistics->n_members; i++) {
                grid_text(grid, statistics->members[i].key);
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

        fill_statistics(&grid, value_get(batch, "statistics"));
        if (grid_write(&grid, screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        for (size_t i = 0; i < length_of(failed); i++)
                buffer_printf(screen->out, "Run %.0f failed with %.0f\n", number_get(&failed->items[i], "index"),
                              number_get(&failed->items[i], "exit_status"));
        return EXIT_DONE;
}

int cmd_indicator_batch(const Options *options) {
        scoped(question_deinit) Question question = {};
        scoped(buffer_deinit) Buffer out = {}, path = {};
        Screen screen;
        int r;

        indicator_path_batch(&path, options->arguments[0]);
        r = question_init(&question, options);
        if (r == EXIT_DONE)
                r = question_ask(&question, path.text ? path.text : "/");
        if (r != EXIT_DONE)
                return r;
        if (options_has(options, OPTION_JSON))
                return question_print_json(&question);

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        r = write_batch(&screen, question.answer);
        return r == EXIT_DONE ? print_out(&out) : r;
}
