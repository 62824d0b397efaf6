/* SPDX-License-Identifier: Apache-2.0 */
#include "document/indicator_model.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/scoped.h"
#include "util/utf8.h"

#define UNIT_MAX_BYTES 64U
#define HELP_MAX_BYTES 4096U
#define VALUES_MAX 256U
#define PATH_ROOM COMPLAINT_PATH_MAX
#define WORDS_TEXT_MAX 80U

/* In the order of the bits of PropertyType. */
static const char *const types[] = { "str", "int", "float", "bool" };
_Static_assert(PROPERTY_STR == 1 << 0 && PROPERTY_INT == 1 << 1 && PROPERTY_FLOAT == 1 << 2 && PROPERTY_BOOL == 1 << 3, "one bit for each");

static const char *const indexes[] = {
        [INDEX_NONE] = "none",
        [INDEX_EXACT] = "exact",
        [INDEX_INT] = "int",
        [INDEX_FLOAT] = "float",
};

void indicator_model_types_text(unsigned given, char ret[static PROPERTY_TYPES_TEXT_MAX]) {
        int n = 0;

        for (size_t i = 0; i < N_ELEMENTS(types); i++)
                if (given & (1U << i))
                        n += snprintf(ret + n, PROPERTY_TYPES_TEXT_MAX - (size_t)n, "%s%s", n > 0 ? " or " : "", types[i]);
        if (n == 0)
                (void)snprintf(ret, PROPERTY_TYPES_TEXT_MAX, "any type");
}

const char *indicator_model_index_text(PropertyIndex index) {
        return indexes[index];
}

const char *indicator_model_direction_text(Direction direction) {
        return direction == DIRECTION_HIGHER ? "higher" : direction == DIRECTION_LOWER ? "lower" : NULL;
}

/* --- reading the declaration ---------------------------------------------------------------------- */

/* Position in the declaration, and the complaint to set. */
typedef struct Reader {
        Complaint *complaint;
        char path[PATH_ROOM];
} Reader;

/* Sets a complaint about the member `key` of the current object, or about the object itself (NULL). */
static int __attribute__((format(printf, 3, 4)))
wrong(Reader *reader, const char *key, const char *format, ...) {
        char path[2 * PATH_ROOM], text[4 * COMPLAINT_TEXT_MAX];
        va_list args;

        (void)snprintf(path, sizeof(path), "%s%s%.*s", reader->path, reader->path[0] && key ? "." : "",
                       (int)(key ? utf8_cut(key, PATH_ROOM - 2) : 0), key ?: "");
        va_start(args, format);
        utf8_vformat(text, sizeof(text), format, args);
        va_end(args);
        (void)indicator_complain(reader->complaint, path, "%s", text);
        return MODEL_INVALID;
}

/* Returns the index of the word, or n. */
static size_t find_word(const char *word, const char *const *words, size_t n) {
        size_t i = 0;

        while (i < n && (!words[i] || strcmp(words[i], word) != 0))
                i++;
        return i;
}

/* Writes a list of words for a complaint. */
static void join_words(const char *const *words, size_t n_words, char ret[static WORDS_TEXT_MAX]) {
        int n = 0;

        for (size_t i = 0; i < n_words; i++)
                if (words[i])
                        n += snprintf(ret + n, WORDS_TEXT_MAX - (size_t)n, "%s%s", n > 0 ? ", " : "", words[i]);
}

static int check_keys(Reader *reader, const Value *object, const char *const *keys, size_t n_keys) {
        char all[WORDS_TEXT_MAX];

        for (size_t i = 0; i < object->n_members; i++) {
                if (find_word(object->members[i].key, keys, n_keys) < n_keys)
                        continue;
                join_words(keys, n_keys, all);
                return wrong(reader, object->members[i].key, "is unknown: expected one of %s", all);
        }

        return 0;
}

/* YAML treats U+2028 and U+2029 as line breaks, and U+FEFF, U+FFFE and U+FFFF as invalid, quoted or not: a declaration that is
 * kept as JSON would be read back differently. */
static bool is_yaml(const char *text) {
        static const char *const odd[] = { "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf", "\xef\xbf\xbe", "\xef\xbf\xbf" };

        for (size_t i = 0; i < N_ELEMENTS(odd); i++)
                if (strstr(text, odd[i]))
                        return false;
        return true;
}

