/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/vocabulary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/selection/grouping.h"
#include "snapshot/shared_texts.h"
#include "store/indicators/indicator_reader.h"
#include "store/indicators/result_reader.h"
#include "store/indicators/stack_facts.h"
#include "util/array.h"
#include "util/nearest.h"

#define LISTED_BYTES_MAX 400U /* of the keys listed in a message */
#define SCORE_KEY "overall_score"

#define VALUES_BYTES_MAX 400U /* of the values listed in a message */

/* --- names --------------------------------------------------------------------------------------------- */

void vocabulary_names_deinit(Names *names) {
        for (size_t i = 0; i < names->n; i++)
                free(names->items[i]);
}

static bool names_have(const Names *names, const char *name) {
        for (size_t i = 0; i < names->n; i++)
                if (strcmp(names->items[i], name) == 0)
                        return true;
        return false;
}

int vocabulary_names_add(Names *names, const char *name) {
        if (names->n == NAMES_MAX || !*name || names_have(names, name))
                return 0;
        names->items[names->n] = strdup(name);
        if (!names->items[names->n])
                return -ENOMEM;
        names->n++;
        return 0;
}

/* --- declarations -------------------------------------------------------------------------------------- */

/* A declaration is a type, a list of types, or an object with either. */
static JsonText types_of(JsonText declaration) {
        return json_text_kind(declaration) == JSON_KIND_OBJECT ? json_text_find(declaration, "type") : declaration;
}

static bool is_of_type(const Condition *condition, JsonText type) {
        if (json_text_is_string(type, "str", 3))
                return !condition_is_range(condition);
        if (json_text_is_string(type, "int", 3))
                return condition->is_number &&
                       (condition_is_range(condition) || condition->number == trunc(condition->number));
        if (json_text_is_string(type, "float", 5))
                return condition->is_number;
        if (json_text_is_string(type, "semver", 6))
                return condition->is_semver;
        if (json_text_is_string(type, "time", 4))
                return condition->is_time;
        if (json_text_is_string(type, "map", 3))
                return !condition_is_range(condition);
        return !condition_is_range(condition) &&
               (strcmp(condition->value, "true") == 0 || strcmp(condition->value, "false") == 0);
}

static bool is_of_types(const Condition *condition, JsonText types) {
        JsonWalk walk = json_text_walk(types);
        JsonText unused, type;

        if (json_text_kind(types) == JSON_KIND_STRING)
                return is_of_type(condition, types);
        if (json_text_kind(types) != JSON_KIND_LIST)
                return true;
        while (json_text_walk_next(&walk, &unused, &type))
                if (is_of_type(condition, type))
                        return true;
        return false;
}

bool vocabulary_allows(JsonText declaration, const Condition *condition) {
        JsonText values = json_text_kind(declaration) == JSON_KIND_OBJECT ? json_text_find(declaration, "values")
                                                                          : (JsonText){};
        JsonWalk walk = json_text_walk(values);
        Condition equal = *condition;
        JsonText unused, value;

        if (json_text_kind(values) != JSON_KIND_LIST || condition_is_range(condition))
                return is_of_types(condition, types_of(declaration));

        equal.relation = CONDITION_EQUAL;
        while (json_text_walk_next(&walk, &unused, &value))
                if (condition_is_met(&equal, value))
                        return true;
        return false;
}

static void put_values(Buffer *out, JsonText list, const char *separator) {
        JsonWalk walk = json_text_walk(list);
        JsonText unused, value;
        size_t begin = out->n;

        while (json_text_walk_next(&walk, &unused, &value)) {
                if (out->n - begin > VALUES_BYTES_MAX) {
                        buffer_puts(out, ", …");
                        return;
                }
                if (out->n > begin)
                        buffer_puts(out, separator);
                json_text_decode(value, out);
        }
}

