/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report_results.h"

#include "client/api/indicator_path.h"
#include "client/cli/command.h"
#include "util/utf8.h"

#define QUESTIONS_MAX 32U /* limits the number of queries; a job rarely has results of more indicators */
#define NUMBERS_SHOWN 3U

/* --- formatting ----------------------------------------------------------------------------------- */

static void put_number(Buffer *out, const char *name, const Value *value) {
        char number[TEXT_MAX];

        text_number(value_number(value), number);
        buffer_printf(out, "%s%s %s", out->n > 0 ? ", " : "", name, number);
}

static void put_numbers(Buffer *out, const Value *result) {
        size_t n = 0;

        for (size_t i = 0; i < answer_n_members(result) && n < NUMBERS_SHOWN; i++) {
                if (!value_is_number(&result->members[i].value))
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
        if (score && value_is_number(score))
                put_number(&text, "score", score);
        else
                put_numbers(&text, value_get(value_get(result, "document"), "@result"));

        utf8_copy(ret->title, sizeof(ret->title), title.text ? title.text : "");
        utf8_copy(ret->text, sizeof(ret->text), text.text ? text.text : "no number");
}

/* --- queries -------------------------------------------------------------------------------------- */

void report_results_ask(ApiQuery *indicators, ApiQuery *results, const Value *job, ReportResults *ret) {
        const Value *list;
        size_t n_asked = 0;

        *ret = (ReportResults){};
        if (api_query_try(indicators, "/api/v1/indicators") != EXIT_DONE)
                return;

        list = value_get(indicators->answer, "indicators");
        for (size_t i = 0; i < answer_length(list) && !ret->has_more; i++) {
                scoped(buffer_deinit) Buffer path = {};
                const Value *found;

                if (answer_time(&list->items[i], "latest_ms") < answer_time(job, "begin_ms"))
                        continue;
                ret->has_more = n_asked++ == QUESTIONS_MAX;
                indicator_path_begin(&path, answer_text(&list->items[i], "name"), "results?limit=1");
                indicator_path_put(&path, "job", answer_text(job, "id"));
                indicator_path_put(&path, "component", answer_text(&list->items[i], "component"));
                if (ret->has_more || buffer_error(&path) < 0 || api_query_try(results, path.text) != EXIT_DONE)
                        return;
                found = value_get(results->answer, "results");
                if (answer_length(found) == 0)
                        continue;
                if (ret->n < JOB_RESULTS_MAX)
                        report_results_format(&found->items[0], &ret->items[ret->n++]);
                else
                        ret->has_more = true;
        }
}
