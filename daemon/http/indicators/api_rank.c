/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks alternatives by an indicator
 *
 * Compares only results with the same parameters on the same hardware, and makes one ranking for each such set,
 * unless the request names fields that may differ. The same applies to component and version if they do not identify
 * the alternatives. Every selected result is either compared, or counted as excluded.
 */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "document/property.h"
#include "http/indicators/indicators_subject.h"
#include "http/indicators/ranking.h"
#include "http/indicators/stack_diff.h"
#include "http/indicators/vocabulary.h"
#include "http/selection/grouping.h"
#include "util/clock.h"
#include "util/parse.h"
#include "value/value_parse.h"

#define CONFIDENCE_DEFAULT 0.95
#define RANK_VALUES_MAX 100000U /* each resample draws and sorts all values of an alternative again */
#define SEED 1U /* constant, so that equal requests have equal answers */
#define DIFFERING_MAX 64U /* parameters listed in "apart" */

typedef enum Factor {
        FACTOR_PARAMETERS,
        FACTOR_HARDWARE,
        FACTOR_COMPONENT,
        FACTOR_VERSION,
        N_FACTORS,
} Factor;

typedef enum Exclusion {
        EXCLUDED_FAILED,  /* failed runs */
        EXCLUDED_WITHOUT, /* results that lack the objective */
        EXCLUDED_FEW,     /* results in groups of fewer than RANKING_N_MIN */
        EXCLUDED_ALONE,   /* results in the only group of a set */
        N_EXCLUSIONS,
} Exclusion;

typedef struct RankQuery {
        Selection selection;
        GroupFields fields;
        bool is_across[N_FACTORS]; /* may differ within a ranking */
        size_t n_common; /* fields that are the same within a set; they come first */
        size_t objective;
        double confidence;
        bool is_higher_better;
        uint64_t until_ns; /* time limit of the request, CLOCK_BOOTTIME; 0: none */
        uint64_t n_scanned, n_compared, n_excluded[N_EXCLUSIONS], n_sets;
        Vocabulary *vocabulary; /* owned */
        Buffer unit, note;      /* owned; "" if empty */
} RankQuery;

static const Sequence *rank_query_values(const RankQuery *rank, const Group *group) {
        return &group->numbers[rank->objective];
}

static const char *rank_query_objective(const RankQuery *rank) {
        return rank->selection.numbers[rank->objective];
}

static void rank_deinit(RankQuery *rank) {
        vocabulary_free(rank->vocabulary);
        buffer_deinit(&rank->unit);
        buffer_deinit(&rank->note);
}

/* --- the request --------------------------------------------------------------------------------- */

static const char *const across_words[] = {
        [FACTOR_PARAMETERS] = "parameters",
        [FACTOR_HARDWARE] = "hardware",
        [FACTOR_COMPONENT] = "component",
        [FACTOR_VERSION] = "version",
};

/* Notes a field that is not a parameter, or the word for all parameters. */
static bool take_across(RankQuery *rank, const char *name) {
        for (size_t i = 0; i < N_FACTORS; i++)
                if (strcmp(across_words[i], name) == 0)
                        return rank->is_across[i] = true;
        return false;
}

/* Leaves only names of single parameters in the list. */
static int parse_across(const Target *target, Response *response, RankQuery *rank) {
        FieldList *across = &rank->selection.across;
        size_t n_kept = 0;
        int r;

        r = selection_parse_fields(response, "across", exchange_parameter(target, "across"), across);
        for (size_t i = 0; r == 0 && i < across->n; i++)
                if (!take_across(rank, across->names[i]))
                        memmove(across->names[n_kept++], across->names[i], sizeof(across->names[i]));
        across->n = n_kept;
        return r;
}

