/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kpi/kpi_judge.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/api/api_query.h"
#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/cli/screen.h"
#include "client/kpi/kpi_report.h"

static bool is_same_indicator(const Indicator *a, const Indicator *b) {
        return strcmp(a->name, b->name) == 0 && strcasecmp(a->component ?: "", b->component ?: "") == 0;
}

/* Returns true if the item has all parameters of the KPI. */
static bool has_parameters_of(const Value *kpi, const Indicator *indicator) {
        const Value *wanted = value_get(value_get(kpi, "labels"), "parameters"),
                    *given = value_get(indicator->document, "@parameters");

        for (size_t i = 0; i < answer_n_members(wanted); i++) {
                const Value *value = value_get(given, wanted->members[i].key);

                if (!value_equals(value, &wanted->members[i].value))
                        return false;
        }
        return true;
}

/*
 * Returns true if the judged run of the KPI is one of the items. Other KPIs may have its parameters: of other
 * hardware, or without one of them.
 */
static bool is_kpi_of_any(const Value *kpi, const Indicator *indicator, const Submission *items, size_t n_items) {
        int64_t time_ms = 0;

        (void)value_get_int(kpi, "time_ms", &time_ms);
        for (size_t i = 0; i < n_items; i++)
                if (items[i].time_ms == (uint64_t)time_ms && is_same_indicator(&items[i].indicator, indicator) &&
                    has_parameters_of(kpi, &items[i].indicator))
                        return true;
        return false;
}

static void put_kpi(Screen *screen, const Value *kpi) {
        scoped(buffer_deinit) Buffer text = {};

        kpi_report_put_name(kpi, &text);
        buffer_puts(&text, ": ");
        kpi_report_put_reason(kpi, &text);
        screen_text(screen, text.text ?: "");
        buffer_putc(screen->out, '\n');
}

bool kpi_judge_is_of(const Value *kpi, const Submission *items, size_t n_items) {
        for (size_t i = 0; i < n_items; i++)
                if (is_kpi_of_any(kpi, &items[i].indicator, &items[i], 1))
                        return true;
        return false;
}

int kpi_judge_print(const GlobalOptions *global, const Value *kpis, size_t n_kpis, int fd) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, fd, global->no_color);
        for (size_t i = 0; i < n_kpis; i++)
                put_kpi(&screen, &kpis[i]);
        return output_print_to(fd, &out);
}

static int judge_indicator(ApiQuery *query, const Indicator *indicator, const Submission *items, size_t n_items,
                           Screen *screen, KpiTally *tally) {
        scoped(buffer_deinit) Buffer path = {};
        const Value *kpis;
        int r;

        buffer_puts(&path, "/api/v1/kpis/");
        buffer_put_encoded(&path, indicator->name);
        buffer_puts(&path, "/regress");
        api_query_put_path(&path, "component", indicator->component);
        r = api_query_ask_path(query, &path);
        if (r != EXIT_DONE)
                return r;
        kpis = value_get(query->answer, "kpis");
        for (size_t i = 0; i < answer_length(kpis); i++)
                if (is_kpi_of_any(&kpis->items[i], indicator, items, n_items)) {
                        put_kpi(screen, &kpis->items[i]);
                        kpi_gate_count(tally, &kpis->items[i]);
                }
        return EXIT_DONE;
}

static bool is_first(const Submission *items, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (is_same_indicator(&items[k].indicator, &items[i].indicator))
                        return false;
        return true;
}

int kpi_judge(const GlobalOptions *global, const KpiGate *gate, const Submission *items, size_t n_items, int fd) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer out = {};
        size_t n_indicators = 0;
        KpiTally tally = {};
        Screen screen;
        int r;

        screen_init(&screen, &out, fd, global->no_color);
        r = api_query_init(&query, global);
        for (size_t i = 0; r == EXIT_DONE && i < n_items; i++) {
                if (!is_first(items, i))
                        continue;
                if (n_indicators++ == KPI_JUDGE_INDICATORS_MAX) {
                        message_print("judged the first %u indicators; perfctl kpi check judges all",
                                      KPI_JUDGE_INDICATORS_MAX);
                        break;
                }
                r = judge_indicator(&query, &items[i].indicator, items, n_items, &screen, &tally);
        }
        if (r == EXIT_DONE)
                r = output_print_to(fd, &out);
        return r == EXIT_DONE ? kpi_gate_status(gate, &tally) : r;
}

int kpi_judge_job(const GlobalOptions *global, const KpiGate *gate, const char *job, int fd) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(freep) Submission *items = NULL;
        scoped(buffer_deinit) Buffer path = {};
        const Value *results;
        size_t n;
        int r;

        buffer_printf(&path, "/api/v1/results?limit=%u", KPI_JUDGE_RESULTS_MAX);
        api_query_put_path(&path, "job", job);
        r = api_query_open_path(&query, global, &path);
        if (r != EXIT_DONE)
                return r;
        results = value_get(query.answer, "results");
        n = answer_length(results);
        if (n == KPI_JUDGE_RESULTS_MAX)
                message_print("judged the newest %u results of the job; perfctl kpi check judges all",
                              KPI_JUDGE_RESULTS_MAX);
        items = calloc(n + 1, sizeof(*items));
        if (!items) {
                message_print("cannot judge the results: out of memory");
                return EXIT_FAILED;
        }
        for (size_t i = 0; i < n; i++) {
                int64_t time_ms = 0;

                (void)value_get_int(&results->items[i], "time_ms", &time_ms);
                items[i].time_ms = (uint64_t)time_ms;
                items[i].indicator = (Indicator){
                        .name = answer_text(&results->items[i], "name"),
                        .component = answer_text(&results->items[i], "component"),
                        .document = value_get(&results->items[i], "document"),
                };
        }
        return kpi_judge(global, gate, items, n, fd);
}
