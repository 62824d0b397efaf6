/* SPDX-License-Identifier: Apache-2.0 */
#include "document/indicator_model.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/expression.h"
#include "util/scoped.h"
#include "util/utf8.h"

#define SETTINGS_VERSION_MAX_BYTES 64U

/* --- reading the declaration ---------------------------------------------------------------------- */

static int take_labels(ModelReader *reader, const Value *match, const Value **ret) {
        const Value *labels = value_get_given(match, "labels");

        if (!labels)
                return 0;
        if (labels->type != VALUE_OBJECT || labels->n_members > MODEL_NAMES_MAX)
                return model_reader_wrong(reader, "labels",
                                          "must map up to %u labels to patterns, as in {model: 'llama*'}",
                                          MODEL_NAMES_MAX);
        for (size_t i = 0; i < labels->n_members; i++)
                if (labels->members[i].value.type != VALUE_STRING)
                        return model_reader_wrong(reader, "labels",
                                                  "'%.60s' is %s, must be a pattern in quotation marks",
                                                  labels->members[i].key, value_type_text(&labels->members[i].value));
        *ret = labels;
        return 0;
}

/* Takes the members `of` and `match`. */
static int take_jobs(ModelReader *reader, const Value *document, ModelJobs *ret) {
        static const char *const subjects[] = { "job" }, *const keys[] = { "name", "labels" };
        const Value *match = value_get_given(document, "match");
        unsigned subject = N_ELEMENTS(subjects);
        int r;

        r = model_reader_take_word(reader, document, "of", subjects, N_ELEMENTS(subjects), &subject);
        if (r != 0)
                return r;
        ret->is_set = subject < N_ELEMENTS(subjects);
        if (!match)
                return 0;
        if (!ret->is_set)
                return model_reader_wrong(reader, "match", "is for models of jobs: add of: job");
        if (match->type != VALUE_OBJECT)
                return model_reader_wrong(reader, "match", "is %s, must be a mapping as in {name: 'train-*'}",
                                          value_type_text(match));

        (void)snprintf(reader->path, sizeof(reader->path), "match");
        model_reader_check_keys(reader, match, keys, N_ELEMENTS(keys));
        model_reader_take_text(reader, match, "name", MODEL_JOBS_PATTERN_MAX_BYTES, &ret->name);
        take_labels(reader, match, &ret->labels);
        reader->path[0] = '\0';
        return model_reader_status(reader);
}

static int take_properties(ModelReader *reader, const Value *object, bool is_result, Property *properties, size_t *n) {
        const char *list = is_result ? "results" : "parameters";

        for (size_t i = 0; object && i < object->n_members; i++) {
                Property *property = &properties[*n];
                int r;

                property->is_result = is_result;
                (void)snprintf(reader->path, sizeof(reader->path), "%s.%.*s", list,
                               (int)utf8_cut(object->members[i].key, sizeof(reader->path) / 2), object->members[i].key);
                r = property_take(reader, &object->members[i], property);
                if (r != 0)
                        return r;
                (*n)++;
        }

        reader->path[0] = '\0';
        return 0;
}

/* --- accepted levels -------------------------------------------------------------------------------- */

static int check_where(ModelReader *reader, const Value *where) {
        Condition condition;

        if (!where)
                return 0;
        if (where->type != VALUE_LIST || where->n_items > ACCEPTED_LEVEL_WHERE_MAX)
                return model_reader_wrong(reader, "where",
                                          "must be a list of up to %u conditions such as \"matrix_size=512\"",
                                          ACCEPTED_LEVEL_WHERE_MAX);
        for (size_t i = 0; i < where->n_items; i++)
                if (where->items[i].type != VALUE_STRING || condition_parse(where->items[i].string, &condition) != 0)
                        return model_reader_wrong(reader, "where",
                                                  "item %zu must be KEY=VALUE, or with != < <= > >=", i);
        return 0;
}