static int parse_confidence(const Target *target, Response *response, RankQuery *rank) {
        const char *text = exchange_parameter(target, "confidence");

        rank->confidence = CONFIDENCE_DEFAULT;
        if (text && (parse_double(text, &rank->confidence) != 0 || rank->confidence < 0.5 || rank->confidence > 0.999))
                return exchange_error(response, 400,
                                      "query parameter 'confidence' must be a number from 0.5 to 0.999, not '%s'",
                                      text);
        return 0;
}

/* Takes the direction of the request, else of the model. A higher overall_score is better unless a model declares
 * otherwise. */
static int find_direction(const Target *target, Response *response, const char *objective, RankQuery *rank) {
        const char *text = exchange_parameter(target, "direction");
        Direction direction = property_direction_find(text ?: "");
        scoped(buffer_deinit) Buffer declared = {};

        if (text && direction != DIRECTION_HIGHER && direction != DIRECTION_LOWER)
                return exchange_error(response, 400, "query parameter 'direction' must be higher or lower, not '%s'",
                                      text);
        if (!text && vocabulary_say(rank->vocabulary, objective, "direction", &declared) == 0)
                direction = property_direction_find(declared.text ?: "");
        if (direction == DIRECTION_UNKNOWN && strcmp(objective, "overall_score") == 0)
                direction = DIRECTION_HIGHER;
        if (direction == DIRECTION_NONE)
                return exchange_error(response, 400,
                                      "the model of %s declares that neither a higher nor a lower '%s' is better; "
                                      "specify direction=higher or "
                                      "direction=lower", rank->selection.filter.name, objective);
        if (direction == DIRECTION_UNKNOWN)
                return exchange_error(response, 400,
                                      "no model of %s declares whether a higher or a lower '%s' is better; specify "
                                      "direction=higher or direction=lower", rank->selection.filter.name, objective);

        rank->is_higher_better = direction == DIRECTION_HIGHER;
        return 0;
}

static int find_unit(Response *response, const char *objective, RankQuery *rank) {
        if (vocabulary_say(rank->vocabulary, objective, "unit", &rank->unit) == VOCABULARY_AT_ODDS)
                return exchange_error(response, 400,
                                      "the models of %s declare different units of '%s' for different components: "
                                      "select one with where=component=NAME", rank->selection.filter.name, objective);
        return 0;
}

static void hold(RankQuery *rank, Factor across) {
        if (rank->is_across[across])
                return;
        rank->fields.names[rank->fields.n++] = across_words[across];
        rank->n_common++;
}

/* Fields that are equal within a ranking come first. A version belongs to a component, so comparing components also
 * compares their versions. */
static void choose_fields(RankQuery *rank) {
        Selection *selection = &rank->selection;

        rank->is_across[FACTOR_HARDWARE] |= selection_has_field(selection, "hardware");
        rank->is_across[FACTOR_COMPONENT] |= selection_has_field(selection, "component");
        rank->is_across[FACTOR_VERSION] |= selection_has_field(selection, "version") ||
                                           rank->is_across[FACTOR_COMPONENT];
        rank->fields.has_parameters = !rank->is_across[FACTOR_PARAMETERS];
        rank->fields.has_medians = true; /* the numbers of one run are no independent runs */
        rank->n_common = rank->fields.has_parameters;
        for (Factor across = FACTOR_HARDWARE; across < N_FACTORS; across++)
                hold(rank, across);
        for (size_t i = 0; i < selection->hold.n; i++, rank->n_common++)
                rank->fields.names[rank->fields.n++] = selection->hold.names[i];
        for (size_t i = 0; i < selection->fields.n; i++)
                rank->fields.names[rank->fields.n++] = selection->fields.names[i];
        for (size_t i = 0; i < selection->across.n; i++)
                rank->fields.dropped[rank->fields.n_dropped++] = selection->across.names[i];
}