static bool is_line(const char *text) {
        return utf8_is_line(text) && is_yaml(text);
}

/* As the function above, but allows line breaks and tabs. */
static bool is_text(const char *text) {
        for (const unsigned char *p = (const unsigned char *)text; *p; p++)
                if ((*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0))
                        return false;
        return is_yaml(text);
}

static int take_text(Reader *reader, const Value *object, const char *key, size_t n_max, const char **ret) {
        const Value *value = value_get_given(object, key);
        bool is_help = strcmp(key, "help") == 0;
        size_t n;

        if (!value)
                return 0;
        if (value->type != VALUE_STRING)
                return wrong(reader, key, "is %s, must be a string", value_type_text(value));
        n = strlen(value->string);
        if (n == 0 || n > n_max)
                return wrong(reader, key, "must have 1 to %zu bytes", n_max);
        if (is_help ? !is_text(value->string) : !is_line(value->string))
                return wrong(reader, key, "has control characters: remove them");

        *ret = value->string;
        return 0;
}

static int take_bool(Reader *reader, const Value *object, const char *key, bool *ret) {
        const Value *value = value_get_given(object, key);

        if (!value)
                return 0;
        if (value->type != VALUE_BOOL)
                return wrong(reader, key, "is %s, must be true or false", value_type_text(value));

        *ret = value->boolean;
        return 0;
}

/* ret: index of the word in `words`; unchanged if the key is absent. */
static int take_word(Reader *reader, const Value *object, const char *key, const char *const *words, size_t n_words, unsigned *ret) {
        const Value *value = value_get_given(object, key);
        size_t i = value && value->type == VALUE_STRING ? find_word(value->string, words, n_words) : n_words;
        char all[WORDS_TEXT_MAX];

        if (!value)
                return 0;
        if (i < n_words) {
                *ret = (unsigned)i;
                return 0;
        }

        join_words(words, n_words, all);
        if (value->type == VALUE_STRING)
                return wrong(reader, key, "'%.40s' is not one of %s", value->string, all);
        return wrong(reader, key, "is %s, must be one of %s", value_type_text(value), all);
}

static int take_type_word(Reader *reader, const char *key, const Value *value, unsigned *ret) {
        size_t i;

        if (value->type != VALUE_STRING)
                return wrong(reader, key, "is %s, must be str, int, float, bool, or a list of them", value_type_text(value));
        i = find_word(value->string, types, N_ELEMENTS(types));
        if (i == N_ELEMENTS(types))
                return wrong(reader, key, "'%.40s' is not a type: use str, int, float, bool, or a list of them", value->string);
        if (*ret & (1U << i))
                return wrong(reader, key, "names %s twice: remove one", types[i]);

        *ret |= 1U << i;
        return 0;
}

static int take_types(Reader *reader, const char *key, const Value *value, unsigned *ret) {
        int r = 0;

        if (!value)
                return 0;
        if (value->type != VALUE_LIST)
                return take_type_word(reader, key, value, ret);
        if (value->n_items == 0)
                return wrong(reader, key, "is an empty list: remove it to allow any type");

        for (size_t i = 0; i < value->n_items && r == 0; i++)
                r = take_type_word(reader, key, &value->items[i], ret);
        return r;
}

/* --- values --------------------------------------------------------------------------------------- */

static bool is_whole(double number) {
        return number == trunc(number) && number >= -0x1p63 && number < 0x1p63;
}

/* 30.0 is an integer, too: many languages print whole floats in this form. */
static bool is_of_types(const Value *value, unsigned wanted) {
        switch (value->type) {
        case VALUE_STRING:
                return wanted & PROPERTY_STR;
        case VALUE_INT:
        case VALUE_UINT:
                return wanted & (PROPERTY_INT | PROPERTY_FLOAT);
        case VALUE_DOUBLE:
                return wanted & PROPERTY_FLOAT || (wanted & PROPERTY_INT && is_whole(value->number));
        case VALUE_BOOL:
                return wanted & PROPERTY_BOOL;
        case VALUE_NULL:
        case VALUE_LIST:
        case VALUE_OBJECT:
                break;
        }

        return false;
}

