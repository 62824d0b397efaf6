/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of an indicator
 *
 * web/indicator.html with statistics of each component and version, their ranking, and the latest runs. Errors are
 * JSON, as everywhere.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "http/pages/pages_subject.h"
#include "document/property.h"
#include "http/indicators/indicators_subject.h"
#include "http/indicators/vocabulary.h"
#include "http/pages/html.h"
#include "http/pages/page_assets.h"
#include "http/pages/rank_answer_html.h"
#include "http/pages/ranking_html.h"
#include "http/pages/run_html.h"
#include "http/pages/template.h"
#include "http/selection/grouping.h"
#include "store/indicators/result_reader.h"
#include "util/clock.h"

#define KEYS_MAX_SHOWN 64U /* results among which the user can choose the objective */
#define RUNS_MAX 20U

typedef struct IndicatorPage {
        Template words; /* owned */
        Selection selection;
        Vocabulary *vocabulary;      /* owned */
        char *keys[KEYS_MAX_SHOWN];  /* owned; keys of results */
        size_t n_keys;
        const char *objective;
        Direction direction;
        Buffer units[RANKING_RESULTS_MAX]; /* owned */
        uint64_t n_runs;
} IndicatorPage;

static void indicator_page_deinit(IndicatorPage *page) {
        template_deinit(&page->words);
        vocabulary_free(page->vocabulary);
        for (size_t i = 0; i < page->n_keys; i++)
                free(page->keys[i]);
        for (size_t i = 0; i < RANKING_RESULTS_MAX; i++)
                buffer_deinit(&page->units[i]);
}

/* --- results of the indicator --------------------------------------------------------------------- */

static int add_key(IndicatorPage *page, const char *key) {
        if (page->n_keys == KEYS_MAX_SHOWN)
                return 0;

        page->keys[page->n_keys] = strdup(key);
        return page->keys[page->n_keys++] ? 0 : -ENOMEM;
}

static int add_declared(IndicatorPage *page) {
        const char *key;
        int r = 0;

        for (size_t i = 0; r == 0 && (key = vocabulary_declared_result(page->vocabulary, i)); i++)
                r = add_key(page, key);
        return r;
}

/* Adds the key of each result that is a number. */
static int add_keys(IndicatorPage *page, JsonText object) {
        JsonWalk walk = json_text_walk(object);
        JsonText key, value;
        int r = 0;

        while (r == 0 && walk.is_object && json_text_walk_next(&walk, &key, &value))
                if (json_text_kind(value) == JSON_KIND_NUMBER) {
                        scoped(buffer_deinit) Buffer text = {};

                        json_text_decode(key, &text);
                        r = buffer_error(&text);
                        if (r == 0)
                                r = add_key(page, text.text ?: "");
                }
        return r;
}

static const char runs_head[] =
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Latest runs\"><table>\n<thead><tr><th "
        "scope=\"col\">Component, version</th><th scope=\"col\">Time</th><th scope=\"col\" "
        "class=\"text\">Results</th><th scope=\"col\">Job</th><th scope=\"col\">Batch</th></tr></thead>\n<tbody>\n";

/*
 * Reads the latest runs; without a model, the latest run that did not fail tells which results exist. 0 or
 * EXCHANGE_ANSWERED.
 */
static int read_runs(const Target *target, const Sources *sources, Response *response, IndicatorPage *page) {
        const PointFilter *filter = &page->selection.filter;
        const ResultFilter results = {
                .name = filter->name,
                .component = filter->component,
                .since_ms = filter->since_ms,
                .until_ms = filter->until_ms,
        };
        ResultRow row;
        int r;

        r = result_reader_list(sources->reader, &results);
        while (page->n_runs < RUNS_MAX && r == 0 && (r = result_reader_next(sources->reader, &row)) == 0) {
                bool has_failed = row.has_exit_status && row.exit_status != 0;

                buffer_puts(template_word(&page->words, "runs"), page->n_runs == 0 ? runs_head : "");
                run_html(template_word(&page->words, "runs"), &row, page->vocabulary, &target->viewer);
                if (page->n_keys == 0 && !has_failed)
                        r = add_keys(page, json_text_find(json_text(row.document, strlen(row.document)), "@result"));
                page->n_runs++;
        }
        reader_reset(sources->reader);
        buffer_puts(template_word(&page->words, "runs"),
                    page->n_runs > 0 ? "</tbody>\n</table></div>\n" : "<p>No runs yet.</p>\n");
        return r == 0 || r == READER_END ? 0 : exchange_store_error(response, r);
}