static int parse(const Target *target, const Sources *sources, Response *response, RankQuery *rank) {
        const char *by = exchange_parameter(target, "by") ?: "component,version";
        const char *objective = exchange_parameter(target, "objective") ?: "overall_score";
        Selection *selection = &rank->selection;

        if (selection_parse(target, response, target->argument, selection) > 0 ||
            selection_add_number(response, objective, selection, &rank->objective) > 0 ||
            selection_parse_fields(response, "by", by, &selection->fields) > 0 ||
            selection_parse_fields(response, "hold", exchange_parameter(target, "hold"), &selection->hold) > 0 ||
            parse_across(target, response, rank) > 0 || parse_confidence(target, response, rank) > 0 ||
            vocabulary_new(&rank->vocabulary, target, sources, response, &selection->filter) > 0)
                return EXCHANGE_ANSWERED;
        selection->filter.derived = vocabulary_derived(rank->vocabulary);
        if (vocabulary_check(rank->vocabulary, sources, response, selection) > 0 ||
            find_direction(target, response, objective, rank) > 0 || find_unit(response, objective, rank) > 0)
                return EXCHANGE_ANSWERED;
        choose_fields(rank);
        return 0;
}

static bool is_comparable(const RankQuery *rank, const Group *a, const Group *b) {
        for (size_t i = 0; i < rank->n_common; i++)
                if (!json_text_equals(grouping_field(a, i), grouping_field(b, i)))
                        return false;
        return true;
}

/* Returns the end of the set that begins at `begin`: the groups up to there may be compared. Groups must be sorted. */
static size_t find_set_end(const RankQuery *rank, const Group *groups, size_t begin, size_t n) {
        size_t end = begin + 1;

        while (end < n && is_comparable(rank, &groups[begin], &groups[end]))
                end++;
        return end;
}

/* --- one set ------------------------------------------------------------------------------------- */

static void write_key(Json *json, const RankQuery *rank, const Group *group) {
        size_t n_before = rank->fields.has_parameters;

        assert(rank->n_common >= n_before);
        json_put_object_begin(json, "key");
        for (size_t i = rank->n_common - n_before; i < rank->fields.n; i++) {
                json_key(json, rank->fields.names[i]);
                (void)value_parse_write_kept(grouping_field(group, n_before + i), json);
        }
        json_object_end(json);
        json_put_uint(json, "n", rank_query_values(rank, group)->n);
        json_put_uint(json, "n_failed", group->n_failed);
        json_put_uint(json, "n_without", group->n - rank_query_values(rank, group)->n);
}

static void write_common(Json *json, const RankQuery *rank, const Group *group) {
        size_t n_before = rank->fields.has_parameters;

        if (rank->fields.has_parameters) {
                json_key(json, "parameters");
                (void)value_parse_write_kept(grouping_field(group, 0), json);
        }
        for (size_t i = n_before; i < rank->n_common; i++) {
                json_key(json, rank->fields.names[i - n_before]);
                (void)value_parse_write_kept(grouping_field(group, i), json);
        }
}

static void write_alternative(Json *json, const RankQuery *rank, const Group *group, const Alternative *alternative,
                              bool is_alone) {
        json_object_begin(json);
        json_put_uint(json, "rank", alternative->rank);
        json_put_bool(json, "tied", alternative->is_tied);
        json_put_string(json, "difference",
                        is_alone ? "nothing to compare with" : ranking_verdict_name(alternative->verdict));
        write_key(json, rank, group);
        json_put_double(json, "median", alternative->median);
        json_put_double(json, "low", alternative->interval.low);
        json_put_double(json, "high", alternative->interval.high);
        json_put_double(json, "level", alternative->interval.level);
        json_put_double(json, "ratio", alternative->ratio);
        json_put_double(json, "chance", alternative->chance);
        json_object_end(json);
}

static const char *reason_of(const RankQuery *rank, const Group *group) {
        if (rank_query_values(rank, group)->n > 0)
                return "fewer than 3 runs have this result";
        if (group->n > 0)
                return "no run has this result";
        return "every run failed";
}