static int check_allowed(Reader *reader, const Property *property, const Value *list, size_t i) {
        const Value *value = &list->items[i];
        char wanted[PROPERTY_TYPES_TEXT_MAX], key[32];

        (void)snprintf(key, sizeof(key), "values[%zu]", i);
        indicator_model_types_text(property->types, wanted);
        if (!value_is_scalar(value))
                return wrong(reader, key, "is %s: only strings, numbers and booleans can be listed", value_type_text(value));
        if (property->types && !is_of_types(value, property->types))
                return wrong(reader, key, "is %s, and the type is %s: change one of them", value_type_text(value), wanted);
        if (value->type == VALUE_STRING && !is_line(value->string))
                return wrong(reader, key, "has control characters: remove them");
        return 0;
}

static int check_each_once(Reader *reader, const Value *list) {
        const Value *room[VALUES_MAX];
        size_t first, again;
        char key[32];

        if (!value_find_twice(list, room, &first, &again))
                return 0;
        (void)snprintf(key, sizeof(key), "values[%zu]", again);
        return wrong(reader, key, "is the same as values[%zu]: keep one of them", first);
}

static int take_allowed(Reader *reader, const Value *object, Property *property) {
        const Value *list = value_get_given(object, "values");
        int r = 0;

        if (!list)
                return 0;
        if (list->type != VALUE_LIST)
                return wrong(reader, "values", "is %s, must be a list as in [cpu, gpu]", value_type_text(list));
        if (list->n_items == 0 || list->n_items > VALUES_MAX)
                return wrong(reader, "values", "has %zu items, may have 1 to %u: remove it to allow any value",
                             list->n_items, VALUES_MAX);

        for (size_t i = 0; i < list->n_items && r == 0; i++)
                r = check_allowed(reader, property, list, i);
        if (r == 0)
                r = check_each_once(reader, list);
        if (r == 0)
                property->allowed = list;
        return r;
}

/* --- properties ----------------------------------------------------------------------------------- */

static int check_index(Reader *reader, const Property *property) {
        char given[PROPERTY_TYPES_TEXT_MAX];
        unsigned fits = property->index == INDEX_INT ? PROPERTY_INT : PROPERTY_INT | PROPERTY_FLOAT;

        if (property->index == INDEX_NONE || property->index == INDEX_EXACT)
                return 0;
        if (property->types && !(property->types & ~fits))
                return 0;

        indicator_model_types_text(property->types, given);
        return wrong(reader, "index", "%s is for numbers, and the type is %s: use exact, or change the type",
                     indicator_model_index_text(property->index), given);
}

static int take_parameter(Reader *reader, const Value *object, Property *property) {
        static const char *const keys[] = { "type", "index", "values", "optional", "help" };
        unsigned index = INDEX_NONE;
        int r;

        r = check_keys(reader, object, keys, N_ELEMENTS(keys));
        if (r == 0)
                r = take_word(reader, object, "index", indexes, N_ELEMENTS(indexes), &index);
        if (r == 0)
                r = take_types(reader, "type", value_get_given(object, "type"), &property->types);
        if (r != 0)
                return r;

        property->index = (PropertyIndex)index;
        r = check_index(reader, property);
        return r == 0 ? take_allowed(reader, object, property) : r;
}

static int take_result(Reader *reader, const Value *object, Property *property) {
        static const char *const keys[] = { "type", "unit", "direction", "optional", "help" };
        static const char *const directions[] = { [DIRECTION_HIGHER] = "higher", [DIRECTION_LOWER] = "lower" };
        unsigned direction = DIRECTION_UNKNOWN;
        int r;

        if (value_get(object, "index"))
                return wrong(reader, "index", "applies to parameters only: remove it");
        r = check_keys(reader, object, keys, N_ELEMENTS(keys));
        if (r == 0)
                r = take_types(reader, "type", value_get_given(object, "type"), &property->types);
        if (r == 0)
                r = take_text(reader, object, "unit", UNIT_MAX_BYTES, &property->unit);
        if (r == 0)
                r = take_word(reader, object, "direction", directions, N_ELEMENTS(directions), &direction);
        property->direction = (Direction)direction;
        return r;
}