/* Checks the member "accepted" of a declaration. 0, or MODEL_INVALID after a complaint. */
static int check_accepted_level(ModelReader *reader, const Value *document) {
        static const char *const keys[] = { "kpi", "until_ms", "where", "note" };
        const Value *level = value_get_given(document, "accepted");
        const char *kpi = NULL, *note;
        double until_ms = 0;
        int r;

        if (!level || level->type != VALUE_OBJECT)
                return model_reader_wrong(reader, "accepted", "must be an object with kpi and until_ms");
        model_reader_check_keys(reader, level, keys, N_ELEMENTS(keys));
        model_reader_take_text(reader, level, "kpi", ACCEPTED_LEVEL_KPI_MAX, &kpi);
        model_reader_take_text(reader, level, "note", ACCEPTED_LEVEL_NOTE_MAX, &note);
        r = model_reader_take_number(reader, level, "until_ms", &until_ms);
        if (r != 0)
                return r;
        if (!kpi)
                return model_reader_wrong(reader, "kpi",
                                          "missing: name the KPI that has the level, such as PiMatmul.rate");
        if (!(until_ms > 0 && until_ms < 0x1p53))
                return model_reader_wrong(reader, "until_ms",
                                          "must be the time of the newest run with the level, in ms since 1970");
        return check_where(reader, value_get_given(level, "where"));
}

/* --- the model ------------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) {
        const Property *const *left = a, *const *right = b;

        return strcmp((*left)->name, (*right)->name);
}

/* Each list has unique names: indicator_check_object() checked that. */
static int sort_properties(ModelReader *reader, IndicatorModel *model) {
        for (size_t i = 0; i < model->n_properties; i++)
                model->by_name[i] = &model->properties[i];
        qsort(model->by_name, model->n_properties, sizeof(*model->by_name), compare_names);

        for (size_t i = 1; i < model->n_properties; i++) {
                const char *name = model->by_name[i]->name;

                if (strcmp(model->by_name[i - 1]->name, name) != 0)
                        continue;
                (void)snprintf(reader->path, sizeof(reader->path), "results");
                return model_reader_wrong(reader, name,
                                          "collision: '%.100s' is in parameters as well; rename one of them", name);
        }

        return 0;
}

/* A derived number is computed from members of the document: it cannot depend on another derived number, or on
 * itself. */
static int check_derived(ModelReader *reader, const IndicatorModel *model) {
        for (size_t i = 0; i < model->n_properties; i++) {
                const Property *property = &model->properties[i];
                Expression expression;
                ExpressionError error;
                unsigned column;

                if (!property->from || expression_parse(property->from, &expression, &error) != 0)
                        continue;
                for (size_t k = 0; k < model->n_properties; k++) {
                        const Property *other = &model->properties[k];

                        if (!other->from || !expression_names_result(&expression, other->name, &column))
                                continue;
                        (void)snprintf(reader->path, sizeof(reader->path), "results.%.*s",
                                       (int)utf8_cut(property->name, sizeof(reader->path) / 2), property->name);
                        return model_reader_wrong(
                                reader, "from", "column %u: '%.100s' is a derived number%s", column, other->name,
                                other == property ? " itself: use measured results and parameters"
                                                  : ", too: write its expression in parentheses instead");
                }
        }

        return 0;
}