static void write_excluded(Json *json, const RankQuery *rank, const Group *groups, size_t n) {
        json_put_array_begin(json, "excluded");
        for (size_t i = 0; i < n; i++) {
                if (rank_query_values(rank, &groups[i])->n >= RANKING_N_MIN)
                        continue;
                json_object_begin(json);
                write_key(json, rank, &groups[i]);
                json_put_string(json, "reason", reason_of(rank, &groups[i]));
                json_object_end(json);
        }
        json_array_end(json);
}

static int rank_set(const RankQuery *rank, const Group *groups, size_t n, Alternative *ret, size_t *ret_n) {
        RankingConfig config = {
                .is_higher_better = rank->is_higher_better,
                .confidence = rank->confidence,
                .n_resamples = RANKING_RESAMPLES,
                .seed = SEED,
                .until_ns = rank->until_ns,
        };

        *ret_n = 0;
        for (size_t i = 0; i < n; i++) {
                const Sequence *values = rank_query_values(rank, &groups[i]);

                if (values->n >= RANKING_N_MIN)
                        ret[(*ret_n)++] = (Alternative){ .index = i, .values = values->values, .n = values->n };
        }
        return ranking_make(ret, *ret_n, &config);
}

/* Returns the number of results that are excluded. */
static uint64_t merge_stack(StackCount *stacks, size_t *n, const StackCount *more) {
        size_t i = 0;

        while (i < *n && stacks[i].stack != more->stack)
                i++;
        if (i == GROUP_STACKS_MAX)
                return more->n + more->n_failed;
        if (i == *n)
                stacks[(*n)++] = (StackCount){ .stack = more->stack };
        stacks[i].n += more->n;
        stacks[i].n_failed += more->n_failed;
        return 0;
}

/* Writes the differences of the software stacks of the set, besides the keys that distinguish its alternatives. */
static int write_also_differ(const Sources *sources, Response *response, Json *json, const RankQuery *rank,
                             const Group *groups, size_t n) {
        scoped(freep) StackCount *stacks = calloc(GROUP_STACKS_MAX, sizeof(*stacks));
        uint64_t n_excluded = 0;
        size_t n_stacks = 0;
        int r;

        if (!stacks)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                n_excluded += groups[i].n_of_further_stacks;
                for (size_t k = 0; k < groups[i].n_stacks; k++)
                        n_excluded += merge_stack(stacks, &n_stacks, &groups[i].stacks[k]);
        }
        r = stack_diff_write(sources, response, json, "also_differ", stacks, n_stacks, rank->fields.names,
                             rank->fields.n, &n_excluded);
        if (r == 0)
                json_put_uint(json, "also_differ_excluded", n_excluded);
        return r;
}

static int write_set(const Sources *sources, Response *response, Json *json, const RankQuery *rank, const Group *groups,
                     size_t n) {
        scoped(freep) Alternative *alternatives = calloc(n, sizeof(*alternatives));
        size_t n_alternatives;
        int r;

        if (!alternatives)
                return -ENOMEM;
        r = rank_set(rank, groups, n, alternatives, &n_alternatives);
        if (r == RANKING_TIMEOUT)
                return exchange_store_error(response, READER_TIMEOUT);
        if (r < 0)
                return r;

        json_object_begin(json);
        write_common(json, rank, groups);
        json_put_array_begin(json, "alternatives");
        for (size_t i = 0; i < n_alternatives; i++)
                write_alternative(json, rank, &groups[alternatives[i].index], &alternatives[i], n_alternatives == 1);
        json_array_end(json);
        if (n_alternatives > 1)
                json_put_uint(json, "runs_needed", ranking_values_needed(n_alternatives, rank->confidence));
        write_excluded(json, rank, groups, n);
        r = write_also_differ(sources, response, json, rank, groups, n);
        if (r == 0)
                json_object_end(json);
        return r;
}