void vocabulary_put_expected(JsonText declaration, Buffer *out) {
        JsonText types = types_of(declaration), values = {};

        if (json_text_kind(declaration) == JSON_KIND_OBJECT)
                values = json_text_find(declaration, "values");
        buffer_puts(out, "");
        if (json_text_kind(types) == JSON_KIND_LIST)
                put_values(out, types, " or ");
        else
                json_text_decode(types, out);
        if (json_text_kind(values) != JSON_KIND_LIST)
                return;

        buffer_puts(out, out->n > 0 ? ", one of " : "one of ");
        put_values(out, values, ", ");
}

/* --- the vocabulary ------------------------------------------------------------------------------------ */

typedef struct VocabularyModel {
        char *component; /* owned; component of the model, NULL: any */
        char *results, *declaration; /* owned; JSON */
} VocabularyModel;

typedef enum PropertyKind {
        KIND_PARAMETER,
        KIND_RESULT,
        N_KINDS,
} PropertyKind;

static const char *const members[N_KINDS] = { [KIND_PARAMETER] = "parameters", [KIND_RESULT] = "results" };
static const char *const places[N_KINDS] = { [KIND_PARAMETER] = "@parameters", [KIND_RESULT] = "@result" };

struct Vocabulary {
        PointFilter filter; /* the selection's name, component and times; borrowed */
        VocabularyModel *models; /* owned; models that apply to the selected results */
        size_t n_models;
        DerivedModels derived; /* owned */
        size_t n_declared; /* number of results that models declare */
        Names names[N_KINDS];
};

Vocabulary *vocabulary_free(Vocabulary *vocabulary) {
        if (!vocabulary)
                return NULL;

        for (size_t i = 0; i < vocabulary->n_models; i++) {
                free(vocabulary->models[i].component);
                free(vocabulary->models[i].results);
                free(vocabulary->models[i].declaration);
        }
        for (PropertyKind kind = 0; kind < N_KINDS; kind++)
                vocabulary_names_deinit(&vocabulary->names[kind]);
        free(vocabulary->models);
        derived_models_deinit(&vocabulary->derived);
        free(vocabulary);
        return NULL;
}

/* A name that cannot be allocated is skipped: the list is for messages only. */
static void names_add_members(Names *names, JsonText object) {
        JsonWalk walk = json_text_walk(object);
        JsonText key, unused;

        while (walk.is_object && json_text_walk_next(&walk, &key, &unused)) {
                scoped(buffer_deinit) Buffer name = {};

                json_text_decode(key, &name);
                (void)vocabulary_names_add(names, buffer_error(&name) == 0 && name.text ? name.text : "");
        }
}

static void names_list(const Names *names, const char *but, Buffer *out) {
        size_t begin = out->n, i;

        buffer_puts(out, "");
        for (i = 0; i < names->n && out->n - begin + strlen(names->items[i]) < LISTED_BYTES_MAX; i++)
                if (strcmp(names->items[i], but) != 0)
                        buffer_printf(out, "%s%s", out->n > begin ? ", " : "", names->items[i]);
        if (i < names->n)
                buffer_printf(out, " and %zu more", names->n - i);
}

/* Models declare names first, after overall_score. */
const char *vocabulary_declared_result(const Vocabulary *vocabulary, size_t i) {
        return i < vocabulary->n_declared ? vocabulary->names[KIND_RESULT].items[i + 1] : NULL;
}

/* --- models -------------------------------------------------------------------------------------- */

static char *copy(JsonText text) {
        return text.text ? strndup(text.text, text.n) : strdup("");
}

static JsonText text_of(const char *text) {
        return json_text(text, strlen(text));
}

/* For each component, the first row is the model in effect. */
static bool holds(const Vocabulary *vocabulary, const ModelRow *row) {
        const VocabularyModel *last = vocabulary->n_models > 0 ? &vocabulary->models[vocabulary->n_models - 1] : NULL;
        const char *component = vocabulary->filter.component;

        if (row->component && component && strcasecmp(row->component, component) != 0)
                return false;
        /* The component's own model has precedence over the model of any component. */
        if (last && component)
                return false;
        return !last || strcmp(row->component ?: "", last->component ?: "") != 0;
}

