/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the numbers of indicators over versions
 *
 * Finds the indicators that the request names, and judges each of them for each component, by the rules of the model
 * in effect there. Changes nothing, so that equal requests over equal data have equal answers.
 */
#include "http/kpis/kpis_subject.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/exchange.h"
#include "http/indicators/vocabulary.h"
#include "http/kpis/accepted_levels.h"
#include "http/kpis/judged_kpis.h"
#include "http/kpis/kpi_profile.h"
#include "http/kpis/kpi_table.h"
#include "http/kpis/run_labels.h"
#include "http/metrics.h"
#include "store/indicators/indicator_reader.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/parse.h"

#define FDR_DEFAULT 0.05
#define TARGETS_MAX 5000U /* pairs of an indicator and a component in a request */

/* The common part of the passes of a request; strings are borrowed. */
typedef struct RegressRequest {
        /* KPIs to judge, such as *.rate, by fnmatch(3); NULL: by the name of the indicator or result */
        const char *pattern;
        const char *result;  /* the only result; NULL: all that models declare and do not ignore for this */
        HistoryQuestion question;
        bool with_changes;
        double fdr;
        AcceptedLevels accepted; /* owned */
        uint64_t until_ns; /* 0: without a limit */
        JudgedKpis kpis;   /* owned */
        uint64_t n_scanned;
        size_t n_profiles; /* read; at most KPI_PROFILES_MAX */
        RunLabels *labels; /* owned */
        Buffer note; /* owned; why no result was read */
} RegressRequest;

/* --- one indicator of one component ---------------------------------------------------------------- */

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

/* Takes the direction of the request, otherwise of the models. A result without a better direction changes, but does
 * not regress. */
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
        return exchange_error(response, 400,
                              "%s has no model: name a result as %s.RESULT, or add a model. Available: %s", pass->name,
                              pass->name, list.text ?: "");
}

/* Takes the next results to read, as many as fit in one query of the store; none at the end. Without a model, a result
 * with the name of the indicator is a KPI, as `perfctl kpi submit` stores it. */
static int add_numbers(const Target *target, const Sources *sources, Response *response, Pass *pass) {
        PointFilter *filter = &pass->selection.filter;
        const char *result = pass->request->result;
        bool is_own = false;
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
        if (r == 0 && pass->next == 0) {
                r = vocabulary_newest_has(pass->vocabulary, sources, response, pass->name, &is_own);
                if (r == 0 && !is_own)
                        return say_undeclared(sources, response, pass);
                pass->next++;
                if (r == 0 && is_judged(pass, pass->name))
                        r = selection_add_number(response, pass->name, &pass->selection, &unused);
        }
        pass->has_numbers |= filter->n_numbers > 0;
        for (size_t i = 0; i < filter->n_numbers; i++)
                pass->directions[i] = find_direction(pass, target, pass->selection.numbers[i]);
        return r;
}

/* --- runs ----------------------------------------------------------------------------------------- */

static int refuse_more(Response *response, int outcome) {
        if (outcome == KPI_MANY_SERIES)
                return exchange_error(
                        response, 413,
                        "the selected results form more than %u series, or %u bytes of labels and versions; select "
                        "fewer with where= or component=, or name parameters that do not matter with ignore=",
                        KPI_SERIES_MAX, KPI_TABLE_TEXT_MAX);
        if (outcome == KPI_MANY_RUNS)
                return exchange_error(
                        response, 413,
                        "the results to judge take more than %u bytes, or have more than %u versions or %u bytes of "
                        "labels and versions; select fewer with where= or since_ms=, or name one result",
                        KPI_TABLE_BYTES_MAX, KPI_VERSIONS_MAX, KPI_TABLE_TEXT_MAX);
        return exchange_store_error(response, outcome);
}

