/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/regress_pass.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "http/kpis/kpi_profile.h"
#include "http/kpis/kpi_table.h"
#include "util/clock.h"

typedef struct Pass {
        RegressRequest *request; /* borrowed */
        const char *name;
        Selection selection;
        Vocabulary *vocabulary; /* owned */
        KpiRules rules;
        JudgeDirection directions[POINT_NUMBERS_MAX];
        size_t next; /* declared result with which to continue */
        bool has_results, has_numbers;
} Pass;

static Pass *pass_free(Pass *pass) {
        if (pass) {
                kpi_table_rules_deinit(&pass->rules);
                vocabulary_free(pass->vocabulary);
        }
        free(pass);
        return NULL;
}
DEFINE_SCOPED(Pass, pass_free);

/* --- results -------------------------------------------------------------------------------------- */

static bool is_judged(const Pass *pass, const char *result) {
        JsonText ignored = vocabulary_result_member(pass->vocabulary, result, "ignored_for_regression");
        const char *pattern = pass->request->pattern;

        return !(json_text_kind(ignored) == JSON_KIND_BOOL && *ignored.text == 't') &&
               (!pattern || accepted_levels_matches(pattern, pass->name, result));
}

/* Takes the direction of the request, otherwise of the models. A result without a better direction changes, but does not regress. */
static JudgeDirection find_direction(const Pass *pass, const Target *target, const char *result) {
        const char *given = exchange_parameter(target, "direction");
        scoped(buffer_deinit) Buffer declared = {};

        if (!given && vocabulary_say(pass->vocabulary, result, "direction", &declared) == 0)
                given = declared.text;
        if (!given)
                return JUDGE_NEITHER;
        return strcmp(given, "lower") == 0 ? JUDGE_LOWER : strcmp(given, "higher") == 0 ? JUDGE_HIGHER : JUDGE_NEITHER;
}

static int say_undeclared(const Sources *sources, Response *response, Pass *pass) {
        scoped(buffer_deinit) Buffer list = {};

        if (pass->request->pattern)
                return 0;
        if (vocabulary_list_results(pass->vocabulary, sources, response, "", &list) > 0)
                return EXCHANGE_ANSWERED;
        return exchange_error(response, 400, "%s has no model: name a result as %s.RESULT, or add a model. Available: %s", pass->name,
                              pass->name, list.text ?: "");
}

/* Takes the next results to read, as many as fit in one query of the store; none at the end. */
static int add_numbers(const Target *target, const Sources *sources, Response *response, Pass *pass) {
        PointFilter *filter = &pass->selection.filter;
        const char *result = pass->request->result;
        size_t unused;
        int r = 0;

        filter->n_numbers = 0;
        if (result && pass->next++ == 0)
                r = selection_add_number(response, result, &pass->selection, &unused);
        while (!result && r == 0 && filter->n_numbers < POINT_NUMBERS_MAX) {
                const char *declared = vocabulary_declared_result(pass->vocabulary, pass->next);

                if (!declared)
                        break;
                pass->next++;
                if (is_judged(pass, declared))
                        r = selection_add_number(response, declared, &pass->selection, &unused);
        }
        if (r == 0 && pass->next == 0)
                return say_undeclared(sources, response, pass);
        pass->has_numbers |= filter->n_numbers > 0;
        for (size_t i = 0; i < filter->n_numbers; i++)
                pass->directions[i] = find_direction(pass, target, pass->selection.numbers[i]);
        return r;
}

/* --- runs ----------------------------------------------------------------------------------------- */

static int refuse_more(Response *response, int outcome) {
        if (outcome == KPI_MANY_SERIES)
                return exchange_error(response, 413, "the selected results form more than %u series, or %u bytes of labels and versions; "
                                                     "select fewer with where= or component=, or name parameters that do not matter with "
                                                     "ignore=",
                                      KPI_SERIES_MAX, KPI_TABLE_TEXT_MAX);
        if (outcome == KPI_MANY_RUNS)
                return exchange_error(response, 413, "the results to judge take more than %u bytes, or have more than %u versions or "
                                                     "%u bytes of labels and versions; select fewer with where= or since_ms=, or name one "
                                                     "result",
                                      KPI_TABLE_BYTES_MAX, KPI_VERSIONS_MAX, KPI_TABLE_TEXT_MAX);
        return exchange_store_error(response, outcome);
}

