/* SPDX-License-Identifier: Apache-2.0 */
#include "client/format/format.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "client/format/regex.h"
#include "document/condition.h"
#include "document/path.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/scoped.h"
#include "util/utf8.h"
#include "value/value_parse.h"

#define MEMBERS_MAX 4096U /* parameters, results or units of a document */
#define SECONDS_MAX 1e11  /* a larger time is in milliseconds */

/* An element of the input, and what encloses it: names that it has not are those of the value around it. */
typedef struct ElementScope {
        const Value *value;
        const char *key; /* name or index in the value around it; "": the whole input */
        size_t index;
        const struct ElementScope *up;
        bool is_inner; /* the path goes on within the value around it, which has the same key */
} ElementScope;

typedef struct Members {
        Member *items; /* owned */
        size_t n, n_allocated;
} Members;

/* A value at the end of a path. */
typedef struct FoundValue {
        const Value *value;
        const char *key; /* name or index at the path's first [] or [*]; NULL: none */
} FoundValue;

typedef struct FoundList {
        FoundValue *items; /* owned */
        size_t n, n_allocated;
        bool is_many; /* the path has [] or [*] */
} FoundList;

typedef struct FormatReading {
        const OutputFormat *format;
        Arena *arena;
        FormatResult *result;
        unsigned line; /* of the element */
} FormatReading;

void format_deinit(OutputFormat *format) {
        buffer_deinit(&format->text);
}

void format_result_deinit(FormatResult *result) {
        free(result->documents);
}

static void members_deinit(Members *members) {
        free(members->items);
}

static void found_deinit(FoundList *found) {
        free(found->items);
}

/* Names the element within its input: "[3][sys]: …". */
__attribute__((format(printf, 3, 4))) static int wrong(FormatReading *reading, const ElementScope *scope, const char *format, ...) {
        char text[FORMAT_ERROR_MAX / 2], place[FORMAT_ERROR_MAX / 2] = "", within[FORMAT_ERROR_MAX / 2];
        va_list args;

        va_start(args, format);
        utf8_vformat(text, sizeof(text), format, args);
        va_end(args);
        for (; scope && scope->up; scope = scope->up) {
                if (scope->is_inner)
                        continue;
                memcpy(within, place, sizeof(within));
                (void)snprintf(place, sizeof(place), "[%.60s]%.180s", scope->key, within);
        }
        reading->result->line = reading->line;
        (void)snprintf(reading->result->error, FORMAT_ERROR_MAX, "%s%s%s", place, place[0] ? ": " : "", text);
        return FORMAT_WRONG;
}

static char *index_text(Arena *arena, size_t index) {
        char text[24];
        int n = snprintf(text, sizeof(text), "%zu", index);

        return arena_strndup(arena, text, (size_t)n);
}

static int put_member(Members *members, const char *key, const Value *value) {
        if (!key || members->n == MEMBERS_MAX || ARRAY_RESERVE(members->items, members->n_allocated, members->n + 1) < 0)
                return -ENOMEM;
        members->items[members->n++] = (Member){ key, *value };
        return 0;
}

/* As above; a member of the same name is replaced: options of a job precede those of all jobs. */
static int replace_member(Members *members, const char *key, const Value *value) {
        for (size_t i = 0; key && i < members->n; i++)
                if (strcmp(members->items[i].key, key) == 0) {
                        members->items[i].value = *value;
                        return 0;
                }
        return put_member(members, key, value);
}

static Value make_object(const Members *members, Arena *arena) {
        Member *copy = arena_alloc(arena, (members->n + 1) * sizeof(*copy));

        if (copy && members->n > 0)
                memcpy(copy, members->items, members->n * sizeof(*copy));
        return (Value){ .type = VALUE_OBJECT, .members = copy, .n_members = copy ? members->n : 0 };
}

/* --- paths ---------------------------------------------------------------------------------------- */

