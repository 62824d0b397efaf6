/* SPDX-License-Identifier: Apache-2.0 */
/* Computes statistics of an indicator's results, grouped by common fields. */

#include <string.h>

#include "http/format/csv.h"
#include "http/indicators/indicators_subject.h"
#include "http/indicators/vocabulary.h"
#include "http/selection/grouping.h"
#include "value/value_parse.h"

#define LIMIT_DEFAULT 1000U

typedef struct PointQuery {
        Selection selection;
        GroupFields fields;
        uint64_t limit;
        bool is_csv;
        uint64_t n_scanned;
        Vocabulary *vocabulary;   /* owned */
        Buffer units[STATS_MAX];  /* owned; units of the stats, empty if unknown */
        Buffer note;              /* owned; reason for an empty answer */
} PointQuery;

static void query_deinit(PointQuery *query) {
        vocabulary_free(query->vocabulary);
        for (size_t i = 0; i < STATS_MAX; i++)
                buffer_deinit(&query->units[i]);
        buffer_deinit(&query->note);
}

static int parse(const Target *target, Response *response, PointQuery *query) {
        Selection *selection = &query->selection;
        const char *fields = exchange_parameter(target, "group_by");

        if (selection_parse(target, response, target->argument, selection) > 0 ||
            selection_parse_stats(response, exchange_parameter(target, "stat"), selection) > 0 ||
            selection_parse_fields(response, "group_by", fields, &selection->fields) > 0 ||
            exchange_parameter_is_csv(target, response, &query->is_csv) > 0 ||
            /* CSV has no place for a note that the list is truncated */
            exchange_parameter_u64(target, response, "limit", 1, GROUPS_MAX,
                                   query->is_csv ? GROUPS_MAX : LIMIT_DEFAULT, &query->limit) > 0)
                return EXCHANGE_ANSWERED;

        query->fields.n = selection->fields.n;
        for (size_t i = 0; i < selection->fields.n; i++)
                query->fields.names[i] = selection->fields.names[i];
        return 0;
}

/* Checks that all numbers of a stat have the same unit. 0 or EXCHANGE_ANSWERED. */
static int find_units(Response *response, PointQuery *query) {
        for (size_t i = 0; i < query->selection.n_stats; i++) {
                const Aggregate *aggregate = &query->selection.stats[i];

                if (aggregate_has_unit(aggregate) &&
                    vocabulary_say(query->vocabulary, aggregate->key, "unit", &query->units[i]) == VOCABULARY_AT_ODDS &&
                    !selection_has_field(&query->selection, "component"))
                        return exchange_error(response, 400,
                                              "the models of %s declare different units of '%s' for different "
                                              "components: group by component, or select one with "
                                              "where=component=NAME",
                                              query->selection.filter.name, aggregate->key);
        }
        return 0;
}

/* True if all statistics of a number that were requested follow from the order of its values. */
static bool is_of_order(const Selection *selection, size_t number) {
        for (size_t i = 0; i < selection->n_stats; i++)
                if (selection->number_of_stat[i] == number && !aggregate_is_of_order(&selection->stats[i]))
                        return false;
        return true;
}

/* Computes the statistics of a group's numbers; each may be requested more than once. */
static void compute(const PointQuery *query, Group *group, double ret[static STATS_MAX]) {
        const Selection *selection = &query->selection;

        for (size_t number = 0; number < selection->filter.n_numbers; number++) {
                Sequence *values = &group->numbers[number];
                Statistics statistics;

                if (is_of_order(selection, number))
                        statistics_order_of(values->values, values->n, &statistics);
                else
                        statistics_of(values->values, values->n, &statistics);
                for (size_t i = 0; i < selection->n_stats; i++)
                        if (selection->number_of_stat[i] == number)
                                ret[i] = aggregate_value(&selection->stats[i], &statistics, values->values, values->n);
        }
}

/* --- JSON ---------------------------------------------------------------------------------------- */