int regress_pass_check_time(Response *response, const RegressRequest *request) {
        if (request->until_ns == 0 || clock_boottime_ns() <= request->until_ns)
                return 0;
        return exchange_error(response, 503, "the verdicts take longer than query_timeout; select fewer results with where= or since_ms=");
}

static int read_runs(const Sources *sources, Response *response, Pass *pass, KpiTable *table) {
        scoped(points_freep) Points *points = NULL;
        PointRow row;
        int r;

        r = points_new(&points, sources->reader, &pass->selection.filter);
        while (r == 0 && (r = points_next(points, &row)) == 0) {
                int added = kpi_table_add(table, &row);

                if (added != 0)
                        return refuse_more(response, added);
                if (regress_pass_check_time(response, pass->request) > 0)
                        return EXCHANGE_ANSWERED;
                pass->has_results = true;
                pass->request->n_scanned++;
        }
        if (r != READER_END)
                return exchange_store_error(response, r);
        kpi_table_sort(table);
        return 0;
}

/* --- verdicts ------------------------------------------------------------------------------------- */

static int keep(Response *response, const Pass *pass, const KpiSeries *series, size_t number, const AcceptedLevel *accepted,
                const HistoryVerdict *verdict, const Buffer *profile) {
        const char *result = pass->selection.numbers[number];
        scoped(buffer_deinit) Buffer name = {}, unit = {};
        int r;

        buffer_printf(&name, "%s.%s", pass->name, result);
        (void)vocabulary_say(pass->vocabulary, result, "unit", &unit);
        if (buffer_error(&name) < 0 || buffer_error(&unit) < 0)
                return exchange_store_error(response, -ENOMEM);
        r = judged_kpis_add(&pass->request->kpis, &(JudgedKpi){
                .name = name.text, .unit = unit.text, .labels = series->labels,
                .profile = profile->text, .version = (char *)verdict->version,
                .since_version = (char *)verdict->since_version, .direction = pass->directions[number], .n_failed = series->n_failed,
                .accepted = verdict->accepted_ms > 0 ? accepted : NULL, .accepted_version = (char *)verdict->accepted_version,
                .verdict = *verdict,
        });
        if (r == JUDGED_KPIS_FULL)
                return exchange_error(response, 413, "more than %u KPIs, or %u bytes of labels, to judge; name some, such as %s, or select "
                                                     "fewer with where=",
                                      JUDGED_KPIS_MAX, JUDGED_KPIS_TEXT_MAX, name.text);
        return r < 0 ? exchange_store_error(response, r) : 0;
}

static bool is_change(const HistoryVerdict *verdict) {
        return verdict->verdict != JUDGE_NO_CHANGE && verdict->verdict != JUDGE_UNKNOWN;
}

/* Reads the state of the machine during the runs, and asks for further runs if it may explain why a number got worse. */
static int add_profile(const Sources *sources, Response *response, Pass *pass, const KpiRuns *runs, HistoryVerdict *verdict, Buffer *ret) {
        bool is_disturbed = false;
        int r;

        if (!is_change(verdict) || pass->request->question.is_compat || pass->request->n_profiles == KPI_PROFILES_MAX)
                return 0;
        pass->request->n_profiles++;
        r = kpi_profile_write(sources->reader, runs->items, verdict->since, verdict->n, ret, &is_disturbed);
        if (r != 0)
                return exchange_store_error(response, r);
        if (is_disturbed && verdict->verdict != JUDGE_IMPROVEMENT)
                history_ask_rerun(verdict);
        return 0;
}