static const Value *get_member(const Value *object, const PathStep *step) {
        for (size_t i = 0; object->type == VALUE_OBJECT && i < object->n_members; i++)
                if (strlen(object->members[i].key) == step->n && memcmp(object->members[i].key, step->key, step->n) == 0)
                        return &object->members[i].value;
        return NULL;
}

static const Value *get_item(const Value *list, size_t index) {
        return list->type == VALUE_LIST && index < list->n_items ? &list->items[index] : NULL;
}

static int add_found(FoundList *list, const Value *value, const char *key) {
        if (ARRAY_RESERVE(list->items, list->n_allocated, list->n + 1) < 0)
                return -ENOMEM;
        list->items[list->n++] = (FoundValue){ value, key };
        return 0;
}

/* The combination of the items of lists that the element is, as for loops over the lists make them, the last one fastest. */
static int follow_product(FormatReading *reading, const ElementScope *scope, const Value *lists, FoundList *list) {
        size_t index = scope->index;
        int r = 0;

        list->is_many = true;
        for (size_t i = 0; i < lists->n_items; i++)
                if (lists->type != VALUE_LIST || lists->items[i].type != VALUE_LIST || lists->items[i].n_items == 0)
                        return wrong(reading, scope, "[*] is for a list of lists that are not empty");
        for (size_t i = lists->type == VALUE_LIST ? lists->n_items : 0; i > 0 && r == 0; i--) {
                const Value *items = &lists->items[i - 1];
                char *key = index_text(reading->arena, i - 1);

                r = key ? add_found(list, &items->items[index % items->n_items], key) : -ENOMEM;
                index /= items->n_items;
        }
        return r == 0 && index > 0 ? wrong(reading, scope, "the lists of [*] have fewer combinations than there are elements") : r;
}

/* Follows the path, from p on. A name that is missing ends it, and an item without it is left out. */
static int follow(FormatReading *reading, const ElementScope *scope, const char *path, const char *p, const Value *value, const char *key,
                  FoundList *list) {
        PathStep step;
        int r = 0;

        while (value && (step = path_next(path, &p)).kind != PATH_END) {
                if (step.kind == PATH_PRODUCT)
                        return follow_product(reading, scope, value, list);
                if (step.kind != PATH_ALL) {
                        value = step.kind == PATH_KEY ? get_member(value, &step) : get_item(value, step.index);
                        continue;
                }
                list->is_many = true;
                for (size_t i = 0; value->type == VALUE_OBJECT && i < value->n_members && r == 0; i++)
                        r = follow(reading, scope, path, p, &value->members[i].value, key ?: value->members[i].key, list);
                for (size_t i = 0; value->type == VALUE_LIST && i < value->n_items && r == 0; i++)
                        r = follow(reading, scope, path, p, &value->items[i], key ?: index_text(reading->arena, i), list);
                return r;
        }
        return value ? add_found(list, value, key) : 0;
}

/* @key, the name or index of the element, or @key[1], that of what encloses it. NULL: there is none. */
static const Value *find_key(FormatReading *reading, const ElementScope *scope, const char **p, const char *path) {
        const char *behind = *p;
        PathStep level = path_next(path, &behind);
        Value *key = arena_alloc(reading->arena, sizeof(*key));

        for (size_t i = level.kind == PATH_INDEX ? level.index : 0; scope && (i > 0 || scope->is_inner); scope = scope->up)
                i -= !scope->is_inner;
        *p = level.kind == PATH_INDEX ? behind : *p;
        if (!key || !scope || !scope->up)
                return NULL;
        *key = (Value){ .type = VALUE_STRING, .string = scope->key };
        return key;
}

