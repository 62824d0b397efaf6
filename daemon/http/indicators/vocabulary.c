/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/vocabulary.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/indicators/declaration.h"
#include "http/indicators/package_check.h"
#include "http/selection/result_groups.h"
#include "snapshot/shared_texts.h"
#include "store/indicators/indicator_reader.h"
#include "store/indicators/result_reader.h"
#include "util/clock.h"
#include "util/nearest.h"

#define NAMES_MAX 256U           /* keys listed in a message */
#define LISTED_BYTES_MAX 400U    /* bytes of such a list */
#define NAMED_DOCUMENTS_MAX 256U /* documents whose keys are listed */
#define SEARCH_NS (200 * NS_PER_MS) /* time limit of a search in documents */
#define SCORE_KEY "overall_score"
#define ASKED_MAX (CONDITIONS_MAX + 3 * FIELDS_MAX + POINT_NUMBERS_MAX)

typedef struct VocabularyModel {
        char *component; /* owned; component of the model, NULL: any */
        char *results, *declaration; /* owned; JSON */
} VocabularyModel;

typedef struct Names {
        char *items[NAMES_MAX]; /* owned */
        size_t n;
} Names;

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
        uint64_t n_documents; /* documents searched */
        bool is_cut;          /* more documents exist than were searched */
};

typedef struct Asked {
        const char *key;
        PropertyKind kind;
        bool is_known, is_label;
        char *field; /* borrowed; the key in the selection, if it may name a label as well; NULL: it may not */
} Asked;

/* --- names --------------------------------------------------------------------------------------- */

static void names_deinit(Names *names) {
        for (size_t i = 0; i < names->n; i++)
                free(names->items[i]);
}

static bool names_has(const Names *names, const char *name) {
        for (size_t i = 0; i < names->n; i++)
                if (strcmp(names->items[i], name) == 0)
                        return true;
        return false;
}

/* Skips names that do not fit or cannot be allocated: the list is for messages only. */
static void names_add(Names *names, const char *name) {
        char *copy;

        if (names->n == NAMES_MAX || !*name || names_has(names, name))
                return;
        copy = strdup(name);
        if (copy)
                names->items[names->n++] = copy;
}

Vocabulary *vocabulary_free(Vocabulary *vocabulary) {
        if (!vocabulary)
                return NULL;

        for (size_t i = 0; i < vocabulary->n_models; i++) {
                free(vocabulary->models[i].component);
                free(vocabulary->models[i].results);
                free(vocabulary->models[i].declaration);
        }
        for (PropertyKind kind = 0; kind < N_KINDS; kind++)
                names_deinit(&vocabulary->names[kind]);
        free(vocabulary->models);
        derived_models_deinit(&vocabulary->derived);
        free(vocabulary);
        return NULL;
}

