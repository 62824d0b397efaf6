/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the numbers of an indicator over versions
 *
 * Reads the selected results into series of runs, and judges each number of each series that a model declares, or the one that the
 * request names. Changes nothing, so that equal requests over equal data have equal answers.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "http/indicators/explain_empty.h"
#include "http/indicators/result_groups.h"
#include "http/indicators/vocabulary.h"
#include "http/kpis/kpi_table.h"
#include "http/kpis/kpis_subject.h"
#include "util/clock.h"
#include "util/parse.h"

#define FDR_DEFAULT 0.05

typedef struct RegressQuery {
        char name[NAME_MAX_BYTES + 1]; /* of the indicator */
        const char *objective;         /* the only number; NULL: all that models declare */
        Selection selection;
        KpiFields fields;
        HistoryQuestion question;
        double fdr;
        JudgeDirection directions[POINT_NUMBERS_MAX];
        uint64_t n_scanned;
        uint64_t until_ns;      /* 0: without a limit */
        Vocabulary *vocabulary; /* owned */
        KpiTable *table;        /* owned */
        Buffer note;            /* owned */
        struct JudgedNumber *kpis;       /* owned */
        size_t n_kpis;
} RegressQuery;

/* One number of one series. */
typedef struct JudgedNumber {
        const KpiSeries *series; /* borrowed */
        size_t number;
        HistoryVerdict verdict;
} JudgedNumber;

static void regress_deinit(RegressQuery *query) {
        vocabulary_free(query->vocabulary);
        kpi_table_free(query->table);
        buffer_deinit(&query->note);
        free(query->kpis);
}

/* --- the request ---------------------------------------------------------------------------------- */

/* Finds a word in a list that ends with NULL. */
static int parse_word(Exchange *exchange, const char *parameter, const char *const *words, int *ret) {
        const char *text = exchange_parameter(exchange, parameter);
        scoped(buffer_deinit) Buffer list = {};

        *ret = 0;
        if (!text)
                return 0;
        for (int i = 0; words[i]; i++) {
                if (strcmp(words[i], text) == 0) {
                        *ret = i;
                        return 0;
                }
                buffer_printf(&list, "%s%s", i > 0 ? ", " : "", words[i]);
        }
        return exchange_error(exchange, 400, "query parameter '%s' must be one of %s, not '%s'", parameter, list.text ?: "", text);
}

/* NAME is an indicator, or INDICATOR.RESULT if no indicator has this name. */
static int parse_name(Exchange *exchange, RegressQuery *query) {
        const char *given = exchange->argument, *dot = strrchr(given, '.');
        bool is_indicator = false;
        int r = 0;

        query->objective = exchange_parameter(exchange, "objective");
        if (dot && !query->objective)
                r = result_groups_any(exchange, &(PointFilter){ .name = given }, &is_indicator);
        if (r != 0)
                return r;
        if (!dot || query->objective || is_indicator || dot == given || !dot[1])
                dot = NULL;
        if (dot)
                query->objective = dot + 1;
        if ((dot ? (size_t)(dot - given) : strlen(given)) > NAME_MAX_BYTES)
                return exchange_error(exchange, 400, "indicator name has more than %u characters", NAME_MAX_BYTES);
        memcpy(query->name, given, dot ? (size_t)(dot - given) : strlen(given));
        return 0;
}

static int parse_across(Exchange *exchange, RegressQuery *query) {
        const char *text = exchange_parameter(exchange, "across");

        if (text && strcmp(text, "hardware") != 0)
                return exchange_error(exchange, 400, "query parameter 'across' must be hardware, not '%s'", text);
        query->fields.is_across_hardware = text || selection_has_field(&query->selection, "hardware");
        return 0;
}

static int parse_method(Exchange *exchange, RegressQuery *query) {
        const char *text = exchange_parameter(exchange, "fdr");
        int method, order, r;

        query->fdr = FDR_DEFAULT;
        if (text && (parse_double(text, &query->fdr) != 0 || query->fdr <= 0 || query->fdr > 1))
                return exchange_error(exchange, 400, "query parameter 'fdr' must be a number above 0 and at most 1, not '%s'", text);
        r = parse_word(exchange, "method", judge_method_names, &method);
        if (r == 0)
                r = parse_word(exchange, "order", history_order_names, &order);
        if (r == 0)
                query->question = (HistoryQuestion){
                        .order = (HistoryOrder)order, .current = exchange_parameter(exchange, "current"),
                        .judge = { .method = (JudgeMethod)method, .hunter = HUNTER_DEFAULTS, .shift = SHIFT_DEFAULTS },
                };
        return r;
}

