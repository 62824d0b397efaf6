/* SPDX-License-Identifier: Apache-2.0 */
#include "client/format/format.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "client/format/regex.h"
#include "document/condition.h"
#include "document/path.h"
#include "text/text.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/scoped.h"
#include "util/utf8.h"
#include "value/value_parse.h"

#define REPLACED_MAX 1000U /* members among which one of the same name is sought */
#define SECONDS_MAX 1e11 /* a larger time is in milliseconds */

/* An element of the input, and what encloses it: names that it has not are those of the value around it. */
typedef struct ElementScope {
        const Value *value;
        const char *key; /* name or index in the value around it; NULL: the whole input */
        size_t index;
        const struct ElementScope *up;
        bool is_inner; /* the path goes on within the value around it, which has the same key */
} ElementScope;

typedef struct Members {
        Member *items; /* owned */
        size_t n, n_allocated;
} Members;

/* The values at the end of a path, and their names or indexes at its first [] or [*]. */
typedef struct FoundValues {
        struct {
                const Value *value;
                const char *key; /* NULL: none */
        } *items; /* owned */
        size_t n, n_allocated;
        bool is_many; /* the path has [] or [*] */
} FoundValues;

/* All that is needed to read a text. After an error, nothing more is done. */
typedef struct FormatReading {
        const OutputFormat *format;
        Arena *arena;
        FormatResult *result;
        unsigned line;         /* of the element */
        const ElementScope *at; /* the element */
        Members headings, parameters, results, units, samples;
        const char *unmet; /* borrowed from the format: the condition that left out the element, or results of it */
        bool is_misfit;    /* --each does not fit the value */
        FoundValues found; /* of the path that was followed last */
        int r;
} FormatReading;

void format_deinit(OutputFormat *format) {
        buffer_deinit(&format->text);
}

void format_result_deinit(FormatResult *result) {
        free(result->documents);
}

static void reading_deinit(FormatReading *reading) {
        Members *members[] = { &reading->headings, &reading->parameters, &reading->results, &reading->units,
                               &reading->samples };

        for (size_t i = 0; i < N_ELEMENTS(members); i++)
                free(members[i]->items);
        free(reading->found.items);
}

/* Names the element within its input: "[3][sys]: …". */
__attribute__((format(printf, 2, 3))) static void wrong(FormatReading *reading, const char *format, ...) {
        char text[FORMAT_ERROR_MAX / 2 - 2], place[FORMAT_ERROR_MAX / 2] = "", within[FORMAT_ERROR_MAX / 2];
        va_list args;

        if (reading->r != 0)
                return;
        va_start(args, format);
        utf8_vformat(text, sizeof(text), format, args);
        va_end(args);
        for (const ElementScope *scope = reading->at; scope && scope->key; scope = scope->up) {
                memcpy(within, place, sizeof(within));
                if (!scope->is_inner)
                        (void)snprintf(place, sizeof(place), "[%.60s]%.180s", scope->key, within);
        }
        (void)snprintf(reading->result->error, FORMAT_ERROR_MAX, "%s%s%s", place, place[0] ? ": " : "", text);
        reading->result->line = reading->line;
        reading->r = FORMAT_WRONG;
}

/* Copies a text of n bytes; "" without memory. */
static const char *copy_text(FormatReading *reading, const char *text, size_t n) {
        const char *copy = arena_strndup(reading->arena, text, n);

        if (!copy)
                reading->r = -ENOMEM;
        return copy ?: "";
}

static const char *index_text(FormatReading *reading, size_t index) {
        char text[24];

        return copy_text(reading, text, (size_t)snprintf(text, sizeof(text), "%zu", index));
}

/* Puts a member, in place of one of the same name: options of a job precede those of all jobs. */
static void put(FormatReading *reading, Members *members, const char *key, Value value) {
        size_t i = members->n < REPLACED_MAX ? 0 : members->n;

        while (i < members->n && strcmp(members->items[i].key, key) != 0)
                i++;
        if (i == members->n && ARRAY_RESERVE(members->items, members->n_allocated, i + 1) < 0) {
                reading->r = -ENOMEM;
                return;
        }
        members->n += i == members->n;
        members->items[i] = (Member){ key, value };
}

static Value text_value(const char *text) {
        return (Value){ .type = VALUE_STRING, .string = text };
}