static int write_sets(const Sources *sources, Response *response, Json *json, const RankQuery *rank,
                      const Group *groups, size_t n) {
        int r = 0;

        json_put_array_begin(json, "rankings");
        for (size_t begin = 0, end = 0; r == 0 && begin < n; begin = end) {
                end = find_set_end(rank, groups, begin, n);
                r = write_set(sources, response, json, rank, groups + begin, end - begin);
        }
        if (r == 0)
                json_array_end(json);
        return r;
}

/* --- fields that distinguish sets ------------------------------------------------------------------ */

typedef struct Differing {
        JsonText keys[DIFFERING_MAX];
        size_t n;
} Differing;

static void add_key(Differing *differing, JsonText key) {
        for (size_t i = 0; i < differing->n; i++)
                if (json_text_equals(differing->keys[i], key))
                        return;
        if (differing->n < DIFFERING_MAX)
                differing->keys[differing->n++] = key;
}

/* Adds members of a that are missing or different in b. */
static void add_differing(Differing *differing, JsonText a, JsonText b) {
        JsonWalk walk = json_text_walk(a);
        JsonText key, value, other;

        while (walk.is_object && json_text_walk_next(&walk, &key, &value)) {
                other = json_text_find_key(b, key);
                if (!other.text || !json_text_equals(value, other))
                        add_key(differing, key);
        }
}

static void write_differing_parameters(Json *json, const Group *groups, size_t n) {
        JsonText first = grouping_field(&groups[0], 0);
        Differing differing = {};

        for (size_t i = 1; i < n && differing.n < DIFFERING_MAX; i++) {
                JsonText other = grouping_field(&groups[i], 0);

                if (json_text_equals(first, other))
                        continue;
                add_differing(&differing, first, other);
                add_differing(&differing, other, first);
        }
        for (size_t i = 0; i < differing.n; i++) {
                scoped(buffer_deinit) Buffer name = {};

                json_text_decode(differing.keys[i], &name);
                json_string(json, name.text ?: "");
        }
}

/* Writes the names of the fixed fields that are not the same in all sets. */
static void write_apart(Json *json, const RankQuery *rank, const Group *groups, size_t n) {
        size_t n_before = rank->fields.has_parameters;

        json_put_array_begin(json, "apart");
        if (n > 0 && n_before > 0)
                write_differing_parameters(json, groups, n);
        for (size_t k = n_before; k < rank->n_common; k++)
                for (size_t i = 1; i < n; i++)
                        if (!json_text_equals(grouping_field(&groups[0], k), grouping_field(&groups[i], k))) {
                                json_string(json, rank->fields.names[k - n_before]);
                                break;
                        }
        json_array_end(json);
}

/* --- the answer ----------------------------------------------------------------------------------- */

static void write_counts(Json *json, const RankQuery *rank) {
        static const char *const names[] = {
                [EXCLUDED_FAILED] = "failed",
                [EXCLUDED_WITHOUT] = "without_objective",
                [EXCLUDED_FEW] = "too_few_runs",
                [EXCLUDED_ALONE] = "nothing_to_compare_with",
        };

        json_put_uint(json, "scanned", rank->n_scanned);
        json_put_uint(json, "compared", rank->n_compared);
        json_put_object_begin(json, "excluded");
        for (Exclusion i = 0; i < N_EXCLUSIONS; i++)
                json_put_uint(json, names[i], rank->n_excluded[i]);
        json_object_end(json);
}