static Direction direction_of(const IndicatorPage *page, const char *key) {
        scoped(buffer_deinit) Buffer text = {};

        Direction direction;

        (void)vocabulary_say(page->vocabulary, key, "direction", &text);
        direction = property_direction_find(text.text ?: "");
        return direction == DIRECTION_NONE ? DIRECTION_UNKNOWN : direction;
}

/* Checks the requested objective together with the keys of the conditions. */
static int parse(const Target *target, Response *response, IndicatorPage *page) {
        size_t first;
        int r;

        r = selection_parse(target, response, target->argument, &page->selection);
        page->objective = exchange_parameter(target, "objective");
        return r == 0 && page->objective ? selection_add_number(response, page->objective, &page->selection, &first)
                                         : r;
}

/* Chooses the requested objective, else the first result with a direction, else the first result. */
static int choose_objective(const Target *target, Response *response, IndicatorPage *page) {
        const char *text = exchange_parameter(target, "direction");
        Direction direction = property_direction_find(text ?: "");

        if (text && direction != DIRECTION_HIGHER && direction != DIRECTION_LOWER)
                return exchange_error(response, 400, "Query parameter 'direction' must be higher or lower, not '%s'",
                                      text);

        for (size_t i = 0; i < page->n_keys && !page->objective; i++)
                if (direction_of(page, page->keys[i]) != DIRECTION_UNKNOWN)
                        page->objective = page->keys[i];
        if (!page->objective)
                page->objective = page->n_keys > 0 ? page->keys[0] : "overall_score";

        page->direction = text ? direction : direction_of(page, page->objective);
        return 0;
}

/* --- the page ------------------------------------------------------------------------------------ */

/* Begins a link to the same page with another objective, or another direction; the characters of a query need no
 * escapes in HTML. */
static void put_link_begin(Buffer *out, const Target *target, const char *objective, Direction direction) {
        buffer_puts(out, "<a href=\"?objective=");
        buffer_put_encoded(out, objective);
        if (direction != DIRECTION_UNKNOWN)
                buffer_printf(out, "&amp;direction=%s", property_direction_text(direction));
        for (size_t i = 0; i < target->n_parameters; i++) {
                const Parameter *parameter = &target->parameters[i];

                if (strcmp(parameter->name, "objective") == 0 || strcmp(parameter->name, "direction") == 0)
                        continue;
                buffer_printf(out, "&amp;%s=", parameter->name);
                buffer_put_encoded(out, parameter->value);
        }
        buffer_puts(out, "\">");
}

static void put_objective(const Target *target, IndicatorPage *page) {
        Buffer *out = template_word(&page->words, "objective");
        scoped(buffer_deinit) Buffer unit = {};

        html_text(template_word(&page->words, "key"), page->objective);
        html_text(out, page->objective);
        if (vocabulary_say(page->vocabulary, page->objective, "unit", &unit) == 0 && unit.text) {
                buffer_puts(out, " in ");
                html_text(out, unit.text);
        }
        if (page->direction != DIRECTION_UNKNOWN) {
                buffer_printf(out, ": %s is better", property_direction_text(page->direction));
                return;
        }

        out = template_word(&page->words, "choice");
        buffer_puts(out, "<p>No model declares which direction is better: is it ");
        put_link_begin(out, target, page->objective, DIRECTION_HIGHER);
        buffer_puts(out, "higher</a> or ");
        put_link_begin(out, target, page->objective, DIRECTION_LOWER);
        buffer_puts(out, "lower</a>?</p>\n");
}

static void put_choice(const Target *target, IndicatorPage *page) {
        Buffer *out = template_word(&page->words, "choice");
        bool has_any = false;

        for (size_t i = 0; i < page->n_keys; i++) {
                if (strcmp(page->keys[i], page->objective) == 0)
                        continue;
                buffer_puts(out, has_any ? ", " : "<nav aria-label=\"Objective\"><p>Or by ");
                put_link_begin(out, target, page->keys[i], DIRECTION_UNKNOWN);
                html_text(out, page->keys[i]);
                buffer_puts(out, "</a>");
                has_any = true;
        }
        if (has_any)
                buffer_puts(out, "</p></nav>\n");
}