static int add_numbers(Exchange *exchange, RegressQuery *query) {
        const char *result;
        size_t unused;
        int r = 0;

        if (query->objective)
                return selection_add_number(exchange, query->objective, &query->selection, &unused);
        for (size_t i = 0; r == 0 && (result = vocabulary_declared_result(query->vocabulary, i)); i++)
                r = selection_add_number(exchange, result, &query->selection, &unused);
        if (r == 0 && query->selection.filter.n_numbers == 0) {
                scoped(buffer_deinit) Buffer list = {};

                if (vocabulary_list_results(query->vocabulary, exchange, "", &list) > 0)
                        return EXCHANGE_ANSWERED;
                return exchange_error(exchange, 400, "no model of %s declares results; name one as %s.RESULT. Available: %s", query->name,
                                      query->name, list.text ?: "");
        }
        return r;
}

/* Takes the direction of the request, else of the models. A result of which neither is better changes, and does not regress. */
static int find_directions(Exchange *exchange, RegressQuery *query) {
        static const char *const words[] = { "none", "lower", "higher", NULL };
        int given, r;

        r = parse_word(exchange, "direction", words, &given);
        for (size_t i = 0; r == 0 && i < query->selection.filter.n_numbers; i++) {
                scoped(buffer_deinit) Buffer declared = {};

                query->directions[i] = (JudgeDirection)given;
                if (exchange_parameter(exchange, "direction") ||
                    vocabulary_say(query->vocabulary, query->selection.numbers[i], "direction", &declared) != 0)
                        continue;
                query->directions[i] = strcmp(declared.text, "lower") == 0    ? JUDGE_LOWER
                                       : strcmp(declared.text, "higher") == 0 ? JUDGE_HIGHER
                                                                              : JUDGE_NEITHER;
        }
        return r;
}

static int parse(Exchange *exchange, RegressQuery *query) {
        Selection *selection = &query->selection;
        int r;

        r = parse_name(exchange, query);
        if (r == 0)
                r = selection_parse(exchange, query->name, selection);
        if (r == 0)
                r = selection_parse_fields(exchange, "compare_by", exchange_parameter(exchange, "compare_by") ?: "version",
                                           &selection->fields);
        if (r == 0)
                r = selection_parse_fields(exchange, "ignore", exchange_parameter(exchange, "ignore"), &selection->across);
        if (r == 0)
                r = parse_across(exchange, query);
        if (r == 0)
                r = parse_method(exchange, query);
        if (r == 0)
                r = vocabulary_new(&query->vocabulary, exchange, &selection->filter);
        if (r == 0)
                r = add_numbers(exchange, query);
        if (r == 0)
                r = vocabulary_check(query->vocabulary, exchange, selection);
        if (r == 0)
                r = find_directions(exchange, query);
        query->fields.compared = &selection->fields;
        query->fields.ignored = &selection->across;
        return r;
}

/* --- the runs ------------------------------------------------------------------------------------- */

static int say_many(Exchange *exchange, int outcome) {
        if (outcome == KPI_MANY_SERIES)
                return exchange_error(exchange, 413, "the selected results form more than %u series; select fewer with where= or "
                                                     "component=, or name parameters that do not matter with ignore=", KPI_SERIES_MAX);
        if (outcome == KPI_MANY_RUNS)
                return exchange_error(exchange, 413, "more than %u numbers, or %u versions, to judge; select fewer with where= or "
                                                     "since_ms=, or name one result", KPI_RUNS_MAX, KPI_VERSIONS_MAX);
        return exchange_store_error(exchange, outcome);
}

static int check_time(Exchange *exchange, const RegressQuery *query) {
        if (query->until_ns == 0 || clock_boottime_ns() <= query->until_ns)
                return 0;
        return exchange_error(exchange, 503, "the verdicts take longer than query_timeout; select fewer results with where= or since_ms=");
}

static int read_runs(Exchange *exchange, RegressQuery *query) {
        scoped(points_freep) Points *points = NULL;
        PointRow row;
        int r;

        if (exchange->query_timeout_ns > 0)
                query->until_ns = clock_boottime_ns() + exchange->query_timeout_ns;
        r = kpi_table_new(&query->table, &query->fields, query->selection.filter.n_numbers);
        if (r == 0)
                r = points_new(&points, exchange->reader, &query->selection.filter);
        while (r == 0 && (r = points_next(points, &row)) == 0) {
                int added = kpi_table_add(query->table, &row);

                if (added != 0)
                        return say_many(exchange, added);
                if (check_time(exchange, query) > 0)
                        return EXCHANGE_ANSWERED;
                query->n_scanned++;
        }
        if (r != READER_END)
                return exchange_store_error(exchange, r);
        kpi_table_sort(query->table);
        return 0;
}

/* --- the verdicts --------------------------------------------------------------------------------- */

/* Series without a run of the judged version are not part of the answer: they have no news. */
static int judge_number(Exchange *exchange, RegressQuery *query, KpiSeries *series, size_t number) {
        KpiRuns *runs = &series->runs[number];
        JudgedNumber *kpi = &query->kpis[query->n_kpis];
        int r;

        if (runs->n == 0)
                return 0;
        if (check_time(exchange, query) > 0)
                return EXCHANGE_ANSWERED;
        query->question.judge.direction = query->directions[number];
        r = history_judge(runs->items, runs->n, &query->question, &kpi->verdict);
        if (r < 0)
                return exchange_store_error(exchange, r);
        kpi->series = series;
        kpi->number = number;
        query->n_kpis += r == 0;
        return 0;
}

