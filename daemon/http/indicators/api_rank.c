/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks alternatives by an indicator
 *
 * Compares only results with the same parameters on the same hardware, and makes one ranking for each such set, unless the
 * request names fields that may differ. The same applies to component and version if they do not identify the alternatives.
 * Every selected result is either compared, or counted as left out.
 */

#include <stdlib.h>
#include <string.h>

#include "document/property.h"
#include "http/indicators/indicators_subject.h"
#include "http/indicators/ranking_json.h"
#include "http/indicators/vocabulary.h"
#include "http/selection/result_groups.h"
#include "util/parse.h"

#define CONFIDENCE_DEFAULT 0.95
#define RANK_VALUES_MAX 100000U /* each resample draws and sorts all values of an alternative again */

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
                return exchange_error(response, 400, "query parameter 'confidence' must be a number from 0.5 to 0.999, not '%s'", text);
        return 0;
}

/* Takes the direction of the request, else of the model. A higher overall_score is better unless a model declares otherwise. */
static int find_direction(const Target *target, Response *response, const char *objective, RankQuery *rank) {
        const char *text = exchange_parameter(target, "direction");
        Direction direction = property_direction_find(text ?: "");
        scoped(buffer_deinit) Buffer declared = {};

        if (text && direction != DIRECTION_HIGHER && direction != DIRECTION_LOWER)
                return exchange_error(response, 400, "query parameter 'direction' must be higher or lower, not '%s'", text);
        if (!text && vocabulary_say(rank->vocabulary, objective, "direction", &declared) == 0)
                direction = property_direction_find(declared.text ?: "");
        if (direction == DIRECTION_UNKNOWN && strcmp(objective, "overall_score") == 0)
                direction = DIRECTION_HIGHER;
        if (direction == DIRECTION_NONE)
                return exchange_error(response, 400,
                                      "the model of %s declares that neither a higher nor a lower '%s' is better; specify direction=higher "
                                      "or direction=lower (perfctl: --direction)", rank->selection.filter.name, objective);
        if (direction == DIRECTION_UNKNOWN)
                return exchange_error(response, 400,
                                      "no model of %s declares whether a higher or a lower '%s' is better; specify direction=higher or "
                                      "direction=lower (perfctl: --direction)", rank->selection.filter.name, objective);

        rank->is_higher_better = direction == DIRECTION_HIGHER;
        return 0;
}

static int find_unit(Response *response, const char *objective, RankQuery *rank) {
        if (vocabulary_say(rank->vocabulary, objective, "unit", &rank->unit) == VOCABULARY_AT_ODDS)
                return exchange_error(response, 400,
                                      "the models of %s declare different units of '%s' for different components: select one with "
                                      "where=component=NAME", rank->selection.filter.name, objective);
        return 0;
}

static void hold(RankQuery *rank, Factor across) {
        if (rank->is_across[across])
                return;
        rank->fields.names[rank->fields.n++] = across_words[across];
        rank->n_common++;
}

/* Fields that are equal within a ranking come first. A version belongs to a component, so comparing components also compares
 * their versions. */
static void choose_fields(RankQuery *rank) {
        Selection *selection = &rank->selection;

        rank->is_across[FACTOR_HARDWARE] |= selection_has_field(selection, "hardware");
        rank->is_across[FACTOR_COMPONENT] |= selection_has_field(selection, "component");
        rank->is_across[FACTOR_VERSION] |= selection_has_field(selection, "version") || rank->is_across[FACTOR_COMPONENT];
        rank->fields.has_parameters = !rank->is_across[FACTOR_PARAMETERS];
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
        int r;

        r = selection_parse(target, response, target->argument, &rank->selection);
        if (r == 0)
                r = selection_add_number(response, objective, &rank->selection, &rank->objective);
        if (r == 0)
                r = selection_parse_fields(response, "by", by, &rank->selection.fields);
        if (r == 0)
                r = selection_parse_fields(response, "hold", exchange_parameter(target, "hold"), &rank->selection.hold);
        if (r == 0)
                r = parse_across(target, response, rank);
        if (r == 0)
                r = parse_confidence(target, response, rank);
        if (r == 0)
                r = vocabulary_new(&rank->vocabulary, target, sources, response, &rank->selection.filter);
        if (r == 0)
                rank->selection.filter.derived = vocabulary_derived(rank->vocabulary);
        if (r == 0)
                r = vocabulary_check(rank->vocabulary, sources, response, &rank->selection);
        if (r == 0)
                r = find_direction(target, response, objective, rank);
        if (r == 0)
                r = find_unit(response, objective, rank);
        if (r == 0)
                choose_fields(rank);
        return r;
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
                return exchange_error(response, 413, "more than %u alternatives to compare; select fewer with where= or component=",
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
                end = ranking_json_set_end(rank, groups, begin, n);
                if (count_set(response, rank, groups + begin, end - begin) > 0)
                        return EXCHANGE_ANSWERED;
        }

        for (size_t i = 0; i < n; i++)
                n_values += rank_query_values(rank, &groups[i])->n;
        if (n > 0 && n_values == 0) {
                scoped(buffer_deinit) Buffer list = {};

                if (vocabulary_list_results(rank->vocabulary, sources, response, rank_query_objective(rank), &list) > 0)
                        return EXCHANGE_ANSWERED;
                return exchange_error(response, 400, "no selected result of %s has a number '%s'; choose another with "
                                                     "objective= (perfctl: --objective). Available: %s",
                                      rank->selection.filter.name, rank_query_objective(rank), list.text ?: "");
        }
        if (n_values > RANK_VALUES_MAX)
                return exchange_error(response, 413, "more than %u results to compare; select fewer with where= or since_ms=",
                                      RANK_VALUES_MAX);
        return 0;
}

void indicators_subject_rank(const Target *target, const Sources *sources, Response *response) {
        scoped(grouping_freep) Grouping *grouping = NULL;
        scoped(rank_deinit) RankQuery rank = {};
        Group *groups;
        size_t n;

        if (parse(target, sources, response, &rank) > 0 ||
            result_groups_read(sources, response, &rank.selection, &rank.fields, &grouping, &rank.n_scanned) > 0)
                return;

        groups = grouping_sorted(grouping, &n);
        if (count_sets(sources, response, &rank, groups, n) > 0)
                return;
        if (n == 0 && vocabulary_explain_empty(rank.vocabulary, target, sources, response, &rank.selection, &rank.note) > 0)
                return;
        ranking_json_write(sources, response, &rank, groups, n);
}
