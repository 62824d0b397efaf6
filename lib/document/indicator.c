/* SPDX-License-Identifier: Apache-2.0 */
#include "document/indicator.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/scoped.h"
#include "util/utf8.h"

/* Position of the walk: a chain on the stack, formatted only for a complaint. */
typedef struct Place {
        const struct Place *up;
        const char *key; /* NULL: an item of a list */
        size_t index;
} Place;

typedef struct Checker {
        DocumentLimits limits;
        size_t n_keys;
        Complaint *complaint;
} Checker;

static bool is_name_character(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == ':' || c == '-';
}

bool indicator_name_is_valid(const char *text, size_t max_bytes) {
        size_t n = 0;

        while (n <= max_bytes && is_name_character(text[n]))
                n++;

        return n >= 1 && n <= max_bytes && text[n] == '\0';
}

static bool is_upper(char c) {
        return c >= 'A' && c <= 'Z';
}

bool indicator_component_is_folded(const char *component) {
        while (*component && !is_upper(*component))
                component++;
        return !*component;
}

const char *indicator_folded_component(const char *component, Arena *arena) {
        char *copy;

        if (indicator_component_is_folded(component))
                return component;

        copy = arena_strndup(arena, component, strlen(component));
        for (char *p = copy; p && *p; p++)
                if (is_upper(*p))
                        *p = (char)(*p - 'A' + 'a');
        return copy;
}

/* --- complaints ---------------------------------------------------------------------------------- */

static size_t append(char *ret, size_t n_ret, size_t n, const char *text) {
        utf8_copy(ret + n, n_ret - n, text);
        return n + strlen(ret + n);
}

static size_t place_write(const Place *place, char *ret, size_t n_ret) {
        size_t n = place->up ? place_write(place->up, ret, n_ret) : 0;
        char index[32];

        if (place->key)
                return append(ret, n_ret, append(ret, n_ret, n, n > 0 ? "." : ""), place->key);

        snprintf(index, sizeof(index), "[%zu]", place->index);
        return append(ret, n_ret, n, index);
}

/* The sentence may quote text of the client, so it is cut between characters. */
static int __attribute__((format(printf, 3, 4)))
complain(Complaint *ret, const Place *place, const char *format, ...) {
        va_list args;

        ret->path[0] = '\0';
        if (place)
                (void)place_write(place, ret->path, sizeof(ret->path));

        va_start(args, format);
        utf8_vformat(ret->text, sizeof(ret->text), format, args);
        va_end(args);
        return INDICATOR_INVALID;
}

int indicator_complain(Complaint *ret, const char *path, const char *format, ...) {
        va_list args;

        utf8_copy(ret->path, sizeof(ret->path), path);
        va_start(args, format);
        utf8_vformat(ret->text, sizeof(ret->text), format, args);
        va_end(args);
        return INDICATOR_INVALID;
}

static int complain_key(Complaint *ret, const char *key, const char *problem) {
        return complain(ret, &(Place){ .key = key }, "%s", problem);
}

/* --- rules for all documents ----------------------------------------------------------------------- */

/* Finds a key that occurs twice in `a` and `b` together; b may be NULL. *ret: NULL if there is none. 0 or
 * INDICATOR_INVALID. */
static int find_shared_key(const Value *a, const Value *b, Complaint *complaint, const char **ret) {
        const char *few[64], **keys = few;
        scoped(freep) const char **many = NULL;
        size_t n = 0, n_all = a->n_members + (b ? b->n_members : 0);

        if (n_all > N_ELEMENTS(few)) {
                keys = many = reallocarray(NULL, n_all, sizeof(*many));
                if (!many)
                        return complain(complaint, NULL, "has %zu keys, and there is no memory to compare them", n_all);
        }

        for (size_t i = 0; i < a->n_members; i++)
                keys[n++] = a->members[i].key;
        for (size_t i = 0; b && i < b->n_members; i++)
                keys[n++] = b->members[i].key;

        *ret = value_find_key_twice(keys, n);
        return 0;
}