static int add_model(Vocabulary *vocabulary, const ModelRow *row) {
        VocabularyModel *model;

        if (ARRAY_EXTEND(vocabulary->models, vocabulary->n_models) < 0)
                return -ENOMEM;

        model = &vocabulary->models[vocabulary->n_models++];
        *model = (VocabularyModel){ .results = copy(row->results), .declaration = copy(row->declaration) };
        if (row->component)
                model->component = strdup(row->component);
        if (!model->results || !model->declaration || (row->component && !model->component))
                return -ENOMEM;

        for (PropertyKind kind = 0; kind < N_KINDS; kind++)
                names_add_members(&vocabulary->names[kind], json_text_find(text_of(model->declaration), members[kind]));
        return derived_models_add(&vocabulary->derived, row->component, json_text_find(row->declaration, "results"));
}

const DerivedModels *vocabulary_derived(const Vocabulary *vocabulary) {
        return &vocabulary->derived;
}

static int read_models(Vocabulary *vocabulary, const Target *target, const Sources *sources, Response *response) {
        ModelRow row;
        int r;

        r = indicator_reader_list_models(sources->reader, vocabulary->filter.name, exchange_uid(target));
        while (r == 0 && (r = indicator_reader_next_model(sources->reader, &row)) == 0)
                if (holds(vocabulary, &row))
                        r = add_model(vocabulary, &row);
        return r == READER_END ? 0 : exchange_store_error(response, r);
}

static JsonWalk walk_models(const Buffer *models) {
        return json_text_walk(json_text_find(json_text(models->text ? models->text : "", models->n), "models"));
}

/* Models of files and of administrators are everybody's. */
static bool may_list_model(const Viewer *viewer, JsonText model) {
        double uid;

        return !json_text_double(json_text_find(model, "applies_to_uid"), &uid) ||
               privacy_may_list(viewer, (uint32_t)uid);
}

void vocabulary_write_models(const Sources *sources, const Viewer *viewer, Buffer *out) {
        scoped(buffer_deinit) Buffer models = {};
        Json json = { .out = out };
        JsonText unused, model;
        JsonWalk walk;

        shared_texts_write(sources->snapshot->indicators.models, &models);
        walk = walk_models(&models);
        json_object_begin(&json);
        json_key(&json, "policy");
        json_text_write(json_text_find(json_text(models.text ?: "", models.n), "policy"), &json);
        json_put_array_begin(&json, "models");
        while (!walk.is_object && json_text_walk_next(&walk, &unused, &model))
                if (may_list_model(viewer, model))
                        json_text_write(model, &json);
        json_array_end(&json);
        json_key(&json, "complaints");
        json_text_write(json_text_find(json_text(models.text ?: "", models.n), "complaints"), &json);
        json_object_end(&json);
}

/* At a start, a model may be known to the event loop shortly before it is in the store. */
static bool is_declared(const Target *target, const Sources *sources, const char *name) {
        scoped(buffer_deinit) Buffer models = {};
        JsonText unused, model;
        JsonWalk walk;

        if (sources->snapshot && sources->snapshot->indicators.models)
                shared_texts_write(sources->snapshot->indicators.models, &models);
        walk = walk_models(&models);
        while (!walk.is_object && json_text_walk_next(&walk, &unused, &model))
                if (may_list_model(&target->viewer, model) &&
                    json_text_is_string(json_text_find(model, "name"), name, strlen(name)))
                        return true;
        return false;
}

