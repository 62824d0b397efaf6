/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/indicators_subject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/indicators/vocabulary.h"
#include "http/pagination.h"
#include "http/selection/selection.h"
#include "store/catalog/shape.h"
#include "store/indicators/indicator_reader.h"
#include "store/indicators/result_reader.h"
#include "util/parse.h"
#include "value/value_parse.h"

void indicators_subject_list(const Target *target, const Sources *sources, Response *response) {
        bool is_cut = false, of_kpis;
        IndicatorRow row;
        Json json = { .out = response->body };
        int r;

        if (exchange_parameter_bool(target, response, "kpis", &of_kpis) > 0)
                return;
        json_object_begin(&json);
        json_put_array_begin(&json, "indicators");

        r = of_kpis ? indicator_reader_list_kpis(sources->reader) : indicator_reader_list(sources->reader);
        while (r == 0 && (r = indicator_reader_next(sources->reader, &row)) == 0) {
                is_cut = response->body->n >= PAGINATION_BYTES_MAX;
                if (is_cut)
                        break;

                json_object_begin(&json);
                json_put_string(&json, "name", row.name);
                json_put_string(&json, "component", row.component);
                json_put_uint(&json, "results", row.n_results);
                json_put_uint(&json, "latest_ms", row.latest_ms);
                json_object_end(&json);
        }
        if (r != 0 && r != READER_END) {
                (void)exchange_store_error(response, r);
                return;
        }

        json_array_end(&json);
        json_put_bool(&json, "truncated", is_cut);
        json_object_end(&json);
}

void indicators_subject_models(const Target *target, const Sources *sources, Response *response) {
        if (!sources->snapshot->indicators.models) {
                (void)exchange_error(response, 503, "out of memory");
                return;
        }

        if (target->viewer.hides_others)
                vocabulary_write_models(sources, &target->viewer, response->body);
        else
                shared_texts_write(sources->snapshot->indicators.models, response->body);
}