static void names_add_members(Names *names, JsonText object) {
        JsonWalk walk = json_text_walk(object);
        JsonText key, unused;

        while (walk.is_object && json_text_walk_next(&walk, &key, &unused)) {
                scoped(buffer_deinit) Buffer name = {};

                json_text_decode(key, &name);
                names_add(names, buffer_error(&name) == 0 && name.text ? name.text : "");
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
        VocabularyModel *models, *model;

        models = reallocarray(vocabulary->models, vocabulary->n_models + 1, sizeof(*models));
        if (!models)
                return -ENOMEM;

        vocabulary->models = models;
        model = &models[vocabulary->n_models++];
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

static int read_models(Vocabulary *vocabulary, Exchange *exchange) {
        ModelRow row;
        int r;

        r = indicator_reader_list_models(exchange->reader, vocabulary->filter.name, exchange_uid(exchange));
        while (r == 0 && (r = indicator_reader_next_model(exchange->reader, &row)) == 0)
                if (holds(vocabulary, &row))
                        r = add_model(vocabulary, &row);
        return r == READER_END ? 0 : exchange_store_error(exchange, r);
}

/* At a start, a model may be known to the event loop shortly before it is in the store. */
static bool is_declared(const Exchange *exchange, const char *name) {
        scoped(buffer_deinit) Buffer models = {};
        JsonText unused, model;
        JsonWalk walk;

        if (exchange->snapshot && exchange->snapshot->indicators.models)
                shared_texts_write(exchange->snapshot->indicators.models, &models);
        walk = json_text_walk(json_text_find(json_text(models.text ? models.text : "", models.n), "models"));
        while (!walk.is_object && json_text_walk_next(&walk, &unused, &model))
                if (json_text_is_string(json_text_find(model, "name"), name, strlen(name)))
                        return true;
        return false;
}

/* Suggests the existing name that is most similar. */
static int check_name(Vocabulary *vocabulary, Exchange *exchange) {
        const char *name = vocabulary->filter.name, *nearest;
        scoped(names_deinit) Names names = {};
        IndicatorRow row;
        bool is_there = is_declared(exchange, name);
        int r;

        r = indicator_reader_list(exchange->reader);
        while (r == 0 && (r = indicator_reader_next(exchange->reader, &row)) == 0) {
                is_there |= strcmp(row.name, name) == 0;
                names_add(&names, row.name);
        }

        nearest = nearest_word(name, (const char *const *)names.items, names.n);
        if (r != READER_END)
                return exchange_store_error(exchange, r);
        if (!is_there)
                return exchange_error(exchange, 404, "no results and no model of indicator '%s'%s%s%s", name,
                                      nearest ? ": did you mean " : "; perfctl indicator list has the names", nearest ?: "",
                                      nearest ? "?" : "");
        return 0;
}

int vocabulary_new_known(Vocabulary **ret, Exchange *exchange, const PointFilter *filter) {
        scoped(vocabulary_freep) Vocabulary *vocabulary = calloc(1, sizeof(*vocabulary));
        int r = 0;

        if (!vocabulary)
                return exchange_store_error(exchange, -ENOMEM);

        vocabulary->filter = *filter;
        names_add(&vocabulary->names[KIND_PARAMETER], "component");
        names_add(&vocabulary->names[KIND_PARAMETER], "version");
        names_add(&vocabulary->names[KIND_PARAMETER], "hardware");
        names_add(&vocabulary->names[KIND_RESULT], SCORE_KEY);
        if (filter->name)
                r = read_models(vocabulary, exchange);
        if (r != 0)
                return r;

        vocabulary->n_declared = vocabulary->names[KIND_RESULT].n > 0 ? vocabulary->names[KIND_RESULT].n - 1 : 0;
        *ret = TAKE(vocabulary);
        return 0;
}

int vocabulary_new(Vocabulary **ret, Exchange *exchange, const PointFilter *filter) {
        scoped(vocabulary_freep) Vocabulary *vocabulary = NULL;
        int r;

        r = vocabulary_new_known(&vocabulary, exchange, filter);
        if (r == 0 && filter->name && vocabulary->n_models == 0)
                r = check_name(vocabulary, exchange);
        if (r == 0)
                *ret = TAKE(vocabulary);
        return r;
}

int vocabulary_say(const Vocabulary *vocabulary, const char *key, const char *member, Buffer *out) {
        JsonText found = {};

        for (size_t i = 0; i < vocabulary->n_models; i++) {
                JsonText result = json_text_find(text_of(vocabulary->models[i].results), key), value = json_text_find(result, member);

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

static void find_in_models(const Vocabulary *vocabulary, Asked *asked, size_t n) {
        for (size_t i = 0; i < n; i++) {
                asked[i].is_known = asked[i].kind == KIND_RESULT && strcmp(asked[i].key, SCORE_KEY) == 0;
                for (size_t k = 0; !asked[i].is_known && k < vocabulary->n_models; k++)
                        asked[i].is_known = declaration_of(&vocabulary->models[k], asked[i].kind, asked[i].key).text;
        }
}

/* Lists the members of one object, @parameters or @result. */
static void find_in_object(Asked *asked, size_t n, PropertyKind kind, JsonText object) {
        for (size_t i = 0; i < n; i++)
                if (!asked[i].is_known && asked[i].kind == kind)
                        asked[i].is_known = json_text_find_path(object, asked[i].key).text;
}

/* A label of the document, or else of the run, can be named without a prefix if no parameter has its name. */
static void find_in_labels(Asked *asked, size_t n, const ResultRow *row) {
        JsonText given = json_text_find(text_of(row->document), "@labels");
        JsonText of_run = json_text_find(row->run ? text_of(row->run) : (JsonText){}, "labels");

        for (size_t i = 0; i < n; i++)
                if (!asked[i].is_known && asked[i].field)
                        asked[i].is_known = asked[i].is_label = json_text_find_path(given, asked[i].key).text ||
                                                                json_text_find_path(of_run, asked[i].key).text;
}

/* kind N_KINDS: any kind. */
static bool has_unknown(const Asked *asked, size_t n, PropertyKind kind) {
        for (size_t i = 0; i < n; i++)
                if (!asked[i].is_known && (asked[i].kind == kind || kind == N_KINDS))
                        return true;
        return false;
}

static int find_in_series(Vocabulary *vocabulary, Exchange *exchange, Asked *asked, size_t n) {
        JsonText parameters;
        size_t n_read = 0;
        int r;

        r = indicator_reader_list_parameters(exchange->reader, vocabulary->filter.name);
        while (r == 0 && has_unknown(asked, n, KIND_PARAMETER) &&
               (r = indicator_reader_next_parameters(exchange->reader, &parameters)) == 0) {
                find_in_object(asked, n, KIND_PARAMETER, parameters);
                if (n_read++ < NAMED_DOCUMENTS_MAX)
                        names_add_members(&vocabulary->names[KIND_PARAMETER], parameters);
        }
        return r == 0 || r == READER_END ? 0 : exchange_store_error(exchange, r);
}

/* Limits the time of the search. */
static int find_in_documents(Vocabulary *vocabulary, Exchange *exchange, Asked *asked, size_t n, const ResultFilter *filter) {
        uint64_t end_ns = clock_boottime_ns() + SEARCH_NS;
        ResultRow row;
        int r;

        vocabulary->n_documents = 0;
        r = result_reader_list(exchange->reader, filter);
        while (r == 0 && has_unknown(asked, n, N_KINDS) && (r = result_reader_next(exchange->reader, &row)) == 0) {
                bool is_named = vocabulary->n_documents++ < NAMED_DOCUMENTS_MAX;

                for (PropertyKind kind = 0; kind < N_KINDS; kind++) {
                        JsonText object = json_text_find(text_of(row.document), places[kind]);

                        find_in_object(asked, n, kind, object);
                        if (is_named)
                                names_add_members(&vocabulary->names[kind], object);
                }
                find_in_labels(asked, n, &row);
                vocabulary->is_cut = !is_named && clock_boottime_ns() >= end_ns;
                if (vocabulary->is_cut)
                        break;
        }
        return r == 0 || r == READER_END ? 0 : exchange_store_error(exchange, r);
}

/* Searches the newest selected results, then the newest of all: a result with the key may have another time or component. */
static int find_in_newest(Vocabulary *vocabulary, Exchange *exchange, Asked *asked, size_t n) {
        const PointFilter *of = &vocabulary->filter;
        ResultFilter filter = { .name = of->name, .component = of->component, .since_ms = of->since_ms, .until_ms = of->until_ms };
        int r = 0;

        if (filter.component || filter.since_ms > 0 || filter.until_ms > 0)
                r = find_in_documents(vocabulary, exchange, asked, n, &filter);
        if (r == 0 && has_unknown(asked, n, N_KINDS))
                r = find_in_documents(vocabulary, exchange, asked, n, &(ResultFilter){ .name = of->name });
        return r;
}

int vocabulary_list_results(Vocabulary *vocabulary, Exchange *exchange, const char *but, Buffer *out) {
        const ResultFilter filter = { .name = vocabulary->filter.name };
        Asked nothing = { .key = "", .kind = KIND_RESULT };
        int r = 0;

        if (vocabulary->n_declared == 0)
                r = find_in_documents(vocabulary, exchange, &nothing, 1, &filter);
        if (r == 0)
                names_list(&vocabulary->names[KIND_RESULT], but, out);
        return r;
}

static int say_unknown(const Vocabulary *vocabulary, Exchange *exchange, const Asked *asked) {
        const Names *names = &vocabulary->names[asked->kind];
        const char *nearest = nearest_word(asked->key, (const char *const *)names->items, names->n);
        const char *what = asked->kind == KIND_RESULT ? "result" : "parameter", *name = vocabulary->filter.name;
        PropertyKind other = asked->kind == KIND_RESULT ? KIND_PARAMETER : KIND_RESULT;
        scoped(buffer_deinit) Buffer list = {}, holder = {};

        names_list(names, "", &list);
        if (vocabulary->is_cut)
                buffer_printf(&holder, "none of the newest %" PRIu64 " results", vocabulary->n_documents);
        else
                buffer_puts(&holder, "no result");
        if (name)
                buffer_printf(&holder, " of %s", name);
        if (buffer_error(&list) < 0 || buffer_error(&holder) < 0)
                return exchange_store_error(exchange, -ENOMEM);

        if (names_has(&vocabulary->names[other], asked->key))
                return exchange_error(exchange, 400, "%s has a %s '%s', which is a %s. Available: %s", holder.text, what, asked->key,
                                      other == KIND_RESULT ? "result" : "parameter", list.text);
        return exchange_error(exchange, 400, "%s has a %s '%s'%s%s%s Available: %s", holder.text, what, asked->key,
                              nearest ? ": did you mean " : ".", nearest ?: "", nearest ? "?" : "", list.text);
}

static int check_keys(Vocabulary *vocabulary, Exchange *exchange, Asked *asked, size_t n) {
        int r = 0;

        find_in_models(vocabulary, asked, n);
        if (has_unknown(asked, n, KIND_PARAMETER))
                r = find_in_series(vocabulary, exchange, asked, n);
        if (r == 0 && has_unknown(asked, n, N_KINDS))
                r = find_in_newest(vocabulary, exchange, asked, n);
        for (size_t i = 0; r == 0 && i < n; i++)
                if (!asked[i].is_known)
                        r = say_unknown(vocabulary, exchange, &asked[i]);
        return r;
}

static void ask_parameter(Asked *asked, size_t *n, char *key) {
        const char *parameter = point_parameter_key(key);

        if (parameter && strcmp(key, "batch") != 0)
                asked[(*n)++] = (Asked){ .key = parameter, .kind = KIND_PARAMETER, .field = parameter == key ? key : NULL };
}

static void ask_parameters(Asked *asked, size_t *n, FieldList *fields) {
        for (size_t i = 0; i < fields->n; i++)
                ask_parameter(asked, n, fields->names[i]);
}

/* Writes the keys of labels with their prefix. */
static void name_labels(Asked *asked, size_t n) {
        const size_t n_prefix = strlen(POINT_LABEL);

        _Static_assert(sizeof(POINT_LABEL) <= sizeof(CONDITION_PARAMETERS), "a key has space for the prefix");
        for (size_t i = 0; i < n; i++)
                if (asked[i].is_label) {
                        memmove(asked[i].field + n_prefix, asked[i].field, strlen(asked[i].field) + 1);
                        memcpy(asked[i].field, POINT_LABEL, n_prefix);
                }
}

/* --- values -------------------------------------------------------------------------------------- */

/* Finds the first model that declares the key and does not allow the value, unless another model allows the value. */
static JsonText find_refusal(const Vocabulary *vocabulary, const Condition *condition) {
        JsonText first = {};

        for (size_t i = 0; i < vocabulary->n_models; i++) {
                JsonText declaration = declaration_of(&vocabulary->models[i], KIND_PARAMETER, point_parameter_key(condition->key));

                if (!declaration.text)
                        continue;
                if (declaration_allows(declaration, condition))
                        return (JsonText){};
                if (!first.text)
                        first = declaration;
        }
        return first;
}

static int say_refused(Exchange *exchange, const Condition *condition, JsonText declaration) {
        const char *key = point_parameter_key(condition->key);
        scoped(buffer_deinit) Buffer expected = {};

        declaration_put_expected(declaration, &expected);
        if (buffer_error(&expected) < 0)
                return exchange_store_error(exchange, -ENOMEM);
        if (condition_is_range(condition))
                return exchange_error(exchange, 400,
                                      "'%s' is declared as %s by its model, and < and > compare numbers, versions and times: use = or "
                                      "!=", key, expected.text);
        return exchange_error(exchange, 400, "'%s' cannot be '%s': its model declares it as %s", key, condition->value, expected.text);
}

/*
 * A stored result may have a value that the model does not allow: it is older than the model, or was accepted as a deviation.
 */
static int is_stored(const Vocabulary *vocabulary, Exchange *exchange, const Condition *condition, bool *ret) {
        PointFilter filter = vocabulary->filter;
        Condition equal = *condition;

        if (equal.relation == CONDITION_NOT_EQUAL)
                equal.relation = CONDITION_EQUAL;
        filter.conditions = &equal;
        filter.n_conditions = 1;
        filter.n_numbers = 0;
        return result_groups_any(exchange, &filter, ret);
}

static int check_value(const Vocabulary *vocabulary, Exchange *exchange, const Condition *condition) {
        bool is_there = false;
        JsonText refusal;
        int r;

        if (!point_parameter_key(condition->key))
                return !condition_is_range(condition) || strncmp(condition->key, POINT_RUN, strlen(POINT_RUN)) == 0 ||
                                       strncmp(condition->key, POINT_LABEL, strlen(POINT_LABEL)) == 0 ? 0
                       : condition->is_semver && (strcmp(condition->key, "version") == 0 || stack_facts_has_key(condition->key)) ? 0
                       : exchange_error(exchange, 400, "'%s' is text: compare it with = or !=", condition->key);

        refusal = find_refusal(vocabulary, condition);
        if (!refusal.text)
                return 0;
        r = is_stored(vocabulary, exchange, condition, &is_there);
        return r != 0 || is_there ? r : say_refused(exchange, condition, refusal);
}

static int check_packages(Exchange *exchange, const FieldList *fields) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < fields->n; i++)
                r = package_check(exchange, fields->names[i]);
        return r;
}

int vocabulary_check(Vocabulary *vocabulary, Exchange *exchange, Selection *selection) {
        const PointFilter *filter = &selection->filter;
        Asked asked[ASKED_MAX];
        size_t n = 0;
        int r;

        for (size_t i = 0; i < filter->n_conditions; i++)
                ask_parameter(asked, &n, selection->conditions[i].key);
        ask_parameters(asked, &n, &selection->fields);
        ask_parameters(asked, &n, &selection->hold);
        ask_parameters(asked, &n, &selection->across);
        for (size_t i = 0; i < filter->n_numbers; i++)
                asked[n++] = (Asked){ .key = filter->numbers[i], .kind = KIND_RESULT };

        assert(filter->n_conditions == 0 || filter->conditions == selection->conditions);
        r = check_keys(vocabulary, exchange, asked, n);
        if (r == 0)
                name_labels(asked, n);
        for (size_t i = 0; r == 0 && i < filter->n_conditions; i++)
                r = check_value(vocabulary, exchange, &filter->conditions[i]);
        for (size_t i = 0; r == 0 && i < filter->n_conditions; i++)
                r = package_check(exchange, filter->conditions[i].key);
        if (r == 0)
                r = check_packages(exchange, &selection->fields);
        return r == 0 ? check_packages(exchange, &selection->hold) : r;
}