/* Suggests the existing name that is most similar. */
static int check_name(Vocabulary *vocabulary, const Target *target, const Sources *sources, Response *response) {
        const char *name = vocabulary->filter.name, *nearest;
        scoped(vocabulary_names_deinit) Names names = {};
        IndicatorRow row;
        bool is_there = is_declared(target, sources, name);
        int r;

        r = indicator_reader_list(sources->reader);
        while (r == 0 && (r = indicator_reader_next(sources->reader, &row)) == 0) {
                is_there |= strcmp(row.name, name) == 0;
                vocabulary_names_add(&names, row.name);
        }

        nearest = nearest_word(name, (const char *const *)names.items, names.n);
        if (r != READER_END)
                return exchange_store_error(response, r);
        if (!is_there)
                return exchange_error(response, 404, "no results and no model of indicator '%s'%s%s%s", name,
                                      nearest ? ": did you mean " : "; perfctl indicator list has the names",
                                      nearest ?: "", nearest ? "?" : "");
        return 0;
}

int vocabulary_new_known(Vocabulary **ret, const Target *target, const Sources *sources, Response *response,
                         const PointFilter *filter) {
        scoped(vocabulary_freep) Vocabulary *vocabulary = calloc(1, sizeof(*vocabulary));
        int r = 0;

        if (!vocabulary)
                return exchange_store_error(response, -ENOMEM);

        vocabulary->filter = *filter;
        vocabulary_names_add(&vocabulary->names[KIND_PARAMETER], "component");
        vocabulary_names_add(&vocabulary->names[KIND_PARAMETER], "version");
        vocabulary_names_add(&vocabulary->names[KIND_PARAMETER], "hardware");
        vocabulary_names_add(&vocabulary->names[KIND_RESULT], SCORE_KEY);
        if (filter->name)
                r = read_models(vocabulary, target, sources, response);
        if (r != 0)
                return r;

        vocabulary->n_declared = vocabulary->names[KIND_RESULT].n > 0 ? vocabulary->names[KIND_RESULT].n - 1 : 0;
        *ret = TAKE(vocabulary);
        return 0;
}

int vocabulary_new(Vocabulary **ret, const Target *target, const Sources *sources, Response *response,
                   const PointFilter *filter) {
        scoped(vocabulary_freep) Vocabulary *vocabulary = NULL;
        int r;

        r = vocabulary_new_known(&vocabulary, target, sources, response, filter);
        if (r == 0 && filter->name && vocabulary->n_models == 0)
                r = check_name(vocabulary, target, sources, response);
        if (r == 0)
                *ret = TAKE(vocabulary);
        return r;
}

int vocabulary_say(const Vocabulary *vocabulary, const char *key, const char *member, Buffer *out) {
        JsonText found = {};

        for (size_t i = 0; i < vocabulary->n_models; i++) {
                JsonText result = json_text_find(text_of(vocabulary->models[i].results), key),
                         value = json_text_find(result, member);

                if (!result.text)
                        continue;
                if (found.text && !json_text_equals(found, value))
                        return VOCABULARY_AT_ODDS;
                found = value;
        }
        if (json_text_kind(found) == JSON_KIND_STRING)
                json_text_decode(found, out);
        else if (strcmp(key, SCORE_KEY) == 0 && strcmp(member, "direction") == 0)
                buffer_puts(out, "higher");
        else
                return VOCABULARY_UNKNOWN;
        return 0;
}

/* --- keys ---------------------------------------------------------------------------------------- */

static JsonText declaration_of(const VocabularyModel *model, PropertyKind kind, const char *key) {
        return json_text_find(json_text_find(text_of(model->declaration), members[kind]), key);
}

JsonText vocabulary_model_member(const Vocabulary *vocabulary, const char *member) {
        JsonText found = {};

        for (size_t i = 0; i < vocabulary->n_models && !found.text; i++)
                found = json_text_find(text_of(vocabulary->models[i].declaration), member);
        return found;
}

JsonText vocabulary_result_member(const Vocabulary *vocabulary, const char *key, const char *member) {
        JsonText found = {};

        for (size_t i = 0; i < vocabulary->n_models && !found.text; i++)
                found = json_text_find(declaration_of(&vocabulary->models[i], KIND_RESULT, key), member);
        return found;
}