static int take_head(ModelReader *reader, const Value *document, Arena *arena, IndicatorModel *ret) {
        static const char *const keys[] = {
                "name",       "component", "help",    "parameters",     "results",  "settings_version",
                "compare_by", "ignore",    "sort_by", "ignore_entries", "kpi_name", "accepted",
                "of",         "match"
        };
        int r;

        model_reader_check_keys(reader, document, keys, N_ELEMENTS(keys));
        model_reader_take_text(reader, document, "name", NAME_MAX_BYTES, &ret->name);
        model_reader_take_text(reader, document, "component", COMPONENT_MAX_BYTES, &ret->component);
        r = model_reader_take_text(reader, document, "help", HELP_MAX_BYTES, &ret->help);
        if (r != 0)
                return r;
        if (ret->component) {
                ret->component = indicator_folded_component(ret->component, arena);
                if (!ret->component)
                        return -ENOMEM;
        }

        if (!ret->name)
                return model_reader_wrong(reader, "name", "missing: say which indicator this is, as in name: PiMatmul");
        if (strcmp(ret->name, MODEL_ANY_NAME) == 0 && !ret->component)
                return model_reader_wrong(reader, "component",
                                          "missing: a model of the name '*' applies to all indicators of one "
                                          "component");
        if (strcmp(ret->name, ACCEPTED_LEVEL_NAME) == 0 && ret->component)
                return 0;
        r = take_jobs(reader, document, &ret->jobs);
        if (r != 0)
                return r;
        if (ret->jobs.is_set && strcmp(ret->name, MODEL_ANY_NAME) == 0)
                return model_reader_wrong(reader, "of", "is for a model with the name of its results, not '*'");
        if (strcmp(ret->name, MODEL_ANY_NAME) != 0 && !indicator_name_is_valid(ret->name, NAME_MAX_BYTES))
                return model_reader_wrong(reader, "name", "'%s' must be 1 to %u letters, digits, or any of _ . : -",
                                          ret->name, NAME_MAX_BYTES);
        return 0;
}

/* {KEY: VALUE} or {KEY: [VALUE, …]}, with scalars. */
static int take_ignore_entries(ModelReader *reader, const Value *document, const Value **ret) {
        const Value *object = value_get_given(document, "ignore_entries");
        size_t n = 0;

        if (!object)
                return 0;
        if (object->type != VALUE_OBJECT || object->n_members > MODEL_NAMES_MAX)
                return model_reader_wrong(reader, "ignore_entries",
                                          "must map up to %u names to values as in {virtual_users: [4, 8]}",
                                          MODEL_NAMES_MAX);

        for (size_t i = 0; i < object->n_members; i++) {
                const Value *value = &object->members[i].value;
                bool is_list = value->type == VALUE_LIST;

                n += is_list ? value->n_items : 1;
                for (size_t k = 0; k < (is_list ? value->n_items : 1); k++)
                        if (!value_is_scalar(is_list ? &value->items[k] : value))
                                return model_reader_wrong(reader, "ignore_entries",
                                                          "'%.40s' must be a string, a number, a boolean, or a list "
                                                          "of them",
                                                          object->members[i].key);
        }
        if (n > MODEL_ENTRIES_MAX)
                return model_reader_wrong(reader, "ignore_entries", "has %zu values, may have up to %u", n,
                                          MODEL_ENTRIES_MAX);

        *ret = object;
        return 0;
}

static bool is_family(const char *text) {
        for (const char *p = text; *p; p++)
                if (!(*p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                      (p > text && *p >= '0' && *p <= '9')))
                        return false;
        return true;
}

/* Takes the members for the analysis of changes and for exports. */
static int take_analysis(ModelReader *reader, const Value *document, IndicatorModel *ret) {
        int r;

        model_reader_take_text(reader, document, "settings_version", SETTINGS_VERSION_MAX_BYTES,
                               &ret->settings_version);
        model_reader_take_names(reader, document, "compare_by", &ret->compare_by);
        model_reader_take_names(reader, document, "ignore", &ret->ignore);
        model_reader_take_names(reader, document, "sort_by", &ret->sort_by);
        take_ignore_entries(reader, document, &ret->ignore_entries);
        r = model_reader_take_text(reader, document, "kpi_name", NAME_MAX_BYTES, &ret->kpi_name);
        if (r != 0 || !ret->kpi_name)
                return r;

        if (!is_family(ret->kpi_name))
                return model_reader_wrong(reader, "kpi_name",
                                          "'%s' must be letters, digits and _, and not begin with a digit",
                                          ret->kpi_name);
        if (ret->n_properties == 0 || (ret->n_properties > 1 && ret->properties[ret->n_properties - 2].is_result))
                return model_reader_wrong(reader, "kpi_name", "is for a model with one result: remove it");
        return 0;
}