static void format_id(const uint8_t id[static 16], char ret[static 2 * 16 + 1]) {
        for (size_t i = 0; i < 16; i++)
                (void)snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

static void put_id(Json *json, const char *key, const uint8_t id[static 16]) {
        char text[2 * 16 + 1];

        format_id(id, text);
        json_put_string(json, key, text);
}

/* Writes the run's record if the sender ran the indicator. */
/* False: the text is damaged. */
static bool write_run(Json *json, const ResultRow *row, const Viewer *viewer) {
        /* who knows the digest of a specification may read it: it has values of variables and a script, as the run's
         * record */
        if (row->specification_digest && privacy_may_see(viewer, row->uid))
                json_put_string(json, "specification", row->specification_digest);
        if (row->has_exit_status)
                json_put_int(json, "exit_status", row->exit_status);
        if (row->batch.is_known) {
                put_id(json, "batch", row->batch.id);
                json_put_uint(json, "batch_index", row->batch.index);
        }
        if (!row->run)
                return true;

        if (!privacy_may_see(viewer, row->uid)) {
                privacy_put_run(json, json_text(row->run, strlen(row->run)));
                return true;
        }
        json_key(json, "run");
        return value_parse_write_kept(json_text(row->run, strlen(row->run)), json);
}

/* Writes the derived numbers of the model beside the document, which is unchanged; a failed run has none. */
static int write_derived(Json *json, const ResultRow *row, const DerivedModels *models) {
        const DerivedModel *model = models ? derived_models_find(models, row->component) : NULL;

        if (!model || model->n == 0 || (row->has_exit_status && row->exit_status != 0))
                return 0;
        json_key(json, "derived");
        return derived_model_write(model, json_text(row->document, strlen(row->document)), json);
}

/* derived: NULL for results of several names. 0 or -ENOMEM. */
static int write_result(Json *json, const ResultRow *row, const Viewer *viewer, const DerivedModels *derived,
                        Reader *reader) {
        bool is_whole;
        int r;

        json_object_begin(json);
        put_id(json, "id", row->id);
        json_put_uint(json, "time_ms", row->time_ms);
        if (row->claimed_ms > 0)
                json_put_uint(json, "claimed_time_ms", row->claimed_ms);
        json_put_string(json, "name", row->name);
        json_put_string(json, "component", row->component);
        json_put_string(json, "version", row->version);
        json_put_string(json, "job", row->job);
        json_put_uint(json, "uid", row->uid);
        json_put_double_or_null(json, "score", row->has_score, row->score);
        if (row->stack_digest)
                json_put_string(json, "stack", row->stack_digest);
        json_key(json, "document");
        is_whole = value_parse_write_kept(json_text(row->document, strlen(row->document)), json);
        r = write_derived(json, row, derived);
        is_whole &= write_run(json, row, viewer);
        if (!is_whole) {
                json_put_string(json, "note", "a text of this result is damaged in the database, and shown as null");
                reader_note_damaged_text(reader);
        }
        json_object_end(json);
        return r;
}

/* --- results ------------------------------------------------------------------------------------- */

/* Finds the rows that meet the conditions, by an index if there is one, and reads the documents of the page's rows
 * only. */
static int find_newest(const Sources *sources, Response *response, const PointFilter *filter, LatestRows *latest) {
        scoped(points_freep) Points *points = NULL;
        PointRow row;
        int r;

        r = points_new(&points, sources->reader, filter);
        while (r == 0 && (r = points_next(points, &row)) == 0)
                if (!pagination_add_latest(latest, (PageKey){ row.time_ms, row.row }))
                        points_skip(points);
        return r == READER_END ? 0 : exchange_store_error(response, r);
}

static int write_met(const Target *target, const Sources *sources, Response *response, const PointFilter *filter,
                     Pagination *page, Json *json) {
        scoped(freep) LatestRows *latest = malloc(sizeof(*latest));
        ResultRow row;
        int r;

        if (!latest)
                return exchange_store_error(response, -ENOMEM);
        pagination_init_latest(latest, page->limit + 1);
        r = find_newest(sources, response, filter, latest);

        for (size_t i = 0; r == 0 && i < latest->n; i++) {
                r = result_reader_find(sources->reader, latest->keys[i].row, &row);
                if (r == READER_END) { /* removed meanwhile */
                        r = 0;
                        continue;
                }
                if (r != 0)
                        return exchange_store_error(response, r);
                if (!pagination_admit(page, response->body, latest->keys[i]))
                        break;
                r = write_result(json, &row, &target->viewer, filter->derived, sources->reader);
        }
        reader_reset(sources->reader);
        return r < 0 ? exchange_store_error(response, r) : r;
}

static bool is_met(const ResultRow *row, const Selection *selection, StackFacts *stacks) {
        scoped(buffer_deinit) Buffer hardware = {};
        PointRow point = { .component = row->component, .version = row->version, .stack = row->stack, .stacks = stacks,
                           .with_labels = selection->filter.with_labels };
        char batch[2 * 16 + 1];

        if (selection->filter.n_conditions == 0)
                return true;

        point.parameters = json_text_find(json_text(row->document, strlen(row->document)), "@parameters");
        point.labels = json_text_find(json_text(row->document, strlen(row->document)), "@labels");
        if (row->batch.is_known) {
                format_id(row->batch.id, batch);
                point.batch = batch;
        }
        if (row->run)
                point.run = json_text(row->run, strlen(row->run));
        if (row->run && shape_put_hardware(json_text(row->run, strlen(row->run)), &hardware))
                point.hardware = hardware.text;
        return point_meets(&point, selection->conditions, selection->filter.n_conditions);
}

/* Writes the newest rows first, from an index of the store. Checks the conditions for each result: a job has few
 * results. */
static int write_filtered(const Target *target, const Sources *sources, Response *response, const ResultFilter *filter,
                          const Selection *selection, Pagination *page, Json *json) {
        scoped(stack_facts_freep) StackFacts *stacks = NULL;
        ResultRow row;
        int r;

        r = stack_facts_new(&stacks, sources->reader);
        if (r == 0)
                r = result_reader_list(sources->reader, filter);
        while (r == 0 && (r = result_reader_next(sources->reader, &row)) == 0) {
                bool is_selected = is_met(&row, selection, stacks);

                r = stack_facts_error(stacks);
                if (r != 0)
                        break;
                if (!is_selected)
                        continue;
                if (!pagination_admit(page, response->body, (PageKey){ row.time_ms, row.row }))
                        break;
                r = write_result(json, &row, &target->viewer, selection->filter.derived, sources->reader);
        }
        return r == 0 || r == READER_END ? 0 : exchange_store_error(response, r);
}

/* Reads the declarations of models for the name, and checks the conditions against them. *ret_vocabulary: NULL for
 * results of any name. */
static int check(const Target *target, const Sources *sources, Response *response, Selection *selection,
                 Vocabulary **ret_vocabulary) {
        bool has_conditions = selection->filter.n_conditions > 0;
        int r;

        if (!has_conditions && !selection->filter.name)
                return 0;
        r = has_conditions ? vocabulary_new(ret_vocabulary, target, sources, response, &selection->filter) :
                             vocabulary_new_known(ret_vocabulary, target, sources, response, &selection->filter);
        if (r != 0)
                return r;
        selection->filter.derived = vocabulary_derived(*ret_vocabulary);
        return has_conditions ? vocabulary_check(*ret_vocabulary, sources, response, selection) : 0;
}

/* name NULL: any name. */
static void answer_results_of(const Target *target, const Sources *sources, Response *response, const char *name) {
        ResultFilter filter = { .name = name, .job = exchange_parameter(target, "job") };
        scoped(vocabulary_freep) Vocabulary *vocabulary = NULL;
        Selection selection;
        Pagination page;
        Json json;
        int r;

        if (selection_parse(target, response, name, &selection) > 0 || pagination_parse(target, response, &page) > 0)
                return;
        if (check(target, sources, response, &selection, &vocabulary) > 0)
                return;

        selection.filter.before = page.before;
        filter.component = selection.filter.component;
        filter.since_ms = page.since_ms;
        filter.until_ms = page.until_ms;
        filter.before = page.before;

        pagination_begin(&json, response->body, "results");
        if (selection.filter.n_conditions == 0 || filter.job)
                r = write_filtered(target, sources, response, &filter, &selection, &page, &json);
        else
                r = write_met(target, sources, response, &selection.filter, &page, &json);
        if (r == 0)
                pagination_end(&page, &json);
}

void indicators_subject_all_results(const Target *target, const Sources *sources, Response *response) {
        answer_results_of(target, sources, response, exchange_parameter(target, "name"));
}

void indicators_subject_results(const Target *target, const Sources *sources, Response *response) {
        answer_results_of(target, sources, response, target->argument);
}

/* --- specifications ------------------------------------------------------------------------------ */

void indicators_subject_specification(const Target *target, const Sources *sources, Response *response) {
        Json json = { .out = response->body };
        uint8_t digest[SHA256_BYTES];
        SpecificationRow row;
        int r;

        if (parse_hex(target->argument, digest, sizeof(digest)) != 0) {
                (void)exchange_error(response, 400,
                                     "a specification is named by the %zu hexadecimal digits (0-9 a-f) of its digest",
                                     2 * sizeof(digest));
                return;
        }
        r = result_reader_find_specification(sources->reader, digest, &row);
        if (r == READER_END) {
                (void)exchange_error(response, 404, "no result has the specification '%s'", target->argument);
                return;
        }
        if (r != 0) {
                (void)exchange_store_error(response, r);
                return;
        }

        json_object_begin(&json);
        json_put_uint(&json, "results", row.n_results);
        json_key(&json, "specification");
        (void)value_parse_write_kept(json_text(row.document, strlen(row.document)), &json);
        json_object_end(&json);
}