/* NAME: int, NAME: [int, str], or NAME: {type: int, …}. */
static int take_property(Reader *reader, const Member *member, Property *ret) {
        const Value *value = &member->value;
        int r;

        ret->name = member->key;
        if (!is_line(member->key))
                return wrong(reader, NULL, "has control characters in its name: remove them");
        if (value->type == VALUE_NULL)
                return 0;
        if (value->type != VALUE_OBJECT)
                return take_types(reader, NULL, value, &ret->types);

        r = ret->is_result ? take_result(reader, value, ret) : take_parameter(reader, value, ret);
        if (r == 0)
                r = take_bool(reader, value, "optional", &ret->is_optional);
        return r == 0 ? take_text(reader, value, "help", HELP_MAX_BYTES, &ret->help) : r;
}

static int take_properties(Reader *reader, const Value *object, bool is_result, Property *properties, size_t *n) {
        const char *list = is_result ? "results" : "parameters";

        for (size_t i = 0; object && i < object->n_members; i++) {
                Property *property = &properties[*n];
                int r;

                property->is_result = is_result;
                (void)snprintf(reader->path, sizeof(reader->path), "%s.%.*s", list,
                               (int)utf8_cut(object->members[i].key, sizeof(reader->path) / 2), object->members[i].key);
                r = take_property(reader, &object->members[i], property);
                if (r != 0)
                        return r;
                (*n)++;
        }

        reader->path[0] = '\0';
        return 0;
}

/* --- the model ------------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) {
        const Property *const *left = a, *const *right = b;

        return strcmp((*left)->name, (*right)->name);
}

/* Each list has unique names: indicator_check_object() checked that. */
static int sort_properties(Reader *reader, IndicatorModel *model) {
        for (size_t i = 0; i < model->n_properties; i++)
                model->by_name[i] = &model->properties[i];
        qsort(model->by_name, model->n_properties, sizeof(*model->by_name), compare_names);

        for (size_t i = 1; i < model->n_properties; i++) {
                const char *name = model->by_name[i]->name;

                if (strcmp(model->by_name[i - 1]->name, name) != 0)
                        continue;
                (void)snprintf(reader->path, sizeof(reader->path), "results");
                return wrong(reader, name, "collision: '%.100s' is in parameters as well; rename one of them", name);
        }

        return 0;
}

static int take_head(Reader *reader, const Value *document, Arena *arena, IndicatorModel *ret) {
        static const char *const keys[] = { "name", "component", "help", "parameters", "results" };
        int r;

        r = check_keys(reader, document, keys, N_ELEMENTS(keys));
        if (r == 0)
                r = take_text(reader, document, "name", NAME_MAX_BYTES, &ret->name);
        if (r == 0)
                r = take_text(reader, document, "component", COMPONENT_MAX_BYTES, &ret->component);
        if (r == 0)
                r = take_text(reader, document, "help", HELP_MAX_BYTES, &ret->help);
        if (r != 0)
                return r;
        if (ret->component) {
                ret->component = indicator_folded_component(ret->component, arena);
                if (!ret->component)
                        return -ENOMEM;
        }

        if (!ret->name)
                return wrong(reader, "name", "missing: say which indicator this is, as in name: PiMatmul");
        if (strcmp(ret->name, MODEL_ANY_NAME) == 0 && !ret->component)
                return wrong(reader, "component", "missing: a model of the name '*' applies to all indicators of one component");
        if (strcmp(ret->name, MODEL_ANY_NAME) != 0 && !indicator_name_is_valid(ret->name, NAME_MAX_BYTES))
                return wrong(reader, "name", "'%s' must be 1 to %u letters, digits, or any of _ . : -", ret->name, NAME_MAX_BYTES);
        return 0;
}

static int get_properties(Reader *reader, const Value *document, const char *key, const Value **ret) {
        const Value *value = value_get_given(document, key);

        if (value && value->type != VALUE_OBJECT)
                return wrong(reader, key, "is %s, must map names to types as in {elapsed: float}", value_type_text(value));

        *ret = value;
        return 0;
}