static void write_rankings(const Sources *sources, Response *response, const RankQuery *rank, const Group *groups,
                           size_t n) {
        Json json = { .out = response->body };
        int r;

        json_object_begin(&json);
        json_put_string(&json, "name", rank->selection.filter.name);
        json_put_string(&json, "objective", rank_query_objective(rank));
        json_put_string(&json, "direction",
                        property_direction_text(rank->is_higher_better ? DIRECTION_HIGHER : DIRECTION_LOWER));
        json_put_string(&json, "unit", rank->unit.text);
        json_put_double(&json, "confidence", rank->confidence);
        json_put_uint(&json, "resamples", RANKING_RESAMPLES);
        r = write_sets(sources, response, &json, rank, groups, n);
        if (r < 0)
                (void)exchange_store_error(response, r);
        if (r != 0)
                return;
        write_apart(&json, rank, groups, n);
        write_counts(&json, rank);
        json_put_string(&json, "note", rank->note.text);
        json_object_end(&json);
}

/* --- the comparison ------------------------------------------------------------------------------- */

/* Counts every result of a set once. */
static int count_set(Response *response, RankQuery *rank, const Group *groups, size_t n) {
        uint64_t n_values = 0, n_alternatives = 0;

        for (size_t i = 0; i < n; i++) {
                size_t n_of_group = rank_query_values(rank, &groups[i])->n;
                bool is_enough = n_of_group >= RANKING_N_MIN;

                rank->n_excluded[EXCLUDED_FAILED] += groups[i].n_failed;
                rank->n_excluded[EXCLUDED_WITHOUT] += groups[i].n - n_of_group;
                rank->n_excluded[EXCLUDED_FEW] += is_enough ? 0 : n_of_group;
                n_values += is_enough ? n_of_group : 0;
                n_alternatives += is_enough;
        }

        if (n_alternatives > RANKING_ALTERNATIVES_MAX)
                return exchange_error(response, 413,
                                      "more than %u alternatives to compare; select fewer with where= or component=",
                                      RANKING_ALTERNATIVES_MAX);
        if (n_alternatives > 1)
                rank->n_compared += n_values;
        else
                rank->n_excluded[EXCLUDED_ALONE] += n_values;
        rank->n_sets++;
        return 0;
}

static int count_sets(const Sources *sources, Response *response, RankQuery *rank, const Group *groups, size_t n) {
        uint64_t n_values = 0;

        for (size_t begin = 0, end = 0; begin < n; begin = end) {
                end = find_set_end(rank, groups, begin, n);
                if (count_set(response, rank, groups + begin, end - begin) > 0)
                        return EXCHANGE_ANSWERED;
        }

        for (size_t i = 0; i < n; i++)
                n_values += rank_query_values(rank, &groups[i])->n;
        if (n > 0 && n_values == 0) {
                scoped(buffer_deinit) Buffer list = {};

                if (vocabulary_list_results(rank->vocabulary, sources, response, rank_query_objective(rank), &list) > 0)
                        return EXCHANGE_ANSWERED;
                return exchange_error(response, 400, "no selected result of %s has a number '%s'; choose a result with "
                                                     "objective=. Available: %s",
                                      rank->selection.filter.name, rank_query_objective(rank), list.text ?: "");
        }
        if (n_values > RANK_VALUES_MAX)
                return exchange_error(
                        response, 413,
                        "more than %u results to compare; select fewer with where= or since_ms=", RANK_VALUES_MAX);
        return 0;
}

void indicators_subject_rank(const Target *target, const Sources *sources, Response *response) {
        scoped(grouping_freep) Grouping *grouping = NULL;
        scoped(rank_deinit) RankQuery rank = {};
        Group *groups;
        size_t n;

        if (response->query_timeout_ns > 0)
                rank.until_ns = clock_boottime_ns() + response->query_timeout_ns;
        if (parse(target, sources, response, &rank) > 0 ||
            grouping_read(sources, response, &rank.selection, &rank.fields, &grouping, &rank.n_scanned) > 0)
                return;

        groups = grouping_sorted(grouping, &n);
        if (count_sets(sources, response, &rank, groups, n) > 0)
                return;
        if (n == 0 &&
            vocabulary_explain_empty(rank.vocabulary, target, sources, response, &rank.selection, &rank.note) > 0)
                return;
        write_rankings(sources, response, &rank, groups, n);
}