/* Selects the objective, and next to it the first other results. */
static void choose_columns(IndicatorPage *page, RankingTable *table) {
        Selection *selection = &page->selection;

        table->direction = page->direction;
        selection->filter.n_numbers = 1;
        selection->numbers[0] = page->objective;
        for (size_t i = 0; i < page->n_keys && selection->filter.n_numbers < RANKING_RESULTS_MAX; i++)
                if (strcmp(page->keys[i], page->objective) != 0)
                        selection->numbers[selection->filter.n_numbers++] = page->keys[i];

        table->n_results = selection->filter.n_numbers;
        for (size_t i = 0; i < table->n_results; i++) {
                (void)vocabulary_say(page->vocabulary, selection->numbers[i], "unit", &page->units[i]);
                table->results[i] = (RankingResult){ .key = selection->numbers[i], .unit = page->units[i].text ?: "" };
        }
}

/* Replaces the rankings by a hint; the latest runs are shown in any case. */
static int explain_too_many(Response *response, IndicatorPage *page) {
        response->status = 200;
        buffer_clear(response->body);
        buffer_puts(template_word(&page->words, "rankings"),
                    "<p>Too many results to compare at once; <code>?where=KEY=VALUE</code>, "
                    "<code>?component=NAME</code> or <code>?since_ms=TIME</code> selects fewer.</p>\n");
        return 0;
}

static int put_rankings(const Sources *sources, Response *response, IndicatorPage *page) {
        scoped(grouping_freep) Grouping *grouping = NULL;
        RankingTable table = {};
        uint64_t n_scanned;
        Group *groups;
        size_t n;
        int r;

        choose_columns(page, &table);
        if (grouping_read(sources, response, &page->selection, &ranking_fields, &grouping, &n_scanned) > 0)
                return response->status == 413 ? explain_too_many(response, page) : EXCHANGE_ANSWERED;

        groups = grouping_sorted(grouping, &n);
        r = ranking_html(template_word(&page->words, "rankings"), &table, groups, n);
        if (r < 0)
                return exchange_store_error(response, r);
        if (n == 0)
                buffer_puts(template_word(&page->words, "rankings"), "<p>No matching results.</p>\n");
        return 0;
}

static bool is_api_ranking(const Target *target) {
        return exchange_parameter(target, "by") || exchange_parameter(target, "hold") ||
               exchange_parameter(target, "across");
}

/* Ranks by the keys of the request, as the API does. */
static int put_rankings_by(const Target *target, const Sources *sources, Response *response, IndicatorPage *page) {
        Target asked = *target;

        if (!exchange_parameter(target, "objective") && asked.n_parameters < PARAMETERS_MAX)
                asked.parameters[asked.n_parameters++] = (Parameter){ "objective", page->objective };
        buffer_clear(response->body);
        indicators_subject_rank(&asked, sources, response);
        if (response->status != 200)
                return EXCHANGE_ANSWERED;
        rank_answer_html(template_word(&page->words, "rankings"), json_text(response->body->text, response->body->n));
        buffer_clear(response->body);
        return 0;
}

static int fill(const Target *target, const Sources *sources, Response *response, IndicatorPage *page) {
        int r;

        r = parse(target, response, page);
        if (r == 0)
                r = vocabulary_new(&page->vocabulary, target, sources, response, &page->selection.filter);
        if (r == 0)
                page->selection.filter.derived = vocabulary_derived(page->vocabulary);
        if (r == 0)
                r = vocabulary_check(page->vocabulary, sources, response, &page->selection);
        if (r == 0 && add_declared(page) < 0)
                r = exchange_store_error(response, -ENOMEM);
        if (r == 0)
                r = read_runs(target, sources, response, page);
        if (r == 0)
                r = choose_objective(target, response, page);
        if (r == 0)
                r = is_api_ranking(target) ? put_rankings_by(target, sources, response, page)
                                           : put_rankings(sources, response, page);
        if (r != 0)
                return r;

        html_text(template_word(&page->words, "name"), target->argument);
        html_text(template_word(&page->words, "hostname"),
                  sources->snapshot ? sources->snapshot->node.identity.hostname : "this node");
        buffer_puts(template_word(&page->words, "style"), page_assets_style_css);
        put_objective(target, page);
        put_choice(target, page);
        return 0;
}

void pages_subject_indicator(const Target *target, const Sources *sources, Response *response) {
        scoped(indicator_page_deinit) IndicatorPage page = {};

        if (fill(target, sources, response, &page) > 0)
                return;

        response->type = CONTENT_HTML;
        template_write(response->body, page_assets_indicator_html, &page.words, "");
}