static Value object_value(FormatReading *reading, const Members *members) {
        Member *copy = arena_alloc(reading->arena, (members->n + 1) * sizeof(*copy));

        if (!copy) {
                reading->r = -ENOMEM;
                return (Value){};
        }
        for (size_t i = 0; i < members->n; i++)
                copy[i] = members->items[i];
        return (Value){ .type = VALUE_OBJECT, .members = copy, .n_members = members->n };
}

/* --- paths ---------------------------------------------------------------------------------------- */

/* The number of items of a list, or of members of an object. */
static size_t count(const Value *value) {
        return value->type == VALUE_LIST ? value->n_items : value->type == VALUE_OBJECT ? value->n_members : 0;
}

static const Value *get_nth(FormatReading *reading, const Value *value, size_t i, const char **ret_key) {
        *ret_key = value->type == VALUE_LIST ? index_text(reading, i) : value->members[i].key;
        return value->type == VALUE_LIST ? &value->items[i] : &value->members[i].value;
}

static void add_found(FormatReading *reading, const Value *value, const char *key) {
        FoundValues *found = &reading->found;

        if (ARRAY_RESERVE(found->items, found->n_allocated, found->n + 1) < 0) {
                reading->r = -ENOMEM;
                return;
        }
        found->items[found->n].value = value;
        found->items[found->n++].key = key;
}

/* The combination of the items of lists that the element is, as for loops over the lists make them, the last one
 * fastest. */
static void follow_product(FormatReading *reading, const Value *lists) {
        size_t index = reading->at->index;

        for (size_t i = lists->type == VALUE_LIST ? lists->n_items : 0; i > 0; i--) {
                const Value *items = &lists->items[i - 1];

                if (items->type != VALUE_LIST || items->n_items == 0) {
                        wrong(reading, "[*] is for a list of lists that are not empty");
                        return;
                }
                add_found(reading, &items->items[index % items->n_items], index_text(reading, i - 1));
                index /= items->n_items;
        }
        if (index > 0 && lists->type == VALUE_LIST)
                wrong(reading, "the lists of [*] have fewer combinations than there are elements");
}

/* Follows the path, from p on. A name that is missing ends it, and an item without it is left out. */
static void follow(FormatReading *reading, const char *path, const char *p, const Value *value, const char *key) {
        PathStep step = {};
        const char *name;

        while (value && (step = path_next(path, &p)).kind != PATH_END && step.kind != PATH_ALL &&
               step.kind != PATH_PRODUCT)
                value = path_get(value, &step);
        if (!value || reading->r != 0)
                return;
        reading->found.is_many |= step.kind != PATH_END;
        if (step.kind == PATH_END)
                add_found(reading, value, key);
        else if (step.kind == PATH_PRODUCT)
                follow_product(reading, value);
        else
                for (size_t i = 0; i < count(value); i++) {
                        const Value *item = get_nth(reading, value, i, &name);

                        follow(reading, path, p, item, key ?: name);
                }
}

/* @key, the name or index of the element, or @key[1], that of what encloses it. */
static void find_key(FormatReading *reading, const char *path, const char *p) {
        PathStep level = path_next(path, &p);
        const ElementScope *scope = reading->at;
        Value *key = arena_alloc(reading->arena, sizeof(*key));

        for (size_t i = level.kind == PATH_INDEX ? level.index : 0; scope && (i > 0 || scope->is_inner);
             scope = scope->up)
                i -= !scope->is_inner;
        if (!key || !scope || !scope->key)
                return;
        *key = text_value(scope->key);
        add_found(reading, key, NULL);
}

/*
 * Finds the values of a path: in the element, which @ names, or in what encloses it. path: with ? at the end if it
 * may be missing. Returns false if there is none.
 */
static bool find(FormatReading *reading, const char *path) {
        const char *p = path;
        PathStep step = path_next(path, &p);
        bool is_special = step.kind == PATH_KEY && *step.key == '@';

        reading->found.n = 0;
        reading->found.is_many = false;
        if (is_special && step.n == 4 && memcmp(step.key, "@key", 4) == 0)
                find_key(reading, path, p);
        else if (is_special && step.n == 1)
                follow(reading, path, p, reading->at->value, NULL);
        else
                for (const ElementScope *at = reading->at; at && reading->r == 0 && reading->found.n == 0;
                     at = step.kind == PATH_ALL ? NULL : at->up)
                        follow(reading, path, path, at->value, NULL);
        if (reading->found.n == 0 && path[strlen(path) - 1] != '?')
                wrong(reading, "'%s' is missing", path);
        return reading->r == 0 && reading->found.n > 0;
}

