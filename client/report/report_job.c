/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report.h"

#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/pipeline/verdict_text.h"
#include "util/clock.h"
#include "util/utf8.h"

#define QUESTIONS_MAX 32U /* limits the number of queries; a job rarely has results of more indicators */
#define NUMBERS_SHOWN 3U
#define PIPELINE_TIMEOUT_NS (1 * NS_PER_S)

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

        buffer_printf(&title, "%s%s%s%s", answer_text(result, "name"), *component ? " (" : "", component,
                      *component ? ")" : "");
        if (score && value_is_number(score))
                put_number(&text, "score", score);
        else
                put_numbers(&text, value_get(value_get(result, "document"), "@result"));

        utf8_copy(ret->title, sizeof(ret->title), title.text ? title.text : "");
        utf8_copy(ret->text, sizeof(ret->text), text.text ? text.text : "no results");
}

/* --- queries -------------------------------------------------------------------------------------- */

/*
 * Requests the results from perfd; both queries must be initialised. Failures are ignored: an older or busy perfd
 * yields a report without results.
 */
static void ask_results(ApiQuery *indicators, ApiQuery *results, const Value *job, ReportResults *ret) {
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
                api_query_begin_path(&path, answer_text(&list->items[i], "name"), "results?limit=1");
                api_query_put_path(&path, "job", answer_text(job, "id"));
                api_query_put_path(&path, "component", answer_text(&list->items[i], "component"));
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
        ret->has_more |= answer_flag(indicators->answer, "truncated");
}

/* --- the report of a job -------------------------------------------------------------------------- */

/* Requests the list of verdicts about the data pipelines of the job, which is empty if it has none. */
static const Value *ask_pipelines(ApiQuery *query, const GlobalOptions *global, const Value *job) {
        char path[JOB_ID_MAX + 32];

        (void)snprintf(path, sizeof(path), "/api/v1/jobs/%s/pipeline", answer_text(job, "id"));
        return value_get(api_query_peek(query, global, path, PIPELINE_TIMEOUT_NS), "verdicts");
}

/* Writes the verdict about each data pipeline of the job, if it has any. */
static void write_pipelines(Screen *screen, const Value *verdicts) {
        if (answer_length(verdicts) == 0)
                return;

        screen_heading(screen, "Data pipeline");
        for (size_t i = 0; i < answer_length(verdicts); i++)
                screen->out->failed |= verdict_text_write(&verdicts->items[i], false, 2, screen) < 0;
}

int report_print_job(const GlobalOptions *global, const Value *job, bool is_brief, int fd) {
        scoped(api_query_deinit) ApiQuery of_node = {}, of_indicators = {}, of_results = {}, of_pipelines = {};
        scoped(buffer_deinit) Buffer out = {};
        const Value *node = NULL;
        ReportResults results = {};
        Screen screen;

        /* Host name, clock and results are shown where perfd returns them. */
        if (api_query_init(&of_node, global) == EXIT_DONE)
                node = api_query_node(&of_node, job);
        if (!is_brief && api_query_init(&of_indicators, global) == EXIT_DONE &&
            api_query_init(&of_results, global) == EXIT_DONE)
                ask_results(&of_indicators, &of_results, job, &results);
        if (!is_brief)
                results.pipelines = ask_pipelines(&of_pipelines, global, job);

        screen_init(&screen, &out, fd, global->no_color);
        if (is_brief)
                report_write_head(&screen, job, node);
        else {
                report_write_job(&screen, job, node, &results);
                write_pipelines(&screen, results.pipelines);
        }
        return output_print_to(fd, &out);
}

int report_print_job_json(const GlobalOptions *global, const ApiQuery *query) {
        scoped(api_query_deinit) ApiQuery of_pipelines = {};
        const Value *verdicts = ask_pipelines(&of_pipelines, global, query->answer);
        const char *end = strrchr(query->body.text ?: "", '}');
        scoped(buffer_deinit) Buffer text = {}, out = {};

        if (answer_length(verdicts) == 0 || !end)
                return api_query_print_json(query);

        buffer_put(&text, query->body.text, (size_t)(end - query->body.text));
        buffer_puts(&text, ",\"pipelines\":");
        value_write_json(verdicts, &(Json){ .out = &text });
        buffer_puts(&text, "}\n");
        screen_json(&(Screen){ .out = &out }, text.text ?: "", text.n);
        return output_print(&out);
}