static bool declares(const Vocabulary *vocabulary, PropertyKind kind, const char *name) {
        for (size_t i = 0; i < vocabulary->n_models; i++)
                if (declaration_of(&vocabulary->models[i], kind, name).text)
                        return true;
        return false;
}

bool vocabulary_declares_parameter(const Vocabulary *vocabulary, const char *name) {
        return declares(vocabulary, KIND_PARAMETER, name);
}

bool vocabulary_declares_result(const Vocabulary *vocabulary, const char *name) {
        return declares(vocabulary, KIND_RESULT, name);
}

/* Sets *ret to whether a series has the parameter, and notes the names of all parameters up to it. */
static int find_parameter(Vocabulary *vocabulary, const Sources *sources, Response *response, const char *key,
                          bool *ret) {
        JsonText parameters;
        int r;

        *ret = false;
        r = indicator_reader_list_parameters(sources->reader, vocabulary->filter.name);
        while (r == 0 && !*ret && (r = indicator_reader_next_parameters(sources->reader, &parameters)) == 0) {
                *ret = json_text_find_path(parameters, key).text;
                names_add_members(&vocabulary->names[KIND_PARAMETER], parameters);
        }
        reader_reset(sources->reader);
        return r == 0 || r == READER_END ? 0 : exchange_store_error(response, r);
}

/* Results without a model are in no series: the newest of them has their names. */
static int add_names_of_newest(Vocabulary *vocabulary, const Sources *sources, Response *response) {
        ResultRow row;
        int r;

        r = result_reader_list(sources->reader, &(ResultFilter){ .name = vocabulary->filter.name });
        if (r == 0)
                r = result_reader_next(sources->reader, &row);
        for (PropertyKind kind = 0; r == 0 && kind < N_KINDS; kind++)
                names_add_members(&vocabulary->names[kind], json_text_find(text_of(row.document), places[kind]));
        reader_reset(sources->reader);
        return r == 0 || r == READER_END ? 0 : exchange_store_error(response, r);
}

int vocabulary_list_results(Vocabulary *vocabulary, const Sources *sources, Response *response, const char *but,
                            Buffer *out) {
        int r = 0;

        if (vocabulary->n_declared == 0)
                r = add_names_of_newest(vocabulary, sources, response);
        if (r == 0)
                names_list(&vocabulary->names[KIND_RESULT], but, out);
        return r;
}

int vocabulary_newest_has(Vocabulary *vocabulary, const Sources *sources, Response *response, const char *name,
                          bool *ret) {
        int r = add_names_of_newest(vocabulary, sources, response);

        *ret = r == 0 && names_have(&vocabulary->names[KIND_RESULT], name);
        return r;
}

static bool has_key(const PointRow *row, PropertyKind kind, const char *key) {
        const char *text;
        JsonText json;

        if (kind == KIND_RESULT)
                return !isnan(row->numbers[0]);
        point_find(row, key, &json, &text);
        return json.text || text;
}

/* Sets *ret to whether any result has the parameter or label, or the number. */
static int find_in_results(const Vocabulary *vocabulary, const Sources *sources, Response *response, PropertyKind kind,
                           const char *key, bool *ret) {
        const PointFilter filter = { .name = vocabulary->filter.name, .derived = &vocabulary->derived, .numbers = &key,
                                     .n_numbers = kind == KIND_RESULT, .with_labels = kind == KIND_PARAMETER };
        scoped(points_freep) Points *points = NULL;
        PointRow row;
        int r;

        *ret = false;
        r = points_new(&points, sources->reader, &filter);
        while (r == 0 && !*ret && (r = points_next(points, &row)) == 0)
                *ret = has_key(&row, kind, key);
        return r == 0 || r == READER_END ? 0 : exchange_store_error(response, r);
}