static int get_properties(ModelReader *reader, const Value *document, const char *key, const Value **ret) {
        const Value *value = value_get_given(document, key);

        if (value && value->type != VALUE_OBJECT)
                return model_reader_wrong(reader, key, "is %s, must map names to types as in {elapsed: float}",
                                          value_type_text(value));

        *ret = value;
        return 0;
}

static int take_lists(ModelReader *reader, const Value *document, Arena *arena, IndicatorModel *ret) {
        const Value *parameters = NULL, *results = NULL;
        size_t n;

        get_properties(reader, document, "parameters", &parameters);
        get_properties(reader, document, "results", &results);
        if (!results || results->n_members == 0)
                return model_reader_wrong(reader, "results",
                                          "missing: declare at least one measured value, as in results: {elapsed: "
                                          "float}");

        n = results->n_members + (parameters ? parameters->n_members : 0);
        if (n > MODEL_PROPERTIES_MAX)
                return model_reader_wrong(reader, NULL, "has %zu parameters and results, may have up to %u", n,
                                          MODEL_PROPERTIES_MAX);
        ret->properties = arena_alloc(arena, n * sizeof(*ret->properties));
        ret->by_name = arena_alloc(arena, n * sizeof(const Property *));
        if (!ret->properties || !ret->by_name)
                return -ENOMEM;

        take_properties(reader, parameters, false, ret->properties, &ret->n_properties);
        take_properties(reader, results, true, ret->properties, &ret->n_properties);
        sort_properties(reader, ret);
        check_derived(reader, ret);
        return model_reader_status(reader);
}

static int take_model(ModelReader *reader, const Value *document, Arena *arena, IndicatorModel *ret) {
        if (value_get_given(document, "accepted"))
                return model_reader_wrong(reader, "accepted", "is for declarations of the name " ACCEPTED_LEVEL_NAME);
        return take_lists(reader, document, arena, ret) ?: take_analysis(reader, document, ret);
}

int indicator_model_from_value(const Value *document, Arena *arena, IndicatorModel *ret, Complaint *ret_complaint) {
        ModelReader reader = { .complaint = ret_complaint };
        IndicatorModel model = { .document = document };
        int r;

        if (document->type != VALUE_OBJECT)
                return model_reader_wrong(&reader, NULL, "is %s, must have name, parameters and results",
                                          value_type_text(document));
        if (indicator_check_object(document, DOCUMENT_LIMITS_DEFAULT, ret_complaint) != 0)
                return MODEL_INVALID;

        r = take_head(&reader, document, arena, &model);
        if (r == 0)
                r = strcmp(model.name, ACCEPTED_LEVEL_NAME) == 0 ? check_accepted_level(&reader, document)
                                                                 : take_model(&reader, document, arena, &model);
        if (r == 0)
                *ret = model;
        return r;
}

bool indicator_model_is_accepted_level(const IndicatorModel *model) {
        return strcmp(model->name, ACCEPTED_LEVEL_NAME) == 0;
}

static const Property *find(const IndicatorModel *model, const char *name, size_t *ret_i) {
        const Property wanted = { .name = name }, *key = &wanted, **found;

        found = bsearch(&key, model->by_name, model->n_properties, sizeof(*model->by_name), compare_names);
        if (!found)
                return NULL;

        *ret_i = (size_t)(found - model->by_name);
        return *found;
}

const Property *indicator_model_find(const IndicatorModel *model, const char *name, bool is_result) {
        size_t i;
        const Property *property = find(model, name, &i);

        return property && property->is_result == is_result ? property : NULL;
}

/* --- checking results ------------------------------------------------------------------------------ */

typedef struct Judgement {
        const IndicatorModel *model;
        Complaint *complaint;
        size_t n_deviations;
        bool seen[MODEL_PROPERTIES_MAX]; /* by index in by_name */
} Judgement;

static const char *list_of(bool is_result) {
        return is_result ? "@result" : "@parameters";
}