static int check_key(Checker *checker, const Place *up, const char *key, size_t index) {
        size_t n = strnlen(key, KEY_MAX_BYTES + 1);

        if (n == 0)
                return complain(checker->complaint, up, "member %zu has an empty key: give it a name", index + 1);
        if (n > KEY_MAX_BYTES)
                return complain(checker->complaint, up, "the key of member %zu is longer than %u bytes: shorten it",
                                index + 1, KEY_MAX_BYTES);
        if (!utf8_is_valid(key, n))
                return complain(checker->complaint, up, "the key of member %zu is not valid UTF-8", index + 1);

        return 0;
}

static int check_string(Checker *checker, const Place *place, const char *string) {
        size_t n = strlen(string);

        if (n > checker->limits.string_bytes)
                return complain(checker->complaint, place,
                                "has %zu bytes, more than the %zu that a string may have: shorten or split it", n,
                                checker->limits.string_bytes);
        if (!utf8_is_valid(string, n))
                return complain(checker->complaint, place, "is not valid UTF-8");

        return 0;
}

static int check_value(Checker *checker, const Place *place, const Value *value, unsigned depth);

static int check_list(Checker *checker, const Place *place, const Value *value, unsigned depth) {
        int r = 0;

        for (size_t i = 0; i < value->n_items && r == 0; i++)
                r = check_value(checker, &(Place){ .up = place, .index = i }, &value->items[i], depth);

        return r;
}

static int check_object(Checker *checker, const Place *place, const Value *value, unsigned depth) {
        const char *twice;
        int r;

        if (value->n_members > checker->limits.n_keys - checker->n_keys)
                return complain(checker->complaint, NULL,
                                "has more than %zu keys in all: leave some out, or make lists of them",
                                checker->limits.n_keys);
        checker->n_keys += value->n_members;

        for (size_t i = 0; i < value->n_members; i++) {
                const Member *member = &value->members[i];

                r = check_key(checker, place, member->key, i);
                if (r == 0)
                        r = check_value(checker, &(Place){ .up = place, .key = member->key }, &member->value, depth);
                if (r != 0)
                        return r;
        }

        r = find_shared_key(value, NULL, checker->complaint, &twice);
        if (r != 0)
                return r;
        if (twice)
                return complain(checker->complaint, &(Place){ .up = place, .key = twice },
                                "is given twice: keep one");

        return 0;
}

/* depth: number of objects and lists around this value. */
static int check_value(Checker *checker, const Place *place, const Value *value, unsigned depth) {
        bool is_container = value->type == VALUE_OBJECT || value->type == VALUE_LIST;

        if (is_container && depth == VALUE_DEPTH_MAX)
                return complain(checker->complaint, place, "is nested deeper than %d objects and lists",
                                VALUE_DEPTH_MAX);
        if (value->type == VALUE_OBJECT)
                return check_object(checker, place, value, depth + 1);
        if (value->type == VALUE_LIST)
                return check_list(checker, place, value, depth + 1);
        if (value->type == VALUE_STRING)
                return check_string(checker, place, value->string);
        if (value->type == VALUE_DOUBLE && !isfinite(value->number))
                return complain(checker->complaint, place, "is %s, which JSON cannot express: leave it out or use null",
                                isnan(value->number) ? "not a number" : "infinite");

        return 0;
}

/* --- an indicator -------------------------------------------------------------------------------- */

#define SHAPE "{\"@parameters\": {…}, \"@result\": {…}, \"name\": \"…\", \"component\": \"…\"}"

static int take_object(const Value *document, const char *key, const Value **ret, Complaint *complaint) {
        const Value *value = value_get(document, key);

        if (!value)
                return complain_key(complaint, key, "missing: a script prints " SHAPE);
        if (value->type != VALUE_OBJECT)
                return complain(complaint, &(Place){ .key = key }, "is %s, must be an object: a script prints " SHAPE,
                                value_type_text(value));

        *ret = value;
        return 0;
}

