/*
 * Which of several alternatives is better by an indicator
 *
 * Only what was measured under the same parameters on the same hardware is compared, one ranking for each such set, unless
 * it is said that they may differ.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ranking.h"
#include "http/answers.h"
#include "http/gather.h"
#include "util/parse.h"

#define CONFIDENCE_DEFAULT 0.95
#define RANK_VALUES_MAX 100000U /* of one ranking: each is drawn and sorted again for every resample */
#define SEED 1U /* the same question has the same answer */

typedef struct Rank {
        Selection selection;
        GroupFields fields;
        bool across_parameters, across_hardware;
        size_t n_common; /* fields that are the same within a ranking; they come first */
        size_t objective;
        double confidence;
        bool is_higher_better;
        uint64_t n_scanned;
        Buffer model, unit; /* owned */
} Rank;

static void rank_deinit(Rank *rank) {
        buffer_deinit(&rank->model);
        buffer_deinit(&rank->unit);
}

/* --- the question -------------------------------------------------------------------------------- */

static int parse_across(Exchange *exchange, Rank *rank) {
        const char *text = exchange_parameter(exchange, "across");

        while (text) {
                size_t n = strcspn(text, ",");

                if (n == strlen("parameters") && strncmp(text, "parameters", n) == 0)
                        rank->across_parameters = true;
                else if (n == strlen("hardware") && strncmp(text, "hardware", n) == 0)
                        rank->across_hardware = true;
                else
                        return exchange_error(exchange, 400,
                                              "Query parameter 'across' must be parameters, hardware or both, not '%s'", text);
                text = text[n] ? text + n + 1 : NULL;
        }
        return 0;
}

static int parse_confidence(Exchange *exchange, Rank *rank) {
        const char *text = exchange_parameter(exchange, "confidence");

        rank->confidence = CONFIDENCE_DEFAULT;
        if (text && (parse_double(text, &rank->confidence) != 0 || rank->confidence < 0.5 || rank->confidence > 0.999))
                return exchange_error(exchange, 400, "Query parameter 'confidence' must be a number from 0.5 to 0.999, not '%s'", text);
        return 0;
}

/* As asked for, else as the model says. */
static int find_direction(Exchange *exchange, const char *objective, Rank *rank) {
        const char *text = exchange_parameter(exchange, "direction");
        scoped(buffer_deinit) Buffer declared = {};

        if (text && strcmp(text, "higher") != 0 && strcmp(text, "lower") != 0)
                return exchange_error(exchange, 400, "Query parameter 'direction' must be higher or lower, not '%s'", text);
        if (!text && gather_property(&rank->model, objective, "direction", &declared))
                text = declared.text;
        if (!text)
                return exchange_error(exchange, 400,
                                      "No model says whether a higher or a lower '%s' is better; say so with direction=higher "
                                      "or direction=lower", objective);

        rank->is_higher_better = strcmp(text, "higher") == 0;
        return 0;
}

static void choose_fields(Rank *rank) {
        Selection *selection = &rank->selection;
        bool by_hardware = false;

        for (size_t i = 0; i < selection->n_fields; i++)
                by_hardware |= strcmp(selection->fields[i], "hardware") == 0;

        rank->fields.has_parameters = !rank->across_parameters;
        rank->n_common = rank->fields.has_parameters;
        if (!rank->across_hardware && !by_hardware) {
                rank->fields.names[rank->fields.n++] = "hardware";
                rank->n_common++;
        } else
                rank->across_hardware = true;
        for (size_t i = 0; i < selection->n_fields; i++)
                rank->fields.names[rank->fields.n++] = selection->fields[i];
}

static int parse(Exchange *exchange, Rank *rank) {
        const char *objective = exchange_parameter(exchange, "objective") ?: "overall_score";
        const char *by = exchange_parameter(exchange, "by") ?: "component,version";
        int r;

        r = selection_parse(exchange, exchange->argument, &rank->selection);
        if (r == 0)
                r = selection_add_number(exchange, objective, &rank->selection, &rank->objective);
        if (r == 0)
                r = selection_parse_fields(exchange, "by", by, &rank->selection);
        if (r == 0)
                r = parse_across(exchange, rank);
        if (r == 0)
                r = parse_confidence(exchange, rank);
        if (r == 0)
                r = gather_model(exchange, &rank->selection.filter, &rank->model);
        if (r == 0)
                r = find_direction(exchange, objective, rank);
        if (r != 0)
                return r;

        (void)gather_property(&rank->model, objective, "unit", &rank->unit);
        choose_fields(rank);
        return 0;
}

/* --- the answer ---------------------------------------------------------------------------------- */

static void write_json_text(Json *json, JsonText text) {
        json_raw(json, "");
        if (text.text)
                buffer_put(json->out, text.text, text.n);
        else
                buffer_puts(json->out, "null");
}

static const Sequence *objective_of(const Rank *rank, const Group *group) {
        return &group->numbers[rank->objective];
}

static void write_key(Json *json, const Rank *rank, const Group *group) {
        size_t n_before = rank->fields.has_parameters;

        json_key(json, "key");
        json_object_begin(json);
        for (size_t i = rank->n_common - n_before; i < rank->fields.n; i++) {
                json_key(json, rank->fields.names[i]);
                write_json_text(json, group_field(group, n_before + i));
        }
        json_object_end(json);
        json_put_uint(json, "n", objective_of(rank, group)->n);
        json_put_uint(json, "n_failed", group->n_failed);
}

