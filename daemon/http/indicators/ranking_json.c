/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/ranking_json.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "document/property.h"
#include "http/indicators/stack_diff.h"

#define SEED 1U /* constant, so that equal requests have equal answers */
#define DIFFERING_MAX 64U /* parameters listed in "apart" */

static bool is_comparable(const RankQuery *rank, const Group *a, const Group *b) {
        for (size_t i = 0; i < rank->n_common; i++)
                if (!json_text_equals(grouping_field(a, i), grouping_field(b, i)))
                        return false;
        return true;
}

size_t ranking_json_set_end(const RankQuery *rank, const Group *groups, size_t begin, size_t n) {
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
                json_text_write(grouping_field(group, n_before + i), json);
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
                json_text_write(grouping_field(group, 0), json);
        }
        for (size_t i = n_before; i < rank->n_common; i++) {
                json_key(json, rank->fields.names[i - n_before]);
                json_text_write(grouping_field(group, i), json);
        }
}

static void write_alternative(Json *json, const RankQuery *rank, const Group *group, const Alternative *alternative, bool is_alone) {
        json_object_begin(json);
        json_put_uint(json, "rank", alternative->rank);
        json_put_bool(json, "tied", alternative->is_tied);
        json_put_string(json, "difference", is_alone ? "nothing to compare with" : ranking_verdict_name(alternative->verdict));
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

static void write_left_out(Json *json, const RankQuery *rank, const Group *groups, size_t n) {
        json_put_array_begin(json, "left_out");
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
                .is_higher_better = rank->is_higher_better, .confidence = rank->confidence, .n_resamples = RANKING_RESAMPLES, .seed = SEED,
        };

        *ret_n = 0;
        for (size_t i = 0; i < n; i++) {
                const Sequence *values = rank_query_values(rank, &groups[i]);

                if (values->n >= RANKING_N_MIN)
                        ret[(*ret_n)++] = (Alternative){ .index = i, .values = values->values, .n = values->n };
        }
        return ranking_make(ret, *ret_n, &config);
}

/* Returns the number of results that are left out. */
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
static int write_also_differ(const Sources *sources, Response *response, Json *json, const RankQuery *rank, const Group *groups, size_t n) {
        scoped(freep) StackCount *stacks = calloc(GROUP_STACKS_MAX, sizeof(*stacks));
        uint64_t n_left_out = 0;
        size_t n_stacks = 0;
        int r;

        if (!stacks)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                n_left_out += groups[i].n_of_further_stacks;
                for (size_t k = 0; k < groups[i].n_stacks; k++)
                        n_left_out += merge_stack(stacks, &n_stacks, &groups[i].stacks[k]);
        }
        r = stack_diff_write(sources, response, json, "also_differ", stacks, n_stacks, rank->fields.names, rank->fields.n, &n_left_out);
        if (r == 0)
                json_put_uint(json, "also_differ_left_out", n_left_out);
        return r;
}

static int write_set(const Sources *sources, Response *response, Json *json, const RankQuery *rank, const Group *groups, size_t n) {
        scoped(freep) Alternative *alternatives = calloc(n, sizeof(*alternatives));
        size_t n_alternatives;
        int r;

        if (!alternatives)
                return -ENOMEM;
        r = rank_set(rank, groups, n, alternatives, &n_alternatives);
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
        write_left_out(json, rank, groups, n);
        r = write_also_differ(sources, response, json, rank, groups, n);
        json_object_end(json);
        return r;
}

static int write_sets(const Sources *sources, Response *response, Json *json, const RankQuery *rank, const Group *groups, size_t n) {
        int r = 0;

        json_put_array_begin(json, "rankings");
        for (size_t begin = 0, end = 0; r == 0 && begin < n; begin = end) {
                end = ranking_json_set_end(rank, groups, begin, n);
                r = write_set(sources, response, json, rank, groups + begin, end - begin);
        }
        json_array_end(json);
        return r;
}

/* --- fields that distinguish sets ------------------------------------------------------------------ */

typedef struct Differing {
        JsonText keys[DIFFERING_MAX];
        size_t n;
} Differing;

static JsonText find_member(JsonText object, JsonText wanted) {
        JsonWalk walk = json_text_walk(object);
        JsonText key, value;

        while (walk.is_object && json_text_walk_next(&walk, &key, &value))
                if (json_text_equals(key, wanted))
                        return value;
        return (JsonText){};
}

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
                other = find_member(b, key);
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
        json_put_object_begin(json, "left_out");
        for (Exclusion i = 0; i < N_EXCLUSIONS; i++)
                json_put_uint(json, names[i], rank->n_excluded[i]);
        json_object_end(json);
}

void ranking_json_write(const Sources *sources, Response *response, const RankQuery *rank, const Group *groups, size_t n) {
        Json json = { .out = response->body };
        int r;

        json_object_begin(&json);
        json_put_string(&json, "name", rank->selection.filter.name);
        json_put_string(&json, "objective", rank_query_objective(rank));
        json_put_string(&json, "direction", property_direction_text(rank->is_higher_better ? DIRECTION_HIGHER : DIRECTION_LOWER));
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