/* --- values --------------------------------------------------------------------------------------- */

/* The numbers of a value, also of lists in lists. A text that is a number counts, null and an empty
 * text do not. */
static void add_numbers(FormatReading *reading, const char *path, const Value *value, Buffer *numbers) {
        double number = value_is_number(value) ? value_number(value) : NAN;

        for (size_t i = 0; value->type == VALUE_LIST && i < value->n_items; i++)
                add_numbers(reading, path, &value->items[i], numbers);
        bool is_null = value->type == VALUE_NULL || (value->type == VALUE_STRING && !*value->string);

        reading->result->n_null += is_null;
        if (value->type == VALUE_LIST || is_null)
                return;
        if (value->type == VALUE_STRING && parse_double(value->string, &number) != 0)
                wrong(reading, "'%s' is '%.40s', not a number%s", path, value->string,
                      parse_is_decimal_comma(value->string) ? ": decimal comma?" : "");
        else if (!isfinite(number))
                wrong(reading, "'%s' is %s, not a number", path, value_type_text(value));
        buffer_put(numbers, &number, sizeof(number));
}

/* Puts the result of the found values from `first` to `end`. A number or a boolean stays as it is. Of a list of
 * samples, the median counts. */
static void put_result(FormatReading *reading, const char *name, const char *path, size_t first, size_t end) {
        scoped(buffer_deinit) Buffer numbers = {};
        const Value *value = reading->found.items[first].value;
        bool is_list = reading->found.is_many || value->type == VALUE_LIST;
        size_t n;

        if (!is_list && value->type == VALUE_BOOL) {
                put(reading, &reading->results, name, *value);
                return;
        }
        for (size_t i = first; i < end; i++)
                add_numbers(reading, path, reading->found.items[i].value, &numbers);
        n = numbers.n / sizeof(double);
        if (reading->r == 0)
                reading->r = buffer_error(&numbers);
        if (reading->r != 0)
                return;
        put(reading, &reading->results, name, n == 0 ? (Value){} : !is_list && value->type != VALUE_STRING ? *value :
            (Value){ .type = VALUE_DOUBLE, .number = statistics_median_in_place((double *)(void *)numbers.text, n) });
        if (is_list && n > 0)
                put(reading, &reading->samples, name, (Value){ .type = VALUE_INT, .integer = (int64_t)n });
}

static bool has_result(const FormatReading *reading, const char *name) {
        const Value results = { .type = VALUE_OBJECT,
                                .members = reading->results.items,
                                .n_members = reading->results.n };

        return value_get(&results, name);
}

static bool is_met_by(const Condition *condition, const Value *value) {
        static const Value missing = {};
        scoped(buffer_deinit) Buffer text = {};

        value_write_json(value ?: &missing, &(Json){ .out = &text });
        return buffer_error(&text) == 0 && condition_is_met(condition, json_text(text.text, text.n));
}

/* True if all values that a condition names meet it. What is missing is null; with ? at its end, the condition is
 * about what is there. */
static bool meets(FormatReading *reading, const Condition *condition) {
        const char *quoted = strncmp(condition->key, CONDITION_PARAMETERS, strlen(CONDITION_PARAMETERS)) == 0 ?
                             condition->key + strlen(CONDITION_PARAMETERS) : NULL;
        bool is_met = true, is_optional = !quoted && condition->key[strlen(condition->key) - 1] == '?';
        char path[sizeof(condition->key) + 3];

        (void)snprintf(path, sizeof(path), quoted ? "\"%s\"?" : is_optional ? "%s" : "%s?", quoted ?: condition->key);
        if (!find(reading, path))
                return is_optional || is_met_by(condition, NULL);
        for (size_t i = 0; i < reading->found.n && is_met; i++)
                is_met = is_met_by(condition, reading->found.items[i].value);
        return is_met;
}

/* True if the conditions about a result are met. */
static bool is_measured(FormatReading *reading, const char *name) {
        const OptionTexts *where = &reading->format->options.results_where;
        Condition condition;

        for (size_t i = 0; i < where->n; i++) {
                size_t n = strcspn(where->items[i], "=");

                if (fnmatch(copy_text(reading, where->items[i], n), name, 0) == 0 &&
                    condition_parse(where->items[i] + n + 1, &condition) == 0 && !meets(reading, &condition)) {
                        reading->unmet = reading->unmet ?: where->items[i];
                        return false;
                }
        }
        return true;
}