static int say_unknown(Vocabulary *vocabulary, const Sources *sources, Response *response, PropertyKind kind,
                       const char *key) {
        static const char *const words[N_KINDS] = { [KIND_PARAMETER] = "parameter", [KIND_RESULT] = "result" };
        PropertyKind other = kind == KIND_RESULT ? KIND_PARAMETER : KIND_RESULT;
        const Names *names = &vocabulary->names[kind];
        const char *name = vocabulary->filter.name, *nearest;
        scoped(buffer_deinit) Buffer list = {};

        if (add_names_of_newest(vocabulary, sources, response) > 0)
                return EXCHANGE_ANSWERED;
        nearest = nearest_word(key, (const char *const *)names->items, names->n);
        names_list(names, "", &list);
        if (buffer_error(&list) < 0)
                return exchange_store_error(response, -ENOMEM);
        if (names_have(&vocabulary->names[other], key))
                return exchange_error(response, 400, "no result%s%s has a %s '%s', which is a %s; existing keys: %s",
                                      name ? " of " : "", name ?: "", words[kind], key, words[other], list.text);
        if (kind == KIND_RESULT && names_have(names, key))
                return exchange_error(response, 400, "no result%s%s has a number as result '%s'", name ? " of " : "",
                                      name ?: "", key);
        return exchange_error(response, 400, "no result%s%s has a %s '%s'%s%s%s existing keys: %s", name ? " of " : "",
                              name ?: "", words[kind], key, nearest ? ": did you mean " : ";", nearest ?: "",
                              nearest ? "?" : "", list.text);
}

/* --- packages -------------------------------------------------------------------------------------- */

static int say_unknown_package(const Sources *sources, Response *response, const char *name) {
        char nearest[NEAREST_WORD_MAX + 1] = "";
        scoped(buffer_deinit) Buffer list = {};
        size_t n_unlisted = 0;
        const char *other;
        int r;

        r = stack_reader_list_names(sources->reader, NULL);
        while (r == 0 && (r = stack_reader_next_name(sources->reader, &other)) == 0) {
                const char *const words[] = { other, nearest };

                if (strlen(other) <= NEAREST_WORD_MAX && nearest_word(name, words, nearest[0] ? 2 : 1) == other)
                        strcpy(nearest, other);
                if (list.n + strlen(other) < LISTED_BYTES_MAX)
                        buffer_printf(&list, "%s%s", list.n > 0 ? ", " : "", other);
                else
                        n_unlisted++;
        }
        if (r != READER_END)
                return exchange_store_error(response, r);
        if (list.n == 0)
                return exchange_error(response, 400,
                                      "no result has a software stack with packages: see perfctl run --stack");
        if (n_unlisted > 0)
                buffer_printf(&list, " and %zu more", n_unlisted);
        if (buffer_error(&list) < 0)
                return exchange_store_error(response, -ENOMEM);
        return exchange_error(response, 400, "no software stack has the package '%.100s'%s%s%s Packages: %s", name,
                              nearest[0] ? ": did you mean " : ".", nearest, nearest[0] ? "?" : "", list.text);
}

/* Checks the package of the keys package.NAME and package.NAME.build. */
static int check_package(const Sources *sources, Response *response, const char *key) {
        scoped(buffer_deinit) Buffer name = {};
        const char *found;
        int r;

        if (!stack_facts_read_package(key, &name))
                return 0;
        if (buffer_error(&name) < 0)
                return exchange_store_error(response, -ENOMEM);

        r = stack_reader_list_names(sources->reader, name.text);
        if (r == 0)
                r = stack_reader_next_name(sources->reader, &found);
        reader_reset(sources->reader);
        if (r == READER_END)
                return say_unknown_package(sources, response, name.text);
        return r == 0 ? 0 : exchange_store_error(response, r);
}

/* --- selections ------------------------------------------------------------------------------------ */

/* True if the declared type of a result has lists. */
static bool is_list(const Vocabulary *vocabulary, const char *key) {
        scoped(buffer_deinit) Buffer types = {};

        for (size_t i = 0; i < vocabulary->n_models; i++)
                vocabulary_put_expected(declaration_of(&vocabulary->models[i], KIND_RESULT, key), &types);
        return types.text && strstr(types.text, "list");
}