static int judge_all(Exchange *exchange, RegressQuery *query) {
        size_t n, n_numbers = query->selection.filter.n_numbers;
        KpiSeries *series = kpi_table_series(query->table, &n);
        scoped(freep) HistoryVerdict **verdicts = calloc(n * n_numbers + 1, sizeof(HistoryVerdict *));
        int r = 0;

        query->kpis = calloc(n * n_numbers + 1, sizeof(*query->kpis));
        if (!query->kpis || !verdicts)
                return exchange_store_error(exchange, -ENOMEM);
        for (size_t i = 0; r == 0 && i < n; i++)
                for (size_t number = 0; r == 0 && number < n_numbers; number++)
                        r = judge_number(exchange, query, &series[i], number);
        if (r != 0)
                return r;
        if (query->n_kpis == 0 && n > 0 && query->question.current)
                return exchange_error(exchange, 404, "no selected result of %s has the version '%s'", query->name, query->question.current);

        for (size_t i = 0; i < query->n_kpis; i++)
                verdicts[i] = &query->kpis[i].verdict;
        (void)history_limit_false_changes(verdicts, query->n_kpis, query->fdr);
        return 0;
}

/* --- the answer ----------------------------------------------------------------------------------- */

static void write_verdict(Json *json, const HistoryVerdict *verdict) {
        json_put_string(json, "verdict", judge_verdict_names[verdict->verdict]);
        json_put_double(json, "relative_change", verdict->relative);
        json_put_double(json, "low", verdict->low);
        json_put_double(json, "high", verdict->high);
        json_put_double(json, "p_value", verdict->p_value);
        json_put_string(json, "version", verdict->version);
        json_put_string(json, "since_version", verdict->since_version);
        if (verdict->since_ms > 0)
                json_put_uint(json, "since_ms", verdict->since_ms);
        json_put_double(json, "smallest_change", verdict->smallest);
        json_put_uint(json, "runs_needed", verdict->n_needed);
        json_put_string(json, "order", history_order_names[verdict->order]);
        json_put_uint(json, "runs", verdict->n);
        json_put_uint(json, "versions", verdict->n_versions);
        json_put_object_begin(json, "left_out");
        json_put_uint(json, "later", verdict->n_later);
        json_put_uint(json, "older", verdict->n_older);
}

static void write_kpi(Json *json, const RegressQuery *query, const JudgedNumber *kpi) {
        static const char *const directions[] = { [JUDGE_NEITHER] = "none", [JUDGE_LOWER] = "lower", [JUDGE_HIGHER] = "higher" };
        const char *result = query->selection.numbers[kpi->number];
        scoped(buffer_deinit) Buffer name = {}, unit = {};

        buffer_printf(&name, "%s.%s", query->name, result);
        json_object_begin(json);
        json_put_string(json, "kpi", name.text);
        if (vocabulary_say(query->vocabulary, result, "unit", &unit) == 0)
                json_put_string(json, "unit", unit.text);
        json_put_string(json, "direction", directions[query->directions[kpi->number]]);
        json_key(json, "labels");
        json_raw(json, kpi->series->labels);
        write_verdict(json, &kpi->verdict);
        json_put_uint(json, "failed", kpi->series->n_failed);
        json_object_end(json);
        json_object_end(json);
}

static void write_answer(Exchange *exchange, const RegressQuery *query) {
        Json json = { .out = exchange->body };
        uint64_t counts[N_JUDGE_VERDICTS] = {};

        json_object_begin(&json);
        json_put_string(&json, "name", query->name);
        json_put_string(&json, "method", judge_method_names[query->question.judge.method]);
        json_put_double(&json, "fdr", query->fdr);
        json_put_array_begin(&json, "kpis");
        for (size_t i = 0; i < query->n_kpis; i++) {
                write_kpi(&json, query, &query->kpis[i]);
                counts[query->kpis[i].verdict.verdict]++;
        }
        json_array_end(&json);
        json_put_object_begin(&json, "counts");
        for (JudgeVerdict i = 0; i < N_JUDGE_VERDICTS; i++)
                json_put_uint(&json, judge_verdict_names[i], counts[i]);
        json_object_end(&json);
        json_put_uint(&json, "scanned", query->n_scanned);
        json_put_string(&json, "note", query->note.text);
        json_object_end(&json);
}

void kpis_subject_regress(Exchange *exchange) {
        scoped(regress_deinit) RegressQuery query = {};

        if (parse(exchange, &query) > 0 || read_runs(exchange, &query) > 0 || judge_all(exchange, &query) > 0)
                return;
        if (query.n_scanned == 0 && explain_empty(exchange, &query.selection.filter, &query.note) > 0)
                return;
        write_answer(exchange, &query);
}
