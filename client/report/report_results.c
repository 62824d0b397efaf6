/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report_results.h"

#include <stdio.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/text.h"
#include "util/utf8.h"

#define QUESTIONS_MAX 32U /* more indicators than that were seldom measured within one job */
#define NUMBERS_SHOWN 3U

/* --- in words ------------------------------------------------------------------------------------- */

static void put_number(Buffer *out, const char *name, const Value *value) {
        char number[TEXT_MAX];

        text_number(value->type == VALUE_INT ? (double)value->integer : value->number, number);
        buffer_printf(out, "%s%s %s", out->n > 0 ? ", " : "", name, number);
}

static bool is_number(const Value *value) {
        return value->type == VALUE_INT || value->type == VALUE_DOUBLE;
}

static void put_numbers(Buffer *out, const Value *result) {
        size_t n = 0;

        for (size_t i = 0; result && result->type == VALUE_OBJECT && i < result->n_members && n < NUMBERS_SHOWN; i++) {
                if (!is_number(&result->members[i].value))
                        continue;
                put_number(out, result->members[i].key, &result->members[i].value);
                n++;
        }
}

void report_results_format(const Value *result, ReportResult *ret) {
        const char *component = answer_text(result, "component");
        const Value *score = value_get(result, "score");
        scoped(buffer_deinit) Buffer title = {}, text = {};

        buffer_printf(&title, "%s%s%s%s", answer_text(result, "name"), *component ? " (" : "", component, *component ? ")" : "");
        if (score && is_number(score))
                put_number(&text, "score", score);
        else
                put_numbers(&text, value_get(value_get(result, "document"), "@result"));

        utf8_copy(ret->title, sizeof(ret->title), title.text ? title.text : "");
        utf8_copy(ret->text, sizeof(ret->text), text.text ? text.text : "no number");
}

/* --- asking --------------------------------------------------------------------------------------- */

/* An indicator that had a result since the job began. */
typedef struct ResultIndicator {
        char *path; /* owned; the query for the job's latest result of it */
} ResultIndicator;

typedef struct Indicators {
        ResultIndicator items[QUESTIONS_MAX];
        size_t n;
        bool has_more;
} Indicators;

static void indicators_deinit(Indicators *indicators) {
        for (size_t i = 0; i < indicators->n; i++)
                free(indicators->items[i].path);
}

static char *make_path(const Value *indicator, const char *job) {
        scoped(buffer_deinit) Buffer path = {};

        buffer_puts(&path, "/api/v1/indicators/");
        buffer_put_encoded(&path, answer_text(indicator, "name"));
        buffer_puts(&path, "/results?limit=1&job=");
        buffer_put_encoded(&path, job);
        buffer_puts(&path, "&component=");
        buffer_put_encoded(&path, answer_text(indicator, "component"));
        return buffer_take(&path);
}

static void choose_indicators(const Value *answer, const Value *job, Indicators *ret) {
        const Value *list = value_get(answer, "indicators");
        uint64_t begin_ms = answer_time(job, "begin_ms");

        for (size_t i = 0; list && list->type == VALUE_LIST && i < list->n_items; i++) {
                char *path;

                if (answer_time(&list->items[i], "latest_ms") < begin_ms)
                        continue;
                if (ret->n == QUESTIONS_MAX) {
                        ret->has_more = true;
                        return;
                }
                path = make_path(&list->items[i], answer_text(job, "id"));
                if (!path)
                        return;
                ret->items[ret->n++].path = path;
        }
}

void report_results_ask(ApiQuery *query, const Value *job, ReportResults *ret) {
        scoped(indicators_deinit) Indicators indicators = {};

        *ret = (ReportResults){};
        if (api_query_try(query, "/api/v1/indicators") != EXIT_DONE)
                return;

        choose_indicators(query->answer, job, &indicators);
        ret->has_more = indicators.has_more;
        for (size_t i = 0; i < indicators.n; i++) {
                const Value *results;

                if (api_query_try(query, indicators.items[i].path) != EXIT_DONE)
                        return;
                results = value_get(query->answer, "results");
                if (!results || results->type != VALUE_LIST || results->n_items == 0)
                        continue;
                if (ret->n == JOB_RESULTS_MAX) {
                        ret->has_more = true;
                        return;
                }
                report_results_format(&results->items[0], &ret->items[ret->n++]);
        }
}