/* Finds the values of a path: in the element, which @ names, or in what encloses it. path: with ? at the end if it may be missing. */
static int find(FormatReading *reading, const ElementScope *scope, const char *path, FoundList *list) {
        const char *p = path;
        PathStep step = path_next(path, &p);
        const ElementScope *at = scope;
        int r = 0;

        if (step.kind == PATH_KEY && step.n == 4 && memcmp(step.key, "@key", 4) == 0) {
                const Value *key = find_key(reading, scope, &p, path);

                r = key ? follow(reading, scope, path, p, key, NULL, list) : 0;
        } else if (step.kind == PATH_KEY && step.n == 1 && *step.key == '@')
                r = follow(reading, scope, path, p, scope->value, NULL, list);
        else
                for (; at && r == 0 && list->n == 0; at = step.kind == PATH_ALL ? NULL : at->up)
                        r = follow(reading, scope, path, path, at->value, NULL, list);
        if (r == 0 && list->n == 0 && path[strlen(path) - 1] != '?')
                return wrong(reading, scope, "'%s' is missing", path);
        return r;
}

/* --- values --------------------------------------------------------------------------------------- */

/* The numbers of a value, also of lists in lists. A text that is a number counts, null does not. */
static int add_numbers(FormatReading *reading, const ElementScope *scope, const char *path, const Value *value, Buffer *numbers) {
        double number = value_is_number(value) ? value_number(value) : NAN;
        int r = 0;

        for (size_t i = 0; value->type == VALUE_LIST && i < value->n_items && r == 0; i++)
                r = add_numbers(reading, scope, path, &value->items[i], numbers);
        reading->result->n_null += value->type == VALUE_NULL;
        if (value->type == VALUE_LIST || value->type == VALUE_NULL)
                return r;
        if (value->type == VALUE_STRING && parse_double(value->string, &number) != 0)
                return wrong(reading, scope, "'%s' is '%.40s', not a number%s", path, value->string,
                             parse_is_decimal_comma(value->string) ? ": decimal comma?" : "");
        if (!isfinite(number))
                return wrong(reading, scope, "'%s' is %s, not a number", path, value_type_text(value));
        buffer_put(numbers, &number, sizeof(number));
        return buffer_error(numbers);
}

/* A number stays as it is. Of a list of samples, the median counts, and *ret_n is their number; else 0. */
static int reduce(FormatReading *reading, const ElementScope *scope, const char *path, const FoundList *found, Value *ret, size_t *ret_n) {
        scoped(buffer_deinit) Buffer numbers = {};
        const Value *only = found->is_many || found->items[0].value->type == VALUE_LIST ? NULL : found->items[0].value;
        size_t n;
        int r = 0;

        for (size_t i = 0; i < found->n && r == 0; i++)
                r = add_numbers(reading, scope, path, found->items[i].value, &numbers);
        if (r != 0)
                return r;
        n = numbers.n / sizeof(double);
        *ret_n = only ? 0 : n;
        *ret = n == 0 ? (Value){} : only && only->type != VALUE_STRING ? *only :
               (Value){ .type = VALUE_DOUBLE, .number = statistics_median_in_place((double *)(void *)numbers.text, n) };
        return 0;
}

/* The parts of an indicator. */
typedef struct Draft {
        Members parameters, results, units, samples;
} Draft;

static void draft_deinit(Draft *draft) {
        members_deinit(&draft->parameters);
        members_deinit(&draft->results);
        members_deinit(&draft->units);
        members_deinit(&draft->samples);
}

