/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the numbers of indicators over versions
 *
 * Finds the indicators that the request names, and judges each of them for each component, by the rules of the model in effect there.
 * Changes nothing, so that equal requests over equal data have equal answers.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/indicators/vocabulary.h"
#include "http/kpis/kpis_subject.h"
#include "http/kpis/regress_pass.h"
#include "store/indicators/indicator_reader.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/parse.h"

#define FDR_DEFAULT 0.05
#define TARGETS_MAX 5000U /* pairs of an indicator and a component in a request */

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
        buffer_deinit(&request->note);
}

/* --- the request ---------------------------------------------------------------------------------- */

/* Finds a word in a list that ends with NULL. */
static int parse_word(const Target *target, Response *response, const char *parameter, const char *const *words, int *ret) {
        const char *text = exchange_parameter(target, parameter);
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
        return exchange_error(response, 400, "query parameter '%s' must be one of %s, not '%s'", parameter, list.text ?: "", text);
}

static int parse(const Target *target, Response *response, RegressRequest *request) {
        const char *text = exchange_parameter(target, "fdr");
        int method, order, unused, r;

        request->fdr = FDR_DEFAULT;
        if (text && (parse_double(text, &request->fdr) != 0 || request->fdr <= 0 || request->fdr > 1))
                return exchange_error(response, 400, "query parameter 'fdr' must be a number above 0 and at most 1, not '%s'", text);
        r = parse_word(target, response, "method", judge_method_names, &method);
        if (r == 0)
                r = parse_word(target, response, "order", history_order_names, &order);
        if (r == 0)
                r = parse_word(target, response, "direction", judge_direction_names, &unused);
        if (r == 0)
                r = exchange_parameter_bool(target, response, "compat", &request->question.is_compat);
        if (r != 0)
                return r;
        request->question.order = (HistoryOrder)order;
        request->question.current = exchange_parameter(target, "current");
        request->question.judge = (JudgeSettings){ .method = (JudgeMethod)method, .hunter = HUNTER_DEFAULTS, .shift = SHIFT_DEFAULTS };
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

/* Reads the indicators of the two names. name NULL: all to which a model may apply, or, if the request names the result, all. */
static int read_targets(const Target *target, const Sources *sources, Response *response, const RegressRequest *request,
                        const char *name, const char *or_name, Targets *targets) {
        const char *component = exchange_parameter(target, "component");
        IndicatorRow row;
        int r;

        r = name              ? indicator_reader_list_named(sources->reader, name, or_name)
            : request->result ? indicator_reader_list(sources->reader)
                              : indicator_reader_list_with_models(sources->reader);
        while (r == 0 && (r = indicator_reader_next(sources->reader, &row)) == 0) {
                if (component && strcasecmp(component, row.component) != 0)
                        continue;
                if (targets->n == TARGETS_MAX)
                        return exchange_error(response, 413, "more than %u indicators to judge; name one, or select fewer with component=",
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
static int find_declaring(const Target *target, const Sources *sources, Response *response, const RegressRequest *request,
                          const Targets *targets, const char *result,
                          const char **ret) {
        *ret = NULL;
        for (size_t i = 0; i < targets->n; i++) {
                scoped(vocabulary_freep) Vocabulary *vocabulary = NULL;
                const JudgedIndicator *candidate = &targets->items[i];
                const PointFilter filter = { .name = candidate->name, .component = candidate->component };
                int r = regress_pass_check_time(response, request);

                if (r == 0)
                        r = vocabulary_new_known(&vocabulary, target, sources, response, &filter);
                if (r != 0)
                        return r;
                if (!vocabulary_declares_result(vocabulary, result))
                        continue;
                if (*ret && strcmp(*ret, candidate->name) != 0)
                        return exchange_error(response, 400, "'%s' is a result of %s and of %s: write it as %s.%s", result, *ret,
                                              candidate->name, *ret, result);
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
static int find_by_result(const Target *target, const Sources *sources, Response *response, RegressRequest *request, Targets *targets) {
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
static int find_wanted(const Target *target, const Sources *sources, Response *response, RegressRequest *request, Targets *targets) {
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
                              count->n_refused == 1 ? " was" : "s were", count->refused->name, count->refused->component,
                              count->reason.text ?: "");
        else if (request->pattern && request->kpis.n == 0)
                buffer_printf(&request->note, "no judged result matches '%s'; a pattern matches INDICATOR or INDICATOR.RESULT, such as "
                                              "'*.rate'",
                              target->argument);
}

/* An indicator without the requested results does not end a request for several indicators; the indicator is counted. */
static int pass_over(Response *response, const JudgedIndicator *candidate, int r, PassCount *count) {
        if (r != EXCHANGE_ANSWERED || response->status != 400)
                return r;
        if (count->n_refused++ == 0) {
                count->refused = candidate;
                json_text_decode(json_text_find(json_text_find(json_text(response->body->text, response->body->n), "error"), "message"),
                                 &count->reason);
        }
        response->status = 200;
        buffer_clear(response->body);
        return 0;
}

static bool is_wanted(const RegressRequest *request, const Targets *targets, const JudgedIndicator *candidate) {
        return request->pattern || strcmp(targets->wanted, candidate->name) == 0;
}

static int judge_all(const Target *target, const Sources *sources, Response *response, RegressRequest *request, const Targets *targets) {
        scoped(pass_count_deinit) PassCount count = {};
        size_t n_passes = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < targets->n; i++) {
                if (!is_wanted(request, targets, &targets->items[i]))
                        continue;
                n_passes++;
                r = regress_pass_check_time(response, request);
                if (r == 0)
                        r = regress_pass(target, sources, response, request, targets->items[i].name, targets->items[i].component);
                r = pass_over(response, &targets->items[i], r, &count);
        }
        /* No indicator has the requested result: the answer lists the available names. */
        if (r == 0 && n_passes > 0 && count.n_refused == n_passes)
                return regress_pass(target, sources, response, request, count.refused->name, count.refused->component);
        if (r == 0 && n_passes == 0 && !request->pattern)
                return regress_pass(target, sources, response, request, targets->wanted, NULL);
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

void kpis_subject_regress(const Target *target, const Sources *sources, Response *response) {
        scoped(request_deinit) RegressRequest request = {};
        scoped(targets_deinit) Targets targets = {};

        if (parse(target, response, &request) > 0 || accepted_levels_read(target, sources, response, &request.accepted) > 0 ||
            find_wanted(target, sources, response, &request, &targets) > 0 || judge_all(target, sources, response, &request, &targets) > 0)
                return;
        if (!request.question.is_compat && judged_kpis_limit(&request.kpis, request.fdr) < 0) {
                (void)exchange_store_error(response, -ENOMEM);
                return;
        }
        write_answer(target, response, &request);
}

void kpis_subject_accepted(const Target *target, const Sources *sources, Response *response) {
        scoped(accepted_levels_deinit) AcceptedLevels levels = {};
        Json json = { .out = response->body };

        if (accepted_levels_read(target, sources, response, &levels) > 0)
                return;
        json_object_begin(&json);
        accepted_levels_write(&levels, &json);
        json_object_end(&json);
}