/* A key that is not in the catalog may be a label, or in results that are not indexed. */
static int check_key(Vocabulary *vocabulary, const Sources *sources, Response *response, PropertyKind kind,
                     const char *key, Selection *selection) {
        const char *name = kind == KIND_PARAMETER ? point_parameter_key(key) : key;
        bool is_known = declares(vocabulary, kind, name) || (kind == KIND_RESULT && strcmp(key, SCORE_KEY) == 0);
        int r = 0;

        if (!is_known && kind == KIND_PARAMETER)
                r = find_parameter(vocabulary, sources, response, name, &is_known);
        selection->filter.with_lists |= kind == KIND_RESULT && is_list(vocabulary, key);
        if (r != 0 || is_known)
                return r;
        r = find_in_results(vocabulary, sources, response, kind, key, &is_known);
        if (r == 0 && !is_known)
                return say_unknown(vocabulary, sources, response, kind, name);
        selection->filter.with_labels |= kind == KIND_PARAMETER && name == key;
        return r;
}

static int check_parameter(Vocabulary *vocabulary, const Sources *sources, Response *response, const char *key,
                           Selection *selection) {
        if (!point_parameter_key(key))
                return check_package(sources, response, key);
        return strcmp(key, "batch") == 0 ? 0 : check_key(vocabulary, sources, response, KIND_PARAMETER, key, selection);
}

static int check_parameters(Vocabulary *vocabulary, const Sources *sources, Response *response, const FieldList *fields,
                            Selection *selection) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < fields->n; i++)
                r = check_parameter(vocabulary, sources, response, fields->names[i], selection);
        return r;
}

/* --- values -------------------------------------------------------------------------------------- */

/* Finds the first model that declares the key and does not allow the value, unless another model allows the value. */
static JsonText find_refusal(const Vocabulary *vocabulary, const Condition *condition) {
        JsonText first = {};

        for (size_t i = 0; i < vocabulary->n_models; i++) {
                JsonText declaration = declaration_of(&vocabulary->models[i], KIND_PARAMETER,
                                                      point_parameter_key(condition->key));

                if (!declaration.text)
                        continue;
                if (vocabulary_allows(declaration, condition))
                        return (JsonText){};
                if (!first.text)
                        first = declaration;
        }
        return first;
}

static int say_refused(Response *response, const Condition *condition, JsonText declaration) {
        const char *key = point_parameter_key(condition->key);
        scoped(buffer_deinit) Buffer expected = {};

        vocabulary_put_expected(declaration, &expected);
        if (buffer_error(&expected) < 0)
                return exchange_store_error(response, -ENOMEM);
        if (condition_is_range(condition))
                return exchange_error(response, 400,
                                      "'%s' is declared as %s by its model, and < and > compare numbers, versions "
                                      "and times: use = or !=", key, expected.text);
        if (condition->value[0] == '=')
                return exchange_error(response, 400, "unknown operator '==' after '%s': use =", key);
        return exchange_error(response, 400, "'%s' cannot be '%s': its model declares it as %s", key, condition->value,
                              expected.text);
}

/*
 * A stored result may have a value that the model does not allow: it is older than the model, or was accepted as a
 * deviation.
 */
static int is_stored(const Vocabulary *vocabulary, const Sources *sources, Response *response,
                     const Condition *condition, bool *ret) {
        PointFilter filter = vocabulary->filter;
        Condition equal = *condition;

        if (equal.relation == CONDITION_NOT_EQUAL)
                equal.relation = CONDITION_EQUAL;
        filter.conditions = &equal;
        filter.n_conditions = 1;
        filter.n_numbers = 0;
        return grouping_has_any(sources, response, &filter, ret);
}