/* Series without a run of the judged version are not part of the answer: they have no new run. */
static int judge_number(const Sources *sources, Response *response, Pass *pass, const KpiSeries *series, size_t number, KpiRuns *runs) {
        HistoryQuestion question = pass->request->question;
        const AcceptedLevel *accepted;
        scoped(buffer_deinit) Buffer profile = {};
        HistoryVerdict verdict;
        int r;

        if (runs->n == 0)
                return 0;
        if (regress_pass_check_time(response, pass->request) > 0)
                return EXCHANGE_ANSWERED;
        question.judge.direction = pass->directions[number];
        accepted = accepted_levels_find(&pass->request->accepted, pass->name, pass->selection.numbers[number], series->labels);
        question.accepted_ms = accepted ? accepted->until_ms : 0;
        r = history_judge(runs->items, runs->n, &question, &verdict);
        if (r < 0)
                return exchange_store_error(response, r);
        if (r == HISTORY_NO_CURRENT)
                return 0;
        r = add_profile(sources, response, pass, runs, &verdict, &profile);
        return r == 0 ? keep(response, pass, series, number, accepted, &verdict, &profile) : r;
}

static int judge_numbers(const Sources *sources, Response *response, Pass *pass) {
        size_t n, n_numbers = pass->selection.filter.n_numbers;
        scoped(kpi_table_freep) KpiTable *table = NULL;
        scoped(kpi_table_runs_deinit) KpiRuns runs = {};
        KpiSeries *series;
        int r;

        r = vocabulary_check(pass->vocabulary, sources, response, &pass->selection);
        if (r != 0)
                return r;
        r = kpi_table_new(&table, &pass->rules, n_numbers);
        if (r < 0)
                return exchange_store_error(response, r);
        r = read_runs(sources, response, pass, table);
        if (r != 0)
                return r;
        series = kpi_table_series(table, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                for (size_t number = 0; r == 0 && number < n_numbers; number++) {
                        r = kpi_table_find_runs(table, &series[i], number, &runs);
                        r = r < 0 ? exchange_store_error(response, r) : judge_number(sources, response, pass, &series[i], number, &runs);
                }
        return r;
}

/* --- the pass ------------------------------------------------------------------------------------- */

static int begin(const Target *target, const Sources *sources, Response *response, Pass *pass, const char *component) {
        PointFilter *filter = &pass->selection.filter;
        int r;

        r = selection_parse(target, response, pass->name, &pass->selection);
        if (r != 0)
                return r;
        filter->with_batches = true;
        if (component)
                filter->component = component;
        r = component ? vocabulary_new_known(&pass->vocabulary, target, sources, response, filter) :
                        vocabulary_new(&pass->vocabulary, target, sources, response, filter);
        if (r == 0)
                filter->derived = vocabulary_derived(pass->vocabulary);
        return r != 0 ? r : kpi_table_read_rules(target, response, pass->vocabulary, &pass->selection, &pass->rules);
}

/* The names of facts in the lists of the model and of the request have to be read as well. */
static void add_fields(Pass *pass, const char **fields) {
        size_t n = 0;

        for (size_t i = 0; i < pass->rules.compared.n; i++)
                fields[n++] = pass->rules.compared.items[i];
        for (size_t i = 0; i < pass->rules.n_entries; i++)
                fields[n++] = pass->rules.entries[i].key;
        pass->selection.filter.with_labels |= pass->rules.has_undeclared;
        pass->selection.filter.fields = fields;
        pass->selection.filter.n_fields = n;
}

int regress_pass(const Target *target, const Sources *sources, Response *response, RegressRequest *request, const char *name,
                 const char *component) {
        scoped(pass_freep) Pass *pass = calloc(1, sizeof(*pass));
        const char *fields[NAMES_MAX + KPI_ENTRIES_MAX];
        int r;

        if (!pass)
                return exchange_store_error(response, -ENOMEM);
        pass->request = request;
        pass->name = name;
        r = begin(target, sources, response, pass, component);
        if (r == 0)
                add_fields(pass, fields);
        while (r == 0 && (r = add_numbers(target, sources, response, pass)) == 0 && pass->selection.filter.n_numbers > 0)
                r = judge_numbers(sources, response, pass);
        if (r != 0 || pass->has_results || request->pattern || request->note.n > 0)
                return r;
        if (pass->has_numbers)
                r = vocabulary_explain_empty(pass->vocabulary, target, sources, response, &pass->selection, &request->note);
        else
                buffer_printf(&request->note, "the models of %s declare no result that is judged; name one as %s.RESULT", name, name);
        return r;
}