static int take_result(const Value *document, Indicator *ret, Complaint *complaint) {
        const char *shared;
        int r;

        r = take_object(document, "@parameters", &ret->parameters, complaint);
        if (r == 0)
                r = take_object(document, "@result", &ret->result, complaint);
        if (r != 0)
                return r;

        if (ret->result->n_members == 0)
                return complain_key(complaint, "@result",
                                    "is empty: put at least one measured value into it, as in {\"elapsed\": 1.5}");

        r = find_shared_key(ret->parameters, ret->result, complaint, &shared);
        if (r != 0)
                return r;
        if (shared)
                return complain(complaint, &(Place){ .up = &(Place){ .key = "@result" }, .key = shared },
                                "collision: '%s' is in @parameters as well; rename one of them", shared);

        return 0;
}

static int take_name(const Value *document, Indicator *ret, Complaint *complaint) {
        const Value *name = value_get(document, "name");

        if (!name)
                return complain_key(complaint, "name", "missing: say what was measured, as in \"name\": \"PiMatmul\"");
        if (name->type != VALUE_STRING)
                return complain(complaint, &(Place){ .key = "name" }, "is %s, must be a string as in \"PiMatmul\"",
                                value_type_text(name));
        if (!indicator_name_is_valid(name->string, NAME_MAX_BYTES))
                return complain(complaint, &(Place){ .key = "name" },
                                "'%.*s' must be 1 to %u letters, digits, or any of _ . : -",
                                (int)utf8_cut(name->string, NAME_MAX_BYTES), name->string, NAME_MAX_BYTES);

        ret->name = name->string;
        return 0;
}

/* ret is unchanged if the key is absent. */
static int take_component_key(const Value *document, const char *key, const char **ret, Complaint *complaint) {
        const Value *value = value_get_given(document, key);

        if (!value)
                return 0;
        if (value->type != VALUE_STRING)
                return complain(complaint, &(Place){ .key = key }, "is %s, must be a string as in \"tensorflow\"",
                                value_type_text(value));
        if (value->string[0] == '\0' || strlen(value->string) > COMPONENT_MAX_BYTES)
                return complain(complaint, &(Place){ .key = key }, "must have 1 to %u bytes", COMPONENT_MAX_BYTES);

        *ret = value->string;
        return 0;
}

static int take_component(const Value *document, Indicator *ret, Complaint *complaint) {
        const char *framework = NULL, *component = NULL;
        int r;

        r = take_component_key(document, "framework", &framework, complaint);
        if (r == 0)
                r = take_component_key(document, "component", &component, complaint);
        if (r != 0)
                return r;

        if (!framework && !component)
                return complain_key(complaint, "component",
                                    "missing: name the software that was measured, as in \"component\": "
                                    "\"tensorflow\" (the key may be \"framework\" as well)");
        if (framework && component && strcasecmp(framework, component) != 0)
                return complain(complaint, &(Place){ .key = "framework" },
                                "'%s' differs from component '%s': give one of them, or the same in both",
                                framework, component);

        ret->component = component ? component : framework;
        return 0;
}

static int take_optional(const Value *document, Indicator *ret, Complaint *complaint) {
        const Value *version = value_get_given(document, "version");
        const Value *score = value_get_given(document, "overall_score");

        if (version && version->type != VALUE_STRING)
                return complain(complaint, &(Place){ .key = "version" },
                                "is %s, must be a string as in \"1.13.1\", or left out", value_type_text(version));
        if (score && !value_is_number(score))
                return complain(complaint, &(Place){ .key = "overall_score" },
                                "is %s, must be a number, null, or left out", value_type_text(score));

        if (version)
                ret->version = version->string;
        ret->has_overall_score = score && value_get_double(document, "overall_score", &ret->overall_score);
        return 0;
}