/* Answers 503 if the time of the request is over. 0 or EXCHANGE_ANSWERED. */
static int check_time(Response *response, const RegressRequest *request) {
        if (request->until_ns == 0 || clock_boottime_ns() <= request->until_ns)
                return 0;
        return exchange_error(
                response, 503,
                "the verdicts take longer than query_timeout; select fewer results with where= or since_ms=");
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
                if (check_time(response, pass->request) > 0)
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

/* JSON about a verdict; owned. */
typedef struct Reasons {
        Buffer profile, mixture, changes;
} Reasons;

static void reasons_deinit(Reasons *reasons) {
        buffer_deinit(&reasons->profile);
        buffer_deinit(&reasons->mixture);
        buffer_deinit(&reasons->changes);
}

static int keep(Response *response, const Pass *pass, const KpiSeries *series, size_t number,
                const AcceptedLevel *accepted, const HistoryVerdict *verdict, const Reasons *reasons) {
        const char *result = pass->selection.numbers[number];
        scoped(buffer_deinit) Buffer name = {}, unit = {};
        int r;

        buffer_printf(&name, "%s.%s", pass->name, result);
        (void)vocabulary_say(pass->vocabulary, result, "unit", &unit);
        if (buffer_error(&name) < 0 || buffer_error(&unit) < 0)
                return exchange_store_error(response, -ENOMEM);
        r = judged_kpis_add(&pass->request->kpis, &(JudgedKpi){
                .name = name.text, .unit = unit.text, .labels = series->labels,
                .profile = reasons->profile.text, .mixture = reasons->mixture.text, .changes = reasons->changes.text,
                .direction = pass->directions[number], .n_failed = series->n_failed,
                .accepted = verdict->accepted.time_ms > 0 ? accepted : NULL, .verdict = *verdict,
        });
        if (r == JUDGED_KPIS_FULL)
                return exchange_error(
                        response, 413,
                        "more than %u KPIs, or %u bytes of labels, to judge; name some, such as %s, or select fewer "
                        "with where=",
                        JUDGED_KPIS_MAX, JUDGED_KPIS_TEXT_MAX, name.text);
        return r < 0 ? exchange_store_error(response, r) : 0;
}

/* Reads the state of the machine during the runs, and asks for further runs if it may explain why a number got
 * worse. */
static int add_profile(const Sources *sources, Response *response, Pass *pass, const KpiRuns *runs,
                       HistoryVerdict *verdict, Buffer *ret) {
        bool is_disturbed = false;
        int r;

        if (verdict->since == verdict->n || pass->request->question.is_compat ||
            pass->request->n_profiles == KPI_PROFILES_MAX)
                return 0;
        pass->request->n_profiles++;
        r = kpi_profile_write(sources->reader, runs->items, verdict->since, verdict->n, ret, &is_disturbed);
        if (r != 0)
                return exchange_store_error(response, r);
        if (is_disturbed && (verdict->verdict == JUDGE_REGRESSION || verdict->verdict == JUDGE_CHANGED))
                history_ask_rerun(verdict);
        return 0;
}

/* Refuses to judge runs whose values depend on a label. */
static int check_labels(const Sources *sources, Response *response, Pass *pass, const KpiRuns *runs,
                        HistoryVerdict *verdict, HistoryChanges *changes, Buffer *ret) {
        int r;

        if (pass->request->question.is_compat)
                return 0;
        r = run_labels_find_separating(pass->request->labels, sources->reader, runs->items, verdict->n, &pass->rules,
                                       verdict->verdict == JUDGE_UNKNOWN, ret);
        if (r != 0)
                return exchange_store_error(response, r);
        if (ret->n > 0) {
                history_refuse_mixture(verdict);
                changes->n = 0;
        }
        return 0;
}

/* Series without a run of the judged version are not part of the answer: they have no new run. */
static int judge_number(const Sources *sources, Response *response, Pass *pass, const KpiSeries *series, size_t number,
                        KpiRuns *runs) {
        HistoryQuestion question = pass->request->question;
        const AcceptedLevel *accepted;
        scoped(reasons_deinit) Reasons reasons = {};
        Json json = { .out = &reasons.changes };
        HistoryChanges changes = {};
        HistoryVerdict verdict;
        int r;

        if (runs->n == 0)
                return 0;
        if (check_time(response, pass->request) > 0)
                return EXCHANGE_ANSWERED;
        question.judge.direction = pass->directions[number];
        accepted = accepted_levels_find(&pass->request->accepted, pass->name, pass->selection.numbers[number],
                                        series->labels);
        question.accepted_ms = accepted ? accepted->until_ms : 0;
        question.changes = pass->request->with_changes ? &changes : NULL;
        r = history_judge(runs->items, runs->n, &question, &verdict);
        if (r < 0)
                return exchange_store_error(response, r);
        if (r == HISTORY_NO_CURRENT)
                return 0;
        r = check_labels(sources, response, pass, runs, &verdict, &changes, &reasons.mixture);
        if (r != 0)
                return r;
        if (question.changes)
                judged_kpis_write_changes(&changes, question.judge.direction, &json);
        if (buffer_error(&reasons.changes) < 0)
                return exchange_store_error(response, -ENOMEM);
        r = add_profile(sources, response, pass, runs, &verdict, &reasons.profile);
        return r == 0 ? keep(response, pass, series, number, accepted, &verdict, &reasons) : r;
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
                        r = r < 0 ? exchange_store_error(response, r)
                                  : judge_number(sources, response, pass, &series[i], number, &runs);
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

/* Adds the verdicts for an indicator; component NULL: of any component. 0 or EXCHANGE_ANSWERED. */
static int judge_indicator(const Target *target, const Sources *sources, Response *response, RegressRequest *request,
                           const char *name, const char *component) {
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
        while (r == 0 && (r = add_numbers(target, sources, response, pass)) == 0 &&
               pass->selection.filter.n_numbers > 0)
                r = judge_numbers(sources, response, pass);
        if (r != 0 || pass->has_results || request->pattern || request->note.n > 0)
                return r;
        if (pass->has_numbers)
                r = vocabulary_explain_empty(pass->vocabulary, target, sources, response, &pass->selection,
                                             &request->note);
        else
                buffer_printf(&request->note,
                              "the models of %s declare no result that is judged; name one as %s.RESULT", name, name);
        return r;
}

/* --- the indicators of a request -------------------------------------------------------------------- */

/* An indicator of a component. */
typedef struct JudgedIndicator {
        char *name, *component; /* owned */
} JudgedIndicator;

typedef struct Targets {
        JudgedIndicator *items; /* owned */
        size_t n;
        const char *wanted; /* name of the only indicator; NULL: as the pattern says */
        char name[NAME_MAX_BYTES + 1]; /* of INDICATOR.RESULT; "" if the argument is not of this form */
} Targets;

static void targets_deinit(Targets *targets) {
        for (size_t i = 0; i < targets->n; i++) {
                free(targets->items[i].name);
                free(targets->items[i].component);
        }
        free(targets->items);
}

static void request_deinit(RegressRequest *request) {
        judged_kpis_deinit(&request->kpis);
        accepted_levels_deinit(&request->accepted);
        run_labels_freep(&request->labels);
        buffer_deinit(&request->note);
}

/* --- the request ---------------------------------------------------------------------------------- */

static int parse_request(const Target *target, Response *response, RegressRequest *request) {
        const char *text = exchange_parameter(target, "fdr");
        int method, order, unused;

        request->fdr = FDR_DEFAULT;
        if (text && (parse_double(text, &request->fdr) != 0 || request->fdr <= 0 || request->fdr > 1))
                return exchange_error(response, 400,
                                      "query parameter 'fdr' must be a number above 0 and at most 1, not '%s'", text);
        if (exchange_parameter_word(target, response, "method", judge_method_names, &method) > 0 ||
            exchange_parameter_word(target, response, "order", history_order_names, &order) > 0 ||
            exchange_parameter_word(target, response, "direction", judge_direction_names, &unused) > 0 ||
            exchange_parameter_bool(target, response, "compat", &request->question.is_compat) > 0 ||
            exchange_parameter_bool(target, response, "changes", &request->with_changes) > 0)
                return EXCHANGE_ANSWERED;
        request->question.order = (HistoryOrder)order;
        request->question.current = exchange_parameter(target, "current");
        request->question.judge = (JudgeSettings){ .method = (JudgeMethod)method,
                                                   .hunter = HUNTER_DEFAULTS,
                                                   .shift = SHIFT_DEFAULTS };
        request->result = exchange_parameter(target, "objective");
        if (response->query_timeout_ns > 0)
                request->until_ns = clock_boottime_ns() + response->query_timeout_ns;
        return 0;
}

/* --- indicators ----------------------------------------------------------------------------------- */

static int add_target(Targets *targets, const IndicatorRow *row) {
        JudgedIndicator *candidate;

        if (ARRAY_EXTEND(targets->items, targets->n) < 0)
                return -ENOMEM;
        candidate = &targets->items[targets->n++];
        *candidate = (JudgedIndicator){ .name = strdup(row->name), .component = strdup(row->component) };
        return candidate->name && candidate->component ? 0 : -ENOMEM;
}

/* Reads the indicators of the two names. name NULL: all to which a model may apply, or, if the request names the
 * result, all. */
static int read_targets(const Target *target, const Sources *sources, Response *response, const RegressRequest *request,
                        const char *name, const char *or_name, Targets *targets) {
        const char *component = exchange_parameter(target, "component");
        IndicatorRow row;
        int r;

        r = name              ? indicator_reader_list_named(sources->reader, name, or_name)
            : request->result ? indicator_reader_list(sources->reader)
                              : indicator_reader_list_kpis(sources->reader);
        while (r == 0 && (r = indicator_reader_next(sources->reader, &row)) == 0) {
                if (component && strcasecmp(component, row.component) != 0)
                        continue;
                if (targets->n == TARGETS_MAX)
                        return exchange_error(
                                response, 413,
                                "more than %u indicators to judge; name one, or select fewer with component=",
                                TARGETS_MAX);
                r = add_target(targets, &row);
        }
        return r == READER_END ? 0 : exchange_store_error(response, r);
}

static bool has_target(const Targets *targets, const char *name) {
        for (size_t i = 0; i < targets->n; i++)
                if (strcmp(targets->items[i].name, name) == 0)
                        return true;
        return false;
}

/* Returns the only indicator whose models declare the result, or NULL. */
static int find_declaring(const Target *target, const Sources *sources, Response *response,
                          const RegressRequest *request, const Targets *targets, const char *result, const char **ret) {
        *ret = NULL;
        for (size_t i = 0; i < targets->n; i++) {
                scoped(vocabulary_freep) Vocabulary *vocabulary = NULL;
                const JudgedIndicator *candidate = &targets->items[i];
                const PointFilter filter = { .name = candidate->name, .component = candidate->component };
                int r = check_time(response, request);

                if (r == 0)
                        r = vocabulary_new_known(&vocabulary, target, sources, response, &filter);
                if (r != 0)
                        return r;
                if (!vocabulary_declares_result(vocabulary, result))
                        continue;
                if (*ret && strcmp(*ret, candidate->name) != 0)
                        return exchange_error(response, 400, "'%s' is a result of %s and of %s: write it as %s.%s",
                                              result, *ret, candidate->name, *ret, result);
                *ret = candidate->name;
        }
        return 0;
}

/* Splits INDICATOR.RESULT. */
static void split(const char *given, Targets *targets) {
        const char *dot = strrchr(given, '.');
        size_t n = dot ? (size_t)(dot - given) : 0;

        if (n > 0 && n <= NAME_MAX_BYTES && dot[1])
                memcpy(targets->name, given, n);
}

/* Finds the indicator that declares a result of this name. */
static int find_by_result(const Target *target, const Sources *sources, Response *response, RegressRequest *request,
                          Targets *targets) {
        const char *given = target->argument;
        int r;

        r = request->result ? 0 : read_targets(target, sources, response, request, NULL, NULL, targets);
        if (r == 0 && !request->result)
                r = find_declaring(target, sources, response, request, targets, given, &targets->wanted);
        if (r != 0)
                return r;
        if (targets->wanted)
                request->result = given;
        else
                targets->wanted = given;
        return 0;
}

/* The argument is a pattern, an indicator, INDICATOR.RESULT if no indicator has this name, or the name of a result. */
static int find_wanted(const Target *target, const Sources *sources, Response *response, RegressRequest *request,
                       Targets *targets) {
        const char *given = target->argument;
        int r;

        if (strpbrk(given, "*?[")) {
                request->pattern = given;
                return read_targets(target, sources, response, request, NULL, NULL, targets);
        }
        split(given, targets);
        r = read_targets(target, sources, response, request, given, targets->name, targets);
        if (r != 0)
                return r;
        if (has_target(targets, given))
                targets->wanted = given;
        else if (targets->name[0] && !request->result) {
                targets->wanted = targets->name;
                request->result = strrchr(given, '.') + 1;
        } else
                return find_by_result(target, sources, response, request, targets);
        return 0;
}

/* --- the verdicts --------------------------------------------------------------------------------- */

/* Indicators that were not judged. */
typedef struct PassCount {
        size_t n_refused;
        const JudgedIndicator *refused; /* the first of them; borrowed */
        Buffer reason;         /* of the first; owned */
} PassCount;

static void pass_count_deinit(PassCount *count) {
        buffer_deinit(&count->reason);
}

/* Writes a note about the omitted results, or why there is no KPI. */
static void explain(const Target *target, RegressRequest *request, const PassCount *count) {
        if (request->note.n > 0)
                return;
        if (count->n_refused > 0)
                buffer_printf(&request->note, "%zu indicator%s not judged, such as %s of %s: %s", count->n_refused,
                              count->n_refused == 1 ? " was" : "s were", count->refused->name,
                              count->refused->component, count->reason.text ?: "");
        else if (request->pattern && request->kpis.n == 0)
                buffer_printf(&request->note,
                              "no judged result matches '%s'; a pattern matches INDICATOR or INDICATOR.RESULT, such "
                              "as '*.rate'",
                              target->argument);
}

/* An indicator without the requested results does not end a request for several indicators; the indicator is
 * counted. */
static int pass_over(Response *response, const JudgedIndicator *candidate, int r, PassCount *count) {
        if (r != EXCHANGE_ANSWERED || response->status != 400)
                return r;
        if (count->n_refused++ == 0) {
                count->refused = candidate;
                json_text_decode(
                        json_text_find(json_text_find(json_text(response->body->text, response->body->n), "error"),
                                       "message"),
                        &count->reason);
        }
        response->status = 200;
        buffer_clear(response->body);
        return 0;
}

static bool is_wanted(const RegressRequest *request, const Targets *targets, const JudgedIndicator *candidate) {
        return request->pattern || strcmp(targets->wanted, candidate->name) == 0;
}

static int judge_all(const Target *target, const Sources *sources, Response *response, RegressRequest *request,
                     const Targets *targets) {
        scoped(pass_count_deinit) PassCount count = {};
        size_t n_passes = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < targets->n; i++) {
                if (!is_wanted(request, targets, &targets->items[i]))
                        continue;
                n_passes++;
                r = check_time(response, request);
                if (r == 0)
                        r = judge_indicator(target, sources, response, request, targets->items[i].name,
                                            targets->items[i].component);
                r = pass_over(response, &targets->items[i], r, &count);
        }
        /* No indicator has the requested result: the answer lists the available names. */
        if (r == 0 && n_passes > 0 && count.n_refused == n_passes)
                return judge_indicator(target, sources, response, request, count.refused->name,
                                       count.refused->component);
        if (r == 0 && n_passes == 0 && !request->pattern)
                return judge_indicator(target, sources, response, request, targets->wanted, NULL);
        if (r == 0 && request->kpis.n == 0 && request->n_scanned > 0 && request->question.current)
                return exchange_error(response, 404, "no selected result of %s has the version '%s'", target->argument,
                                      request->question.current);
        if (r == 0)
                explain(target, request, &count);
        return r;
}

static void write_answer(const Target *target, Response *response, const RegressRequest *request) {
        Json json = { .out = response->body };

        json_object_begin(&json);
        json_put_string(&json, "name", target->argument);
        json_put_string(&json, "method", judge_method_names[request->question.judge.method]);
        json_put_double(&json, "fdr", request->fdr);
        judged_kpis_write(&request->kpis, &json);
        json_put_uint(&json, "scanned", request->n_scanned);
        json_put_string(&json, "note", request->note.text);
        json_object_end(&json);
}

static void answer_regress(const Target *target, const Sources *sources, Response *response) {
        scoped(request_deinit) RegressRequest request = { .labels = run_labels_new() };
        scoped(targets_deinit) Targets targets = {};

        if (!request.labels) {
                (void)exchange_store_error(response, -ENOMEM);
                return;
        }
        if (parse_request(target, response, &request) > 0 ||
            accepted_levels_read(target, sources, response, &request.accepted) > 0 ||
            find_wanted(target, sources, response, &request, &targets) > 0 ||
            judge_all(target, sources, response, &request, &targets) > 0)
                return;
        if (!request.question.is_compat && judged_kpis_limit(&request.kpis, request.fdr) < 0) {
                (void)exchange_store_error(response, -ENOMEM);
                return;
        }
        write_answer(target, response, &request);
}

static void answer_accepted(const Target *target, const Sources *sources, Response *response) {
        scoped(accepted_levels_deinit) AcceptedLevels levels = {};
        Json json = { .out = response->body };

        if (accepted_levels_read(target, sources, response, &levels) > 0)
                return;
        json_object_begin(&json);
        accepted_levels_write(&levels, &json);
        json_object_end(&json);
}

/* --- current numbers ------------------------------------------------------------------------------ */

static void write_kpis(Exposition *exposition, const Snapshot *snapshot) {
        const KpisSnapshot *kpis = &snapshot->indicators.kpis;

        _Static_assert(KPIS_FAMILY_MAX < FAMILY_NAME_MAX, "the name of a KPI is the name of a family");
        for (size_t i = 0; exposition->has_names && i < kpis->n; i++) {
                const KpiSample *sample = &kpis->samples[i];

                if (i == 0 || strcmp(kpis->samples[i - 1].family, sample->family) != 0)
                        exposition_family(exposition, sample->family, FAMILY_GAUGE, sample->unit, sample->help);
                exposition_sample(exposition);
                exposition_labels(exposition, sample->labels);
                exposition_double(exposition, sample->value);
        }
}

static const Scalar scalars[] = {
        SCALAR_GAUGE(KpisSnapshot, n_not_exposed, SCALAR_U64, "perfd_kpi_series_not_exposed", "",
                     "Series of KPIs omitted because of the limit on their number, of long labels, or of names that "
                     "clash"),
};

static void write_counts(Exposition *exposition, const Snapshot *snapshot) {
        KpisSnapshot counts = snapshot->indicators.kpis;

        if (!exposition->has_names)
                counts.n_not_exposed += counts.n;
        metrics_scalars(exposition, &counts, scalars, N_ELEMENTS(scalars));
}

/* --- tables ----------------------------------------------------------------------------------------- */

const Subject kpis_subject = {
        .routes = ROUTES(
                { "/api/v1/kpis/{name}/regress", "where component since_ms until_ms objective direction current compare_by ignore ignore_entry across order method fdr compat changes", false, true, answer_regress },
                { "/api/v1/kpis/accepted", "", false, true, answer_accepted }),
        .collectors = COLLECTORS(
                { "kpis", false, write_kpis, NULL },
                { "self", false, write_counts, NULL }),
};