static void write_group(Json *json, const PointQuery *query, Group *group) {
        const Selection *selection = &query->selection;
        double values[STATS_MAX];

        compute(query, group, values);
        json_object_begin(json);
        json_put_object_begin(json, "key");
        for (size_t i = 0; i < query->fields.n; i++) {
                json_key(json, query->fields.names[i]);
                (void)value_parse_write_kept(grouping_field(group, i), json);
        }
        json_object_end(json);
        json_put_uint(json, "n", group->n);
        json_put_uint(json, "n_failed", group->n_failed);
        json_put_uint(json, "first_ms", group->first_ms);
        json_put_uint(json, "last_ms", group->last_ms);
        json_put_object_begin(json, "values");
        for (size_t i = 0; i < selection->n_stats; i++)
                if (aggregate_is_count(&selection->stats[i]))
                        json_put_uint(json, selection->stats[i].text, (uint64_t)values[i]);
                else
                        json_put_double(json, selection->stats[i].text, values[i]);
        json_object_end(json);
        json_object_end(json);
}

static void write_units(Json *json, const PointQuery *query) {
        const Selection *selection = &query->selection;

        json_put_object_begin(json, "units");
        for (size_t i = 0; i < selection->n_stats; i++)
                if (query->units[i].n > 0)
                        json_put_string(json, selection->stats[i].text, query->units[i].text);
        json_object_end(json);
}

static void write_json(Response *response, const PointQuery *query, Group *groups, size_t n) {
        Json json = { .out = response->body };

        json_object_begin(&json);
        json_put_string(&json, "name", query->selection.filter.name);
        json_put_array_begin(&json, "groups");
        for (size_t i = 0; i < n && i < query->limit; i++)
                write_group(&json, query, &groups[i]);
        json_array_end(&json);
        json_put_uint(&json, "scanned", query->n_scanned);
        json_put_uint(&json, "n_groups", n);
        json_put_bool(&json, "truncated", n > query->limit);
        json_put_string(&json, "note", query->note.text);
        write_units(&json, query);
        json_object_end(&json);
}

/* --- CSV ----------------------------------------------------------------------------------------- */

/* Two columns must not have the same name: readers that address columns by name would lose the first. */
static void write_csv_key(Csv *csv, const PointQuery *query, const char *key) {
        bool is_taken = strcmp(key, "n") == 0 || strcmp(key, "n_failed") == 0;
        scoped(buffer_deinit) Buffer text = {};

        for (size_t i = 0; i < query->selection.n_stats; i++)
                is_taken |= strcmp(key, query->selection.stats[i].text) == 0;
        buffer_printf(&text, "%s%s", is_taken ? "@parameters." : "", key);
        csv_text(csv, text.text ?: key);
}

static void write_csv_head(Csv *csv, const PointQuery *query) {
        for (size_t i = 0; i < query->fields.n; i++)
                write_csv_key(csv, query, query->fields.names[i]);
        csv_text(csv, "n");
        csv_text(csv, "n_failed");
        for (size_t i = 0; i < query->selection.n_stats; i++)
                csv_text(csv, query->selection.stats[i].text);
        csv_end_line(csv);
}

static void write_csv(Response *response, const PointQuery *query, Group *groups, size_t n) {
        Csv csv = { .out = response->body };

        response->type = CONTENT_CSV;
        write_csv_head(&csv, query);
        for (size_t i = 0; i < n && i < query->limit; i++) {
                double values[STATS_MAX];

                compute(query, &groups[i], values);
                for (size_t k = 0; k < query->fields.n; k++)
                        csv_json(&csv, grouping_field(&groups[i], k));
                csv_number(&csv, (double)groups[i].n);
                csv_number(&csv, (double)groups[i].n_failed);
                for (size_t k = 0; k < query->selection.n_stats; k++)
                        csv_number(&csv, values[k]);
                csv_end_line(&csv);
        }
}

void indicators_subject_query(const Target *target, const Sources *sources, Response *response) {
        scoped(grouping_freep) Grouping *grouping = NULL;
        scoped(query_deinit) PointQuery query = {};
        Group *groups;
        size_t n;

        if (parse(target, response, &query) > 0 ||
            vocabulary_new(&query.vocabulary, target, sources, response, &query.selection.filter) > 0)
                return;
        query.selection.filter.derived = vocabulary_derived(query.vocabulary);
        if (vocabulary_check(query.vocabulary, sources, response, &query.selection) > 0 ||
            find_units(response, &query) > 0 ||
            grouping_read(sources, response, &query.selection, &query.fields, &grouping, &query.n_scanned) > 0)
                return;
        if (query.n_scanned == 0 && !query.is_csv &&
            vocabulary_explain_empty(query.vocabulary, target, sources, response, &query.selection, &query.note) > 0)
                return;

        groups = grouping_sorted(grouping, &n);
        if (query.is_csv)
                write_csv(response, &query, groups, n);
        else
                write_json(response, &query, groups, n);
}