int indicator_from_value(const Value *document, DocumentLimits limits, Indicator *ret, Complaint *ret_complaint) {
        Checker checker = { .limits = limits, .complaint = ret_complaint };
        Indicator indicator = { .document = document };
        int r;

        if (document->type != VALUE_OBJECT)
                return complain(ret_complaint, NULL, "is %s, must be an object: a script prints " SHAPE,
                                value_type_text(document));

        r = check_value(&checker, NULL, document, 0);
        if (r == 0)
                r = take_result(document, &indicator, ret_complaint);
        if (r == 0)
                r = take_name(document, &indicator, ret_complaint);
        if (r == 0)
                r = take_component(document, &indicator, ret_complaint);
        if (r == 0)
                r = take_optional(document, &indicator, ret_complaint);
        if (r != 0)
                return r;

        *ret = indicator;
        return 0;
}

/* --- a failed run ---------------------------------------------------------------------------------- */

static const Value *get_object(const Value *document, const char *key) {
        const Value *value = value_get(document, key);

        return value && value->type == VALUE_OBJECT ? value : NULL;
}

/* Takes the valid members: the output of a failed run need not follow the rules. */
static void take_what_there_is(const Value *document, Indicator *ret) {
        const char *name = value_get_string(document, "name");
        Complaint ignored;

        ret->document = document;
        ret->parameters = get_object(document, "@parameters");
        ret->result = get_object(document, "@result");
        if (name && indicator_name_is_valid(name, NAME_MAX_BYTES))
                ret->name = name;
        (void)take_component_key(document, "framework", &ret->component, &ignored);
        (void)take_component_key(document, "component", &ret->component, &ignored);
        (void)take_optional(document, ret, &ignored);
}

static bool is_given(const char *text) {
        return text && text[0];
}

static int check_given(const IndicatorGiven *given, DocumentLimits limits, Complaint *complaint) {
        const char *texts[] = { given->component, given->version };
        static const char *const keys[] = { "component", "version" };
        const size_t bytes_max[] = { COMPONENT_MAX_BYTES, limits.string_bytes };

        if (is_given(given->name) && !indicator_name_is_valid(given->name, NAME_MAX_BYTES))
                return complain(complaint, &(Place){ .key = "name" },
                                "'%.*s' must be 1 to %u letters, digits, or any of _ . : -",
                                (int)utf8_cut(given->name, NAME_MAX_BYTES), given->name, NAME_MAX_BYTES);
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                size_t n = texts[i] ? strlen(texts[i]) : 0;

                if (n > bytes_max[i])
                        return complain(complaint, &(Place){ .key = keys[i] }, "must have 1 to %zu bytes",
                                        bytes_max[i]);
                if (n > 0 && !utf8_is_valid(texts[i], n))
                        return complain_key(complaint, keys[i], "is not valid UTF-8");
        }

        return 0;
}

int indicator_from_failed_run(const Value *document, const IndicatorGiven *given, DocumentLimits limits, Indicator *ret,
                              Complaint *ret_complaint) {
        Indicator indicator = {};
        int r;

        r = check_given(given, limits, ret_complaint);
        if (r == 0 && document)
                r = indicator_check_object(document, limits, ret_complaint);
        if (r != 0)
                return r;

        if (document)
                take_what_there_is(document, &indicator);
        if (!indicator.name && is_given(given->name))
                indicator.name = given->name;
        if (!indicator.component && is_given(given->component))
                indicator.component = given->component;
        if (!indicator.version && is_given(given->version))
                indicator.version = given->version;
        if (!indicator.name && document && value_get(document, "name"))
                return take_name(document, &indicator, ret_complaint);
        if (!indicator.name)
                return complain_key(ret_complaint, "name",
                                    "missing: say which indicator failed to run, as in \"PiMatmul\", if the output "
                                    "does not name it");

        *ret = indicator;
        return 0;
}

int indicator_check_object(const Value *object, DocumentLimits limits, Complaint *ret_complaint) {
        Checker checker = { .limits = limits, .complaint = ret_complaint };

        if (object->type != VALUE_OBJECT)
                return complain(ret_complaint, NULL, "is %s, must be an object", value_type_text(object));
        return check_value(&checker, NULL, object, 0);
}