/* Only the first deviation is described. */
static void __attribute__((format(printf, 4, 5)))
add_deviation(Judgement *judgement, bool is_result, const char *key, const char *format, ...) {
        char path[COMPLAINT_PATH_MAX + 16], text[4 * COMPLAINT_TEXT_MAX];
        va_list args;

        if (judgement->n_deviations++ > 0)
                return;
        (void)snprintf(path, sizeof(path), "%s.%.*s", list_of(is_result), (int)utf8_cut(key, COMPLAINT_PATH_MAX), key);
        va_start(args, format);
        utf8_vformat(text, sizeof(text), format, args);
        va_end(args);
        (void)indicator_complain(judgement->complaint, path, "%s", text);
}

static bool is_allowed(const Value *value, const Value *allowed) {
        if (!value_is_scalar(value))
                return false;

        for (size_t i = 0; i < allowed->n_items; i++)
                if (value_compare(value, &allowed->items[i]) == 0)
                        return true;
        return false;
}

static void judge_member(Judgement *judgement, const Member *member, bool is_result) {
        const IndicatorModel *model = judgement->model;
        const Value *value = &member->value;
        char wanted[PROPERTY_TYPES_TEXT_MAX];
        const Property *property;
        size_t i = 0;

        property = find(model, member->key, &i);
        if (!property || property->is_result != is_result) {
                add_deviation(judgement, is_result, member->key,
                              "is %s that the model of %s does not declare: declare it, or leave it out",
                              is_result ? "a result" : "a parameter", model->name);
                return;
        }

        judgement->seen[i] = true;
        if (property->from) {
                add_deviation(judgement, is_result, member->key, "is computed by the model of %s: leave it out",
                              model->name);
                return;
        }
        if (value->type == VALUE_NULL && property->is_optional)
                return;
        if (property->types && !property_is_of_types(value, property->types)) {
                property_types_text(property->types, wanted);
                add_deviation(judgement, is_result, member->key, "is %s, and the model of %s declares %s",
                              value_type_text(value), model->name, wanted);
        } else if (property->allowed && !is_allowed(value, property->allowed))
                add_deviation(judgement, is_result, member->key, "is not one of the values that the model of %s lists",
                              model->name);
}

static void judge_missing(Judgement *judgement) {
        const IndicatorModel *model = judgement->model;

        for (size_t i = 0; i < model->n_properties; i++)
                if (!judgement->seen[i] && !model->by_name[i]->is_optional && !model->by_name[i]->from)
                        add_deviation(judgement, model->by_name[i]->is_result, model->by_name[i]->name,
                                      "missing: the model of %s declares it", model->name);
}

int indicator_model_judge(const IndicatorModel *model, const Indicator *indicator, ModelPolicy policy,
                          size_t *ret_n_deviations, Complaint *ret_complaint) {
        Complaint first;
        Judgement judgement = { .model = model, .complaint = &first };

        for (size_t i = 0; i < indicator->parameters->n_members; i++)
                judge_member(&judgement, &indicator->parameters->members[i], false);
        for (size_t i = 0; i < indicator->result->n_members; i++)
                judge_member(&judgement, &indicator->result->members[i], true);
        judge_missing(&judgement);

        *ret_n_deviations = judgement.n_deviations;
        if (policy == MODEL_ACCEPT || judgement.n_deviations == 0)
                return 0;

        *ret_complaint = first;
        return MODEL_INVALID;
}

bool indicator_model_fits_job(const ModelJobs *jobs, const char *name,
                              const char *(*label)(const void *job, const char *key), const void *job) {
        if (!jobs->is_set || (jobs->name && fnmatch(jobs->name, name, 0) != 0))
                return false;

        for (size_t i = 0; jobs->labels && i < jobs->labels->n_members; i++) {
                const char *value = label(job, jobs->labels->members[i].key);

                if (!value || fnmatch(jobs->labels->members[i].value.string, value, 0) != 0)
                        return false;
        }
        return true;
}