/* Puts the found value i as a parameter or unit; several values of a parameter are a list. */
static void put_value(FormatReading *reading, Members *to, const char *name, size_t i) {
        FoundValues *found = &reading->found;
        Value *items = found->is_many ? arena_alloc(reading->arena, found->n * sizeof(*items)) : NULL;

        if (to == &reading->units && !has_result(reading, name))
                return;
        for (size_t k = 0; items && k < found->n; k++)
                items[k] = *found->items[k].value;
        put(reading, to, name,
            items ? (Value){ .type = VALUE_LIST, .items = items, .n_items = found->n } : *found->items[i].value);
}

/* Takes NAME=PATH. In a name with *, the key of each value stands for it; the values are single ones then. */
static void put_pair(FormatReading *reading, const char *pair, Members *to) {
        size_t n = strcspn(pair, "=");
        const char *path = pair + n + 1, *star = memchr(pair, '*', n), *name = copy_text(reading, pair, n);
        bool is_result = to == &reading->results;
        bool is_wanted = !is_result || is_measured(reading, name);
        size_t n_found = is_wanted && find(reading, path) ? reading->found.n : 0, n_each = star ? 1 : n_found;

        reading->found.is_many &= !star;
        for (size_t i = 0; i < n_found && reading->r == 0; i += n_each) {
                char text[2 * KEY_MAX_BYTES + 2];
                int k = star ? snprintf(text, sizeof(text), "%.*s%.*s%s", (int)(star - pair), pair, (int)KEY_MAX_BYTES,
                                        reading->found.items[i].key ?: "", name + (star - pair) + 1) : 0;

                if (star)
                        name = copy_text(reading, text, (size_t)k);
                if (is_result)
                        put_result(reading, name, path, i, i + n_each);
                else
                        put_value(reading, to, name, i);
                name = star ? copy_text(reading, pair, n) : name;
        }
}

static void put_pairs(FormatReading *reading, const OptionTexts *pairs, Members *to) {
        for (size_t i = 0; i < pairs->n; i++)
                put_pair(reading, pairs->items[i], to);
}

/* Finds the text of a path, also of a number. NULL: the path is NULL, or what it names missing or null. */
static const char *find_text(FormatReading *reading, const char *path) {
        scoped(buffer_deinit) Buffer text = {};
        const Value *value = path && find(reading, path) ? reading->found.items[0].value : NULL;

        if (!value || value->type == VALUE_NULL || value->type == VALUE_STRING)
                return value && value->type == VALUE_STRING && *value->string ? value->string : NULL;
        if (reading->found.is_many || !value_is_scalar(value))
                wrong(reading, "'%s' is not a text", path);
        value_write_json(value, &(Json){ .out = &text });
        return buffer_error(&text) == 0 ? copy_text(reading, text.text, text.n) : NULL;
}

static uint64_t find_time_ms(FormatReading *reading) {
        const char *path = reading->format->options.time_from, *text = find_text(reading, path);
        uint64_t ns = 0;
        double time;

        if (!text)
                return 0;
        if (parse_double(text, &time) == 0 && time >= 0 && time < 1e3 * SECONDS_MAX)
                return (uint64_t)(time < SECONDS_MAX ? time * 1e3 : time);
        if (clock_parse_utc(text, &ns) != 0)
                wrong(reading, "'%s' is '%.40s', not a time in seconds or milliseconds since 1970, or by RFC 3339",
                      path, text);
        return ns / NS_PER_MS;
}

/* --- elements ------------------------------------------------------------------------------------- */

/* True if the element meets the conditions of --where. */
static bool is_selected(FormatReading *reading) {
        const OptionTexts *where = &reading->format->options.where;
        Condition condition;
        bool is_met = true;

        reading->unmet = NULL;
        for (size_t i = 0; i < where->n && is_met && condition_parse(where->items[i], &condition) == 0; i++) {
                is_met = meets(reading, &condition);
                reading->unmet = is_met ? NULL : where->items[i];
        }
        return is_met;
}