static int check_value(const Vocabulary *vocabulary, const Sources *sources, Response *response,
                       const Condition *condition) {
        bool is_there = false;
        JsonText refusal;
        int r;

        if (!point_parameter_key(condition->key))
                return !condition_is_range(condition) || strncmp(condition->key, POINT_RUN, strlen(POINT_RUN)) == 0 ||
                                       strncmp(condition->key, POINT_LABEL, strlen(POINT_LABEL)) == 0
                               ? 0
                       : condition->is_version &&
                                       (strcmp(condition->key, "version") == 0 || stack_facts_has_key(condition->key))
                               ? 0
                               : exchange_error(response, 400, "'%s' is text: compare it with = or !=", condition->key);

        refusal = find_refusal(vocabulary, condition);
        if (!refusal.text)
                return 0;
        r = is_stored(vocabulary, sources, response, condition, &is_there);
        return r != 0 || is_there ? r : say_refused(response, condition, refusal);
}

int vocabulary_check(Vocabulary *vocabulary, const Sources *sources, Response *response, Selection *selection) {
        const PointFilter *filter = &selection->filter;
        int r = 0;

        for (size_t i = 0; r == 0 && i < filter->n_conditions; i++)
                r = check_parameter(vocabulary, sources, response, filter->conditions[i].key, selection);
        if (r == 0)
                r = check_parameters(vocabulary, sources, response, &selection->fields, selection);
        if (r == 0)
                r = check_parameters(vocabulary, sources, response, &selection->hold, selection);
        if (r == 0)
                r = check_parameters(vocabulary, sources, response, &selection->across, selection);
        for (size_t i = 0; r == 0 && i < filter->n_numbers; i++)
                r = check_key(vocabulary, sources, response, KIND_RESULT, filter->numbers[i], selection);
        for (size_t i = 0; r == 0 && i < filter->n_conditions; i++)
                r = check_value(vocabulary, sources, response, &filter->conditions[i]);
        return r;
}

/* --- empty answers -------------------------------------------------------------------------------- */

static void add_condition(Buffer *out, const char *key, ConditionRelation relation, const char *value) {
        static const char *const relations[] = {
                [CONDITION_EQUAL] = "=", [CONDITION_NOT_EQUAL] = "!=", [CONDITION_LESS] = "<",
                [CONDITION_LESS_EQUAL] = "<=", [CONDITION_GREATER] = ">", [CONDITION_GREATER_EQUAL] = ">=",
        };

        if (value)
                buffer_printf(out, "%s%s%s%s", out->n > 0 ? " and " : "", key, relations[relation], value);
}

int vocabulary_explain_empty(Vocabulary *vocabulary, const Target *target, const Sources *sources, Response *response,
                             const Selection *selection, Buffer *out) {
        const PointFilter *filter = &selection->filter;
        scoped(buffer_deinit) Buffer conditions = {};
        bool is_there = false;
        int r;

        r = grouping_has_any(sources, response, &(PointFilter){ .name = filter->name }, &is_there);
        if (r != 0)
                return r;
        if (!is_there) {
                buffer_printf(out, "no results of %s yet", filter->name);
                return 0;
        }

        for (size_t i = 0; i < filter->n_conditions; i++)
                add_condition(&conditions, filter->conditions[i].key, filter->conditions[i].relation,
                              filter->conditions[i].value);
        add_condition(&conditions, "component", CONDITION_EQUAL, exchange_parameter(target, "component"));
        add_condition(&conditions, "version", CONDITION_EQUAL, filter->version);
        if (filter->since_ms > 0 || filter->until_ms > 0)
                buffer_printf(&conditions, "%sthe time range", conditions.n > 0 ? " and " : "");
        r = find_parameter(vocabulary, sources, response, "", &is_there);
        if (r == 0)
                r = add_names_of_newest(vocabulary, sources, response);
        if (r != 0)
                return r;
        buffer_printf(out, "no result of %s matches %s; existing keys: ", filter->name,
                      conditions.text ?: "the request");
        names_list(&vocabulary->names[KIND_PARAMETER], "", out);
        return 0;
}