static int take_lists(Reader *reader, const Value *document, Arena *arena, IndicatorModel *ret) {
        const Value *parameters = NULL, *results = NULL;
        size_t n;
        int r;

        r = get_properties(reader, document, "parameters", &parameters);
        if (r == 0)
                r = get_properties(reader, document, "results", &results);
        if (r != 0)
                return r;
        if (!results || results->n_members == 0)
                return wrong(reader, "results", "missing: declare at least one measured value, as in results: {elapsed: float}");

        n = results->n_members + (parameters ? parameters->n_members : 0);
        if (n > MODEL_PROPERTIES_MAX)
                return wrong(reader, NULL, "has %zu parameters and results, may have up to %u", n, MODEL_PROPERTIES_MAX);
        ret->properties = arena_alloc(arena, n * sizeof(*ret->properties));
        ret->by_name = arena_alloc(arena, n * sizeof(const Property *));
        if (!ret->properties || !ret->by_name)
                return -ENOMEM;

        r = take_properties(reader, parameters, false, ret->properties, &ret->n_properties);
        if (r == 0)
                r = take_properties(reader, results, true, ret->properties, &ret->n_properties);
        return r == 0 ? sort_properties(reader, ret) : r;
}

int indicator_model_from_value(const Value *document, Arena *arena, IndicatorModel *ret, Complaint *ret_complaint) {
        Reader reader = { .complaint = ret_complaint };
        IndicatorModel model = { .document = document };
        int r;

        if (document->type != VALUE_OBJECT)
                return wrong(&reader, NULL, "is %s, must have name, parameters and results", value_type_text(document));
        if (indicator_check_object(document, DOCUMENT_LIMITS_DEFAULT, ret_complaint) != 0)
                return MODEL_INVALID;

        r = take_head(&reader, document, arena, &model);
        if (r == 0)
                r = take_lists(&reader, document, arena, &model);
        if (r == 0)
                *ret = model;
        return r;
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
        size_t n_odd;
        bool seen[MODEL_PROPERTIES_MAX]; /* by index in by_name */
} Judgement;

static const char *list_of(bool is_result) {
        return is_result ? "@result" : "@parameters";
}

/* Only the first deviation is described. */
static void __attribute__((format(printf, 4, 5)))
odd(Judgement *judgement, bool is_result, const char *key, const char *format, ...) {
        char path[PATH_ROOM + 16], text[4 * COMPLAINT_TEXT_MAX];
        va_list args;

        if (judgement->n_odd++ > 0)
                return;
        (void)snprintf(path, sizeof(path), "%s.%.*s", list_of(is_result), (int)utf8_cut(key, PATH_ROOM), key);
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
                odd(judgement, is_result, member->key, "is %s that the model of %s does not declare: declare it, or leave it out",
                    is_result ? "a result" : "a parameter", model->name);
                return;
        }

        judgement->seen[i] = true;
        if (property->types && !is_of_types(value, property->types)) {
                indicator_model_types_text(property->types, wanted);
                odd(judgement, is_result, member->key, "is %s, and the model of %s says %s", value_type_text(value), model->name, wanted);
        } else if (property->allowed && !is_allowed(value, property->allowed))
                odd(judgement, is_result, member->key, "is not one of the values that the model of %s lists", model->name);
}

static void judge_missing(Judgement *judgement) {
        const IndicatorModel *model = judgement->model;

        for (size_t i = 0; i < model->n_properties; i++)
                if (!judgement->seen[i] && !model->by_name[i]->is_optional)
                        odd(judgement, model->by_name[i]->is_result, model->by_name[i]->name,
                            "missing: the model of %s declares it", model->name);
}

int indicator_model_judge(const IndicatorModel *model, const Indicator *indicator, ModelPolicy policy, size_t *ret_n_odd,
                          Complaint *ret_complaint) {
        Complaint first;
        Judgement judgement = { .model = model, .complaint = &first };

        for (size_t i = 0; i < indicator->parameters->n_members; i++)
                judge_member(&judgement, &indicator->parameters->members[i], false);
        for (size_t i = 0; i < indicator->result->n_members; i++)
                judge_member(&judgement, &indicator->result->members[i], true);
        judge_missing(&judgement);

        *ret_n_odd = judgement.n_odd;
        if (policy == MODEL_ACCEPT || judgement.n_odd == 0)
                return 0;

        *ret_complaint = first;
        return MODEL_INVALID;
}