/* True if a path of an option begins with the name. */
static bool is_named(const FormatOptions *options, const char *name) {
        const OptionTexts *pairs[] = { &options->parameters, &options->results, &options->units_from };
        const char *paths[] = { options->component_from, options->version_from, options->time_from };
        bool is_found = strcmp(name, "json") == 0 || strcmp(name, "component") == 0 || strcmp(name, "version") == 0;
        size_t n = strlen(name);

        for (size_t i = 0; i < N_ELEMENTS(pairs); i++)
                for (size_t k = 0; k <= pairs[i]->n; k++) {
                        const char *path = k < pairs[i]->n ? strchr(pairs[i]->items[k], '=') + 1 : paths[i] ?: "";

                        is_found |= strncmp(path, name, n) == 0 && strchr("?.[", path[n]);
                }
        return is_found;
}

/* Groups of a regular expression that no option names: numbers of a line are results, other texts and those of
 * headings parameters. */
static void put_groups(FormatReading *reading) {
        for (const ElementScope *scope = reading->at; scope; scope = scope->up)
                for (size_t i = 0; i < scope->value->n_members; i++) {
                        const Member *group = &scope->value->members[i];
                        bool is_line = scope == reading->at;

                        if (!is_named(&reading->format->options, group->key) &&
                            (is_line || !value_get(reading->at->value, group->key)))
                                put(reading,
                                    is_line && value_is_number(&group->value) ? &reading->results
                                                                              : &reading->parameters,
                                    group->key, group->value);
                }
}

static void put_units(FormatReading *reading) {
        const OptionTexts *units = &reading->format->options.units;

        for (size_t i = 0; i < units->n; i++) {
                size_t n = strcspn(units->items[i], "=");
                const char *name = copy_text(reading, units->items[i], n);

                if (has_result(reading, name))
                        put(reading, &reading->units, name, text_value(units->items[i] + n + 1));
        }
        put_pairs(reading, &reading->format->options.units_from, &reading->units);
}

static void add_document(FormatReading *reading, const char *component, const char *version) {
        const struct {
                const char *key;
                const Members *members;
                bool is_optional;
        } parts[] = { { "@parameters", &reading->parameters, false }, { "@result", &reading->results, false },
                      { "units", &reading->units, true }, { "samples", &reading->samples, true } };
        FormatDocument added = { .line = reading->line, .time_ms = find_time_ms(reading) };
        Value *value = arena_alloc(reading->arena, sizeof(*value));
        Members document = {};

        put(reading, &document, "name", text_value(reading->format->indicator));
        if (component)
                put(reading, &document, "component", text_value(component));
        if (version)
                put(reading, &document, "version", text_value(version));
        for (size_t i = 0; i < N_ELEMENTS(parts); i++)
                if (!parts[i].is_optional || parts[i].members->n > 0)
                        put(reading, &document, parts[i].key, object_value(reading, parts[i].members));
        if (!value || ARRAY_EXTEND(reading->result->documents, reading->result->n) < 0)
                reading->r = -ENOMEM;
        if (reading->r == 0) {
                *value = object_value(reading, &document);
                added.value = value;
                reading->result->documents[reading->result->n++] = added;
        }
        free(document.items);
}

static void refuse_empty(FormatReading *reading) {
        for (size_t i = 0; i < reading->parameters.n; i++) {
                const Member *parameter = &reading->parameters.items[i];

                if (parameter->value.type == VALUE_STRING && parse_is_decimal_comma(parameter->value.string)) {
                        wrong(reading, "has no result: '%.60s' is '%.40s', not a number: decimal comma?",
                              parameter->key, parameter->value.string);
                        return;
                }
        }
        wrong(reading, "has no result");
}

static void leave_out(FormatReading *reading) {
        reading->result->n_left_out++;
        reading->result->left_out_by = reading->result->left_out_by ?: reading->unmet ?: "it is null";
}