/* The name of a member: that of the option, in which * stands for the key. */
static const char *make_name(FormatReading *reading, const char *name, size_t n, const char *key) {
        const char *star = memchr(name, '*', n);
        char text[2 * KEY_MAX_BYTES + 2];
        int length;

        if (!star || !key)
                return arena_strndup(reading->arena, name, n);
        length = snprintf(text, sizeof(text), "%.*s%s%.*s", (int)(star - name), name, key, (int)(n - 1 - (size_t)(star - name)), star + 1);
        return arena_strndup(reading->arena, text, length < (int)sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

static int put_result(FormatReading *reading, const ElementScope *scope, Draft *draft, const char *name, const char *path,
                      const FoundList *found) {
        Value value, samples = { .type = VALUE_INT };
        size_t n;
        int r;

        r = reduce(reading, scope, path, found, &value, &n);
        if (r == 0)
                r = put_member(&draft->results, name, &value);
        samples.integer = (int64_t)n;
        return r == 0 && n > 0 ? put_member(&draft->samples, name, &samples) : r;
}

/* Several values of a parameter are a list. */
static int put_parameter(FormatReading *reading, Members *to, const char *name, const FoundList *found) {
        Value *items = arena_alloc(reading->arena, (found->n + 1) * sizeof(*items));

        if (!items)
                return -ENOMEM;
        for (size_t i = 0; i < found->n; i++)
                items[i] = *found->items[i].value;
        return put_member(to, name, found->is_many ? &(Value){ .type = VALUE_LIST, .items = items, .n_items = found->n } : items);
}

/* NAME=PATH of --parameter-from, --result-from or --unit-from. */
static int put_pair(FormatReading *reading, const ElementScope *scope, Draft *draft, const char *pair, Members *to) {
        scoped(found_deinit) FoundList found = {};
        size_t n = strcspn(pair, "=");
        const char *path = pair + n + 1;
        bool has_star = memchr(pair, '*', n), is_result = to == &draft->results;
        int r;

        r = find(reading, scope, path, &found);
        if (r != 0 || found.n == 0)
                return r;
        if (!has_star && is_result)
                return put_result(reading, scope, draft, make_name(reading, pair, n, NULL), path, &found);
        if (!has_star)
                return put_parameter(reading, to, make_name(reading, pair, n, NULL), &found);
        for (size_t i = 0; i < found.n && r == 0; i++) {
                const char *name = make_name(reading, pair, n, found.items[i].key);
                const FoundList one = { .items = &found.items[i], .n = 1 };

                r = is_result ? put_result(reading, scope, draft, name, path, &one) :
                                replace_member(to, name, found.items[i].value);
        }
        return r;
}

static int put_pairs(FormatReading *reading, const ElementScope *scope, Draft *draft, const OptionTexts *pairs, Members *to) {
        int r = 0;

        for (size_t i = 0; i < pairs->n && r == 0; i++)
                r = put_pair(reading, scope, draft, pairs->items[i], to);
        return r;
}

/* Finds the text of a path, also of a number. *ret is unchanged if the path is NULL, or what it names missing or null. */
static int find_text(FormatReading *reading, const ElementScope *scope, const char *path, const char **ret) {
        scoped(found_deinit) FoundList found = {};
        scoped(buffer_deinit) Buffer text = {};
        int r;

        r = path ? find(reading, scope, path, &found) : 0;
        if (r != 0 || found.n == 0 || found.items[0].value->type == VALUE_NULL)
                return r;
        if (found.items[0].value->type == VALUE_STRING) {
                *ret = found.items[0].value->string;
                return 0;
        }
        if (found.is_many || !value_is_scalar(found.items[0].value))
                return wrong(reading, scope, "'%s' is not a text", path);
        value_write_json(found.items[0].value, &(Json){ .out = &text });
        *ret = buffer_error(&text) == 0 ? arena_strndup(reading->arena, text.text, text.n) : NULL;
        return *ret ? 0 : -ENOMEM;
}

static int find_time(FormatReading *reading, const ElementScope *scope, uint64_t *ret_ms) {
        const char *text = NULL;
        uint64_t ns;
        double time;
        int r;

        r = find_text(reading, scope, reading->format->options.time_from, &text);
        if (r != 0 || !text)
                return r;
        if (parse_double(text, &time) == 0 && time >= 0 && time < 1e3 * SECONDS_MAX)
                *ret_ms = (uint64_t)(time < SECONDS_MAX ? time * 1e3 : time);
        else if (clock_parse_utc(text, &ns) == 0)
                *ret_ms = ns / NS_PER_MS;
        else
                return wrong(reading, scope, "'%s' is '%.40s', not a time in seconds or milliseconds since 1970, or by RFC 3339",
                             reading->format->options.time_from, text);
        return 0;
}

/* --- documents ------------------------------------------------------------------------------------ */

static int put_text(Members *members, const char *key, const char *text) {
        return text && *text ? put_member(members, key, &(Value){ .type = VALUE_STRING, .string = text }) : 0;
}

static int add_document(FormatReading *reading, const ElementScope *scope, const Draft *draft, const char *component, const char *version) {
        FormatResult *result = reading->result;
        scoped(members_deinit) Members document = {};
        FormatDocument added = { .line = reading->line };
        Value *value = arena_alloc(reading->arena, sizeof(*value)), part;
        int r;

        r = find_time(reading, scope, &added.time_ms);
        if (r == 0)
                r = put_text(&document, "name", reading->format->indicator);
        if (r == 0)
                r = put_text(&document, "component", component);
        if (r == 0)
                r = put_text(&document, "version", version);
        part = make_object(&draft->parameters, reading->arena);
        if (r == 0)
                r = put_member(&document, "@parameters", &part);
        part = make_object(&draft->results, reading->arena);
        if (r == 0)
                r = put_member(&document, "@result", &part);
        part = make_object(&draft->units, reading->arena);
        if (r == 0 && part.n_members > 0)
                r = put_member(&document, "units", &part);
        part = make_object(&draft->samples, reading->arena);
        if (r == 0 && part.n_members > 0)
                r = put_member(&document, "samples", &part);
        if (r == 0 && (!value || ARRAY_EXTEND(result->documents, result->n) < 0))
                r = -ENOMEM;
        if (r != 0)
                return r;

        *value = make_object(&document, reading->arena);
        added.value = value;
        result->documents[result->n++] = added;
        return value->members ? 0 : -ENOMEM;
}

/* True if an element meets the conditions of --where. What is missing is not equal to anything. */
static int is_selected(FormatReading *reading, const ElementScope *scope, bool *ret) {
        const OptionTexts *where = &reading->format->options.where;
        Condition condition;

        *ret = true;
        for (size_t i = 0; i < where->n && *ret; i++) {
                scoped(found_deinit) FoundList found = {};
                scoped(buffer_deinit) Buffer text = {};
                char path[sizeof(condition.key) + 3];
                const char *quoted;
                int r;

                if (condition_parse(where->items[i], &condition) != 0)
                        return wrong(reading, NULL, "--where %.80s: expected KEY=VALUE, or with != < <= > >=", where->items[i]);
                quoted = strncmp(condition.key, CONDITION_PARAMETERS, strlen(CONDITION_PARAMETERS)) == 0 ?
                         condition.key + strlen(CONDITION_PARAMETERS) : NULL;
                (void)snprintf(path, sizeof(path), quoted ? "\"%s\"?" : "%s?", quoted ?: condition.key);
                r = find(reading, scope, path, &found);
                if (r != 0)
                        return r;
                if (found.n > 0)
                        value_write_json(found.items[0].value, &(Json){ .out = &text });
                *ret = found.n > 0 ? condition_is_met(&condition, json_text(text.text, text.n)) : condition.relation == CONDITION_NOT_EQUAL;
        }
        return 0;
}

/* True if an option names the member. */
static bool is_named(const FormatOptions *options, const char *key) {
        const OptionTexts *pairs[] = { &options->parameters, &options->results, &options->units_from };
        const char *paths[] = { options->component_from, options->version_from, options->time_from };
        size_t n = strlen(key);

        for (size_t i = 0; i < N_ELEMENTS(pairs); i++)
                for (size_t k = 0; k < pairs[i]->n; k++) {
                        const char *path = strchr(pairs[i]->items[k], '=') + 1;

                        if (strncmp(path, key, n) == 0 && strchr("?.[", path[n]))
                                return true;
                }
        for (size_t i = 0; i < N_ELEMENTS(paths); i++)
                if (paths[i] && strncmp(paths[i], key, n) == 0 && strchr("?.[", paths[i][n]))
                        return true;
        return strcmp(key, "json") == 0 || strcmp(key, "component") == 0 || strcmp(key, "version") == 0;
}

/* Groups of a regular expression that no option names: numbers of a line are results, other texts and those of headings parameters. */
static int put_groups(FormatReading *reading, const ElementScope *scope, Draft *draft, const char **component, const char **version) {
        for (const ElementScope *from = scope; from; from = from->up)
                for (size_t i = 0; i < from->value->n_members; i++) {
                        const Member *group = &from->value->members[i];
                        bool is_result = from == scope && value_is_number(&group->value);
                        int r;

                        if (group->value.type == VALUE_STRING && strcmp(group->key, "component") == 0)
                                *component = *component ?: group->value.string;
                        if (group->value.type == VALUE_STRING && strcmp(group->key, "version") == 0)
                                *version = *version ?: group->value.string;
                        if (is_named(&reading->format->options, group->key) || (from != scope && value_get(scope->value, group->key)))
                                continue;
                        r = put_member(is_result ? &draft->results : &draft->parameters, group->key, &group->value);
                        if (r != 0)
                                return r;
                }
        return 0;
}

/* Adds the units of --unit, and removes those of absent results. */
static int put_units(FormatReading *reading, Draft *draft) {
        const Value results = { .type = VALUE_OBJECT, .members = draft->results.items, .n_members = draft->results.n };
        const OptionTexts *units = &reading->format->options.units;
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; i < units->n && r == 0; i++) {
                size_t n_name = strcspn(units->items[i], "=");
                const char *name = arena_strndup(reading->arena, units->items[i], n_name);

                r = name ? put_text(&draft->units, name, units->items[i] + n_name + 1) : -ENOMEM;
        }
        for (size_t i = 0; i < draft->units.n; i++)
                if (value_get(&results, draft->units.items[i].key))
                        draft->units.items[n++] = draft->units.items[i];
        draft->units.n = n;
        return r;
}

/* Makes the document of an element. */
static int take_element(FormatReading *reading, const ElementScope *scope) {
        const OutputFormat *format = reading->format;
        const FormatOptions *options = &format->options;
        const char *component = format->component, *version = NULL;
        scoped(draft_deinit) Draft draft = {};
        bool is_taken;
        int r;

        r = is_selected(reading, scope, &is_taken);
        if (r != 0 || !is_taken) {
                reading->result->n_left_out += r == 0;
                return r;
        }
        if (!component)
                r = find_text(reading, scope, options->component_from, &component);
        if (r == 0)
                r = find_text(reading, scope, options->version_from, &version);
        if (r == 0)
                r = put_pairs(reading, scope, &draft, &options->parameters, &draft.parameters);
        if (r == 0)
                r = put_pairs(reading, scope, &draft, &options->results, &draft.results);
        if (r == 0)
                r = put_pairs(reading, scope, &draft, &options->units_from, &draft.units);
        if (r == 0 && options->lines.n > 0)
                r = put_groups(reading, scope, &draft, &component, &version);
        if (r == 0)
                r = put_units(reading, &draft);
        if (r == 0 && draft.results.n == 0)
                return wrong(reading, scope, "has no result");
        return r == 0 ? add_document(reading, scope, &draft, component ?: format->default_component, version) : r;
}

/* --- JSON ----------------------------------------------------------------------------------------- */

/* Walks to the elements that --each names. */
static int walk(FormatReading *reading, const ElementScope *scope, const char *path, const char *p, const Value *value) {
        size_t n = value->type == VALUE_LIST ? value->n_items : value->type == VALUE_OBJECT ? value->n_members : 0;
        PathStep step = path_next(path, &p);
        int r = 0;

        if (step.kind == PATH_END)
                return take_element(reading, value == scope->value ? scope :
                                    &(ElementScope){ value, scope->key, scope->index, scope, true });
        if (step.kind != PATH_ALL) {
                value = step.kind == PATH_KEY ? get_member(value, &step) : get_item(value, step.index);
                return value ? walk(reading, scope, path, p, value) : wrong(reading, scope, "'%s' is missing", path);
        }
        for (size_t i = 0; i < n && r == 0; i++) {
                bool is_list = value->type == VALUE_LIST;
                const Value *item = is_list ? &value->items[i] : &value->members[i].value;
                const ElementScope inner = { item, is_list ? index_text(reading->arena, i) : value->members[i].key, i, scope, false };

                r = inner.key ? walk(reading, &inner, path, p, item) : -ENOMEM;
        }
        return r;
}

/* Without --each, the elements are the values of the input, or the items of its lists. */
static int take_value(FormatReading *reading, const Value *value) {
        const ElementScope scope = { .value = value, .key = "" };
        const char *each = reading->format->options.each ?: value->type == VALUE_LIST ? "[]" : NULL;

        return each ? walk(reading, &scope, each, each, value) : take_element(reading, &scope);
}

static int read_json(FormatReading *reading, const char *text, size_t n) {
        ValueReader reader;
        ValueError error;
        int r = 0;

        value_parse_begin(&reader, text, n);
        while (r == 0 && value_parse_seek(&reader)) {
                const Value *value;

                r = value_parse_next(&reader, reading->arena, &value, &error);
                if (r == VALUE_MALFORMED) {
                        reading->line = error.line;
                        return wrong(reading, NULL, "column %u: %s", error.column, error.text);
                }
                if (r != 0)
                        return -ENOMEM;
                reading->line = reader.begin_line;
                r = take_value(reading, value);
        }
        return r;
}

/* --- text ----------------------------------------------------------------------------------------- */

/* An expression, and its next match. */
typedef struct LinePattern {
        Regex *regex; /* owned */
        bool is_heading, has_match, is_done;
        RegexMatch match;
} LinePattern;

typedef struct LinePatterns {
        LinePattern items[2 * OPTION_TEXTS_MAX];
        size_t n;
} LinePatterns;

static void patterns_deinit(LinePatterns *patterns) {
        for (size_t i = 0; i < patterns->n; i++)
                regex_free(patterns->items[i].regex);
}

static int add_patterns(FormatReading *reading, LinePatterns *patterns, const OptionTexts *texts, bool is_heading) {
        char error[REGEX_ERROR_MAX];
        int r = 0;

        for (size_t i = 0; i < texts->n && r == 0; i++) {
                patterns->items[patterns->n] = (LinePattern){ .is_heading = is_heading };
                r = regex_new(&patterns->items[patterns->n].regex, texts->items[i], error);
                patterns->n += r == 0;
        }
        return r == REGEX_WRONG ? wrong(reading, NULL, "%s", error) : r;
}

/* A text that reads as a number is one; NaN and infinity are null. The group `json` is JSON. */
static int read_group(FormatReading *reading, const RegexGroup *group, const char *text, Value *ret) {
        size_t n = group->end - group->begin;
        char *copy = arena_strndup(reading->arena, text + group->begin, n);
        JsonText json = { copy, n };
        const Value *value;
        ValueReader reader;
        ValueError error;
        int64_t integer;
        double number;

        if (!copy)
                return -ENOMEM;
        *ret = (Value){ .type = VALUE_STRING, .string = copy };
        if (strcmp(group->name, "version") == 0 || strcmp(group->name, "component") == 0)
                return utf8_is_valid(copy, n) ? 0 : wrong(reading, NULL, "group '%s' is not UTF-8", group->name);
        if (json_text_int(json, &integer))
                *ret = (Value){ .type = VALUE_INT, .integer = integer };
        else if (parse_double(copy, &number) == 0)
                *ret = (Value){ .type = VALUE_DOUBLE, .number = number };
        else if (strcmp(group->name, "json") == 0) {
                value_parse_begin(&reader, copy, n);
                if (value_parse_next(&reader, reading->arena, &value, &error) != 0)
                        return wrong(reading, NULL, "%s", error.text);
                *ret = *value;
        } else if (!utf8_is_valid(copy, n))
                return wrong(reading, NULL, "group '%s' is not UTF-8", group->name);
        return 0;
}

static int read_groups(FormatReading *reading, const RegexMatch *match, const char *text, Members *ret) {
        int r = 0;

        for (size_t i = 0; i < match->n_groups && r == 0; i++) {
                const RegexGroup *group = &match->groups[i];
                size_t k = 0;
                Value value;

                if (group->begin == SIZE_MAX)
                        continue;
                r = read_group(reading, group, text, &value);
                while (k < ret->n && strcmp(ret->items[k].key, group->name) != 0)
                        k++;
                if (r == 0 && k < ret->n)
                        ret->items[k].value = value;
                else if (r == 0)
                        r = put_member(ret, arena_strndup(reading->arena, group->name, strlen(group->name)), &value);
        }
        return r;
}

static int take_match(FormatReading *reading, const LinePattern *pattern, const char *text, Members *headings) {
        scoped(members_deinit) Members groups = {};
        Value element, heading;
        ElementScope outer = { .value = &heading, .key = "" }, inner = { .value = &element, .key = "", .up = &outer };
        int r;

        if (pattern->is_heading)
                return read_groups(reading, &pattern->match, text, headings);
        r = read_groups(reading, &pattern->match, text, &groups);
        if (r != 0)
                return r;
        element = make_object(&groups, reading->arena);
        heading = make_object(headings, reading->arena);
        if (!element.members || !heading.members)
                return -ENOMEM;
        return take_element(reading, &inner);
}

/* Finds the first match of all expressions from a place on. *ret NULL: none. */
static int find_match(FormatReading *reading, LinePatterns *patterns, const char *text, size_t n, size_t from, LinePattern **ret) {
        char error[REGEX_ERROR_MAX];

        *ret = NULL;
        for (size_t i = 0; i < patterns->n; i++) {
                LinePattern *pattern = &patterns->items[i];
                int r;

                if (!pattern->is_done && !(pattern->has_match && pattern->match.begin >= from)) {
                        r = regex_find(pattern->regex, text, n, from, &pattern->match, error);
                        if (r == REGEX_WRONG)
                                return wrong(reading, NULL, "%s", error);
                        pattern->is_done = r == REGEX_NONE;
                        pattern->has_match = r == 0;
                }
                if (!pattern->is_done && (!*ret || pattern->match.begin < (*ret)->match.begin))
                        *ret = pattern;
        }
        return 0;
}

/* Each match is a document, and the next one begins on a later line. */
static int read_lines(FormatReading *reading, const char *text, size_t n) {
        scoped(patterns_deinit) LinePatterns patterns = {};
        scoped(members_deinit) Members headings = {};
        size_t from = 0, counted = 0;
        LinePattern *pattern;
        int r;

        r = add_patterns(reading, &patterns, &reading->format->options.headings, true);
        if (r == 0)
                r = add_patterns(reading, &patterns, &reading->format->options.lines, false);
        for (reading->line = 1; r == 0 && from < n;) {
                const char *end;

                r = find_match(reading, &patterns, text, n, from, &pattern);
                if (r != 0 || !pattern)
                        break;
                for (; counted < pattern->match.begin; counted++)
                        reading->line += text[counted] == '\n';
                r = take_match(reading, pattern, text, &headings);
                end = pattern->match.end > from ? text + pattern->match.end - (pattern->match.end > pattern->match.begin) : text + from;
                end = memchr(end, '\n', (size_t)(text + n - end));
                from = end ? (size_t)(end - text) + 1 : n;
        }
        return r;
}

int format_read(const OutputFormat *format, const char *text, size_t n, Arena *arena, FormatResult *ret) {
        FormatReading reading = { .format = format, .arena = arena, .result = ret, .line = 1 };
        int r;

        *ret = (FormatResult){};
        r = format->options.lines.n > 0 ? read_lines(&reading, text, n) : read_json(&reading, text, n);
        if (r == 0 && ret->n == 0)
                return wrong(&reading, NULL, ret->n_left_out > 0 ? "--where leaves out all elements (%zu)" : "has nothing of this format",
                             ret->n_left_out);
        return r;
}

size_t format_arena_size(size_t n) {
        return value_parse_arena_size(n) + 256 * n + (16U << 20);
}