static void write_common(Json *json, const Rank *rank, const Group *group) {
        if (rank->fields.has_parameters) {
                json_key(json, "parameters");
                write_json_text(json, group_field(group, 0));
        }
        if (!rank->across_hardware) {
                json_key(json, "hardware");
                write_json_text(json, group_field(group, rank->fields.has_parameters));
        }
}

static const Group *group_of(const Rank *rank, const Group *groups, size_t n, const double *values) {
        for (size_t i = 0; i < n; i++)
                if (objective_of(rank, &groups[i])->values == values)
                        return &groups[i];
        return groups;
}

static void write_alternative(Json *json, const Rank *rank, const Group *group, const Alternative *alternative) {
        json_object_begin(json);
        json_put_uint(json, "rank", alternative->rank);
        json_put_bool(json, "tied", alternative->is_tied);
        write_key(json, rank, group);
        json_put_double(json, "median", alternative->median);
        json_put_double(json, "low", alternative->low);
        json_put_double(json, "high", alternative->high);
        json_put_double(json, "ratio", alternative->ratio);
        json_object_end(json);
}

static void write_left_out(Json *json, const Rank *rank, const Group *groups, size_t n) {
        json_key(json, "left_out");
        json_array_begin(json);
        for (size_t i = 0; i < n; i++) {
                if (objective_of(rank, &groups[i])->n >= RANKING_N_MIN)
                        continue;
                json_object_begin(json);
                write_key(json, rank, &groups[i]);
                json_put_string(json, "reason", "fewer than 3 runs have this result");
                json_object_end(json);
        }
        json_array_end(json);
}

static int make_ranking(Exchange *exchange, const Rank *rank, Alternative *alternatives, size_t n, size_t n_values) {
        RankingConfig config = { .is_higher_better = rank->is_higher_better, .confidence = rank->confidence, .seed = SEED };
        int r;

        if (n > RANKING_ALTERNATIVES_MAX)
                return exchange_error(exchange, 413, "More than %u alternatives are to be compared; select less with where= or component=",
                                      RANKING_ALTERNATIVES_MAX);
        if (n_values > RANK_VALUES_MAX)
                return exchange_error(exchange, 413, "More than %u results are to be compared; select less with where= or since_ms=",
                                      RANK_VALUES_MAX);

        config.n_resamples = ranking_resamples(n_values);
        r = ranking_make(alternatives, n, &config);
        return r < 0 ? exchange_store_error(exchange, r) : 0;
}

/* Groups of the same parameters and hardware. */
static int write_ranking(Exchange *exchange, Json *json, const Rank *rank, const Group *groups, size_t n) {
        scoped(freep) Alternative *alternatives = calloc(n, sizeof(*alternatives));
        size_t n_alternatives = 0, n_values = 0;
        int r;

        if (!alternatives)
                return exchange_store_error(exchange, -ENOMEM);
        for (size_t i = 0; i < n; i++) {
                const Sequence *values = objective_of(rank, &groups[i]);

                if (values->n < RANKING_N_MIN)
                        continue;
                alternatives[n_alternatives++] = (Alternative){ .values = values->values, .n = values->n };
                n_values += values->n;
        }
        r = make_ranking(exchange, rank, alternatives, n_alternatives, n_values);
        if (r != 0)
                return r;

        json_object_begin(json);
        write_common(json, rank, groups);
        json_key(json, "alternatives");
        json_array_begin(json);
        for (size_t i = 0; i < n_alternatives; i++)
                write_alternative(json, rank, group_of(rank, groups, n, alternatives[i].values), &alternatives[i]);
        json_array_end(json);
        write_left_out(json, rank, groups, n);
        json_object_end(json);
        return 0;
}

static bool is_comparable(const Rank *rank, const Group *a, const Group *b) {
        for (size_t i = 0; i < rank->n_common; i++)
                if (!json_text_equals(group_field(a, i), group_field(b, i)))
                        return false;
        return true;
}

static int write_rankings(Exchange *exchange, Json *json, const Rank *rank, const Group *groups, size_t n) {
        json_key(json, "rankings");
        json_array_begin(json);
        for (size_t begin = 0, end = 0; begin < n; begin = end) {
                while (end < n && is_comparable(rank, &groups[begin], &groups[end]))
                        end++;
                if (write_ranking(exchange, json, rank, groups + begin, end - begin) > 0)
                        return EXCHANGE_ANSWERED;
        }
        json_array_end(json);
        return 0;
}

void answer_indicator_rank(Exchange *exchange) {
        scoped(grouping_freep) Grouping *grouping = NULL;
        scoped(rank_deinit) Rank rank = {};
        Group *groups;
        Json json;
        size_t n;

        if (parse(exchange, &rank) > 0 || gather(exchange, &rank.selection, &rank.fields, &grouping, &rank.n_scanned) > 0)
                return;

        groups = grouping_sorted(grouping, &n);
        json_init(&json, exchange->body);
        json_object_begin(&json);
        json_put_string(&json, "name", rank.selection.filter.name);
        json_put_string(&json, "objective", rank.selection.numbers[rank.objective]);
        json_put_string(&json, "direction", rank.is_higher_better ? "higher" : "lower");
        json_put_string(&json, "unit", rank.unit.text);
        json_put_double(&json, "confidence", rank.confidence);
        if (write_rankings(exchange, &json, &rank, groups, n) > 0)
                return;
        json_put_uint(&json, "scanned", rank.n_scanned);
        json_object_end(&json);
}