/* Makes the document of an element. */
static void take_element(FormatReading *reading, const ElementScope *element) {
        const OutputFormat *format = reading->format;
        const FormatOptions *options = &format->options;
        bool is_text = options->lines.n > 0;
        const char *component, *version;

        reading->at = element;
        reading->parameters.n = reading->results.n = reading->units.n = reading->samples.n = 0;
        if (!is_selected(reading)) {
                leave_out(reading);
                return;
        }
        component = format->component ?: find_text(reading, options->component_from ?: is_text ? "component?" : NULL);
        version = find_text(reading, options->version_from ?: is_text ? "version?" : NULL);
        put_pairs(reading, &options->parameters, &reading->parameters);
        put_pairs(reading, &options->results, &reading->results);
        if (is_text)
                put_groups(reading);
        put_units(reading);
        if (reading->results.n == 0 && reading->unmet)
                leave_out(reading);
        else if (reading->results.n == 0)
                refuse_empty(reading);
        else if (reading->r == 0)
                add_document(reading, component ?: format->default_component, version);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

/* Walks to the elements that --each names. One that is null, as of a test that failed, is left out; a number or text
 * of a list or object where the path goes on is one. */
static void walk(FormatReading *reading, const ElementScope *scope, const char *path, const char *p,
                 const Value *value) {
        PathStep step = path_next(path, &p);

        for (; step.kind == PATH_KEY || step.kind == PATH_INDEX; step = path_next(path, &p)) {
                if (value->type == VALUE_NULL)
                        break;
                if (value_is_scalar(value) && value == scope->value && scope->up) {
                        take_element(reading, scope);
                        return;
                }
                value = path_get(value, &step);
                if (!value) {
                        reading->at = scope;
                        reading->is_misfit = true;
                        wrong(reading, "'%s' is missing", path);
                        return;
                }
        }
        if (step.kind != PATH_END && value->type == VALUE_NULL && scope->up) {
                reading->unmet = NULL;
                leave_out(reading);
                return;
        }
        if (step.kind == PATH_END)
                take_element(reading, value == scope->value ? scope :
                                      &(ElementScope){ value, scope->key, scope->index, scope, true });
        for (size_t i = 0; step.kind == PATH_ALL && i < count(value) && reading->r == 0; i++) {
                const char *key;
                const Value *item = get_nth(reading, value, i, &key);

                walk(reading, &(ElementScope){ item, key, i, scope, false }, path, p, item);
        }
}

/* Walks by the first of several paths that fits. */
static void walk_first(FormatReading *reading, const OptionTexts *paths, const Value *value) {
        const FormatResult before = *reading->result;

        for (size_t i = 0; i < paths->n && (i == 0 || reading->is_misfit); i++) {
                reading->result->n = before.n;
                reading->result->n_left_out = before.n_left_out;
                reading->result->n_null = before.n_null;
                reading->r = reading->is_misfit ? 0 : reading->r;
                reading->is_misfit = false;
                reading->result->error[0] = '\0';
                walk(reading, &(ElementScope){ .value = value }, paths->items[i], paths->items[i], value);
        }
}

/* Without --each, the elements are the values of the input, or the items of its lists. */
static void read_json(FormatReading *reading, const char *text, size_t n) {
        ValueReader reader;
        ValueError error;
        const Value *value;
        int r;

        value_parse_begin(&reader, text, n);
        while (reading->r == 0 && value_parse_seek(&reader)) {
                r = value_parse_next(&reader, reading->arena, &value, &error);
                reading->line = r == VALUE_MALFORMED ? error.line : reader.begin_line;
                reading->at = NULL;
                if (r == VALUE_MALFORMED)
                        wrong(reading, "column %u: %s", error.column, error.text);
                else if (r != 0)
                        reading->r = -ENOMEM;
                else if (reading->format->options.each.n > 0)
                        walk_first(reading, &reading->format->options.each, value);
                else
                        walk_first(reading, &(OptionTexts){ { value->type == VALUE_LIST ? "[]" : "" }, 1 }, value);
        }
}

/* --- text ----------------------------------------------------------------------------------------- */

/* An expression, and its next match. */
typedef struct LinePattern {
        Regex *regex; /* owned */
        bool is_heading, has_match, is_done;
        bool begins_run; /* the first heading: those of the run before are forgotten */
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

static void add_patterns(FormatReading *reading, LinePatterns *patterns, const OptionTexts *texts, bool is_heading) {
        char error[REGEX_ERROR_MAX];

        for (size_t i = 0; i < texts->n && reading->r == 0; i++) {
                LinePattern *pattern = &patterns->items[patterns->n];
                int r;

                *pattern = (LinePattern){ .is_heading = is_heading, .begins_run = is_heading && i == 0 };
                r = regex_new(&pattern->regex, texts->items[i], error);
                if (r == REGEX_WRONG)
                        wrong(reading, "%s", error);
                else if (r != 0)
                        reading->r = r;
                else
                        patterns->n++;
        }
}

/* Reads a group. A text that reads as a number is one, except that of a version. The group `json` is JSON. */
static Value read_group(FormatReading *reading, const RegexGroup *group, const char *text) {
        size_t n = group->end - group->begin;
        const char *copy = copy_text(reading, text + group->begin, n);
        bool is_text = strcmp(group->name, "version") == 0 || strcmp(group->name, "component") == 0;
        Value value = text_value(copy);
        const Value *parsed;
        ValueReader reader;
        ValueError error;

        if (is_text || json_text_int((JsonText){ copy, n }, &value.integer)) {
                value.type = is_text ? VALUE_STRING : VALUE_INT;
        } else if (parse_double(copy, &value.number) == 0)
                value.type = VALUE_DOUBLE;
        else if (strcmp(group->name, "json") == 0) {
                value_parse_begin(&reader, copy, n);
                if (value_parse_next(&reader, reading->arena, &parsed, &error) == 0)
                        return *parsed;
                wrong(reading, "%s", error.text);
        }
        return value;
}

static void take_match(FormatReading *reading, const LinePattern *pattern, const char *text) {
        Members groups = {}, *to = pattern->is_heading ? &reading->headings : &groups;
        Value element, heading;

        reading->at = NULL;
        if (pattern->begins_run)
                reading->headings.n = 0;
        for (size_t i = 0; i < pattern->match.n_groups; i++) {
                const RegexGroup *group = &pattern->match.groups[i];

                if (group->begin != SIZE_MAX)
                        put(reading, to, copy_text(reading, group->name, strlen(group->name)),
                            read_group(reading, group, text));
        }
        element = object_value(reading, &groups);
        heading = object_value(reading, &reading->headings);
        free(groups.items);
        if (!pattern->is_heading && reading->r == 0)
                take_element(reading, &(ElementScope){ .value = &element, .up = &(ElementScope){ .value = &heading } });
}

/* Finds the first match of all expressions from a place on. NULL: none. */
static const LinePattern *find_match(FormatReading *reading, LinePatterns *patterns, const char *text, size_t n,
                                     size_t from) {
        const LinePattern *first = NULL;
        char error[REGEX_ERROR_MAX];

        for (size_t i = 0; i < patterns->n && reading->r == 0; i++) {
                LinePattern *pattern = &patterns->items[i];
                int r = 0;

                if (!pattern->is_done && !(pattern->has_match && pattern->match.begin >= from)) {
                        r = regex_find(pattern->regex, text, n, from, &pattern->match, error);
                        pattern->is_done = r != 0;
                        pattern->has_match = r == 0;
                }
                if (r == REGEX_WRONG)
                        wrong(reading, "%s", error);
                if (!pattern->is_done && (!first || pattern->match.begin < first->match.begin))
                        first = pattern;
        }
        return reading->r == 0 ? first : NULL;
}

/* Each match is a document, and the next one begins on a later line. */
static void read_lines(FormatReading *reading, const char *text, size_t n) {
        scoped(patterns_deinit) LinePatterns patterns = {};
        const LinePattern *pattern;
        size_t counted = 0;

        add_patterns(reading, &patterns, &reading->format->options.headings, true);
        add_patterns(reading, &patterns, &reading->format->options.lines, false);
        for (size_t from = 0; from < n && (pattern = find_match(reading, &patterns, text, n, from));) {
                size_t last = pattern->match.end > pattern->match.begin ? pattern->match.end - 1 : pattern->match.end;
                const char *end = memchr(text + last, '\n', n - last);

                for (; counted < pattern->match.begin; counted++)
                        reading->line += text[counted] == '\n';
                take_match(reading, pattern, text);
                from = end ? (size_t)(end - text) + 1 : n;
        }
}

int format_read(const OutputFormat *format, const char *text, size_t n, Arena *arena, FormatResult *ret) {
        scoped(reading_deinit) FormatReading reading = { .format = format, .arena = arena, .result = ret, .line = 1 };
        scoped(buffer_deinit) Buffer valid = {};

        *ret = (FormatResult){};
        if (format->options.lines.n > 0) {
                text_put_valid(&valid, text, n);
                reading.r = buffer_error(&valid);
                if (reading.r == 0 && valid.n > 0)
                        read_lines(&reading, valid.text, valid.n);
        } else
                read_json(&reading, text, n);
        reading.at = NULL;
        if (ret->n == 0)
                wrong(&reading,
                      ret->n_left_out > 0 ? "--where leaves out all elements: %zu (%s)" : "has nothing of this format",
                      ret->n_left_out, ret->left_out_by);
        return reading.r;
}

size_t format_arena_size(size_t n) {
        return value_parse_arena_size(n) + 256 * n + (16U << 20);
}
