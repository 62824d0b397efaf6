/* SPDX-License-Identifier: Apache-2.0 */
#include "document/property.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "document/expression.h"
#include "document/version.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/scoped.h"

#define UNIT_MAX_BYTES 64U
#define FORMAT_MAX_BYTES 16U
#define VALUES_MAX 256U
#define PROPERTY_OF_PARAMETERS (PROPERTY_SEMVER | PROPERTY_TIME | PROPERTY_MAP)

/* In the order of the bits of PropertyType. */
static const char *const types[] = { "str", "int", "float", "bool", "semver", "time", "map", "list" };
_Static_assert(PROPERTY_STR == 1 << 0 && PROPERTY_LIST == 1 << 7, "one bit for each");

static const char *const indexes[] = {
        [INDEX_NONE] = "none",
        [INDEX_EXACT] = "exact",
        [INDEX_INT] = "int",
        [INDEX_FLOAT] = "float",
};

static const char *const directions[] = {
        [DIRECTION_HIGHER] = "higher",
        [DIRECTION_LOWER] = "lower",
        [DIRECTION_NONE] = "none",
};

void property_types_text(unsigned given, char ret[static PROPERTY_TYPES_TEXT_MAX]) {
        int n = 0;

        for (size_t i = 0; i < N_ELEMENTS(types); i++)
                if (given & (1U << i))
                        n += snprintf(ret + n, PROPERTY_TYPES_TEXT_MAX - (size_t)n, "%s%s", n > 0 ? " or " : "",
                                      types[i]);
        if (n == 0)
                (void)snprintf(ret, PROPERTY_TYPES_TEXT_MAX, "any type");
}

const char *property_index_text(PropertyIndex index) {
        return indexes[index];
}

const char *property_direction_text(Direction direction) {
        return directions[direction];
}

Direction property_direction_find(const char *word) {
        size_t i = model_reader_find_word(word, directions, N_ELEMENTS(directions));

        return i < N_ELEMENTS(directions) ? (Direction)i : DIRECTION_UNKNOWN;
}

/* --- types ------------------------------------------------------------------------------------------ */

static int take_type_word(ModelReader *reader, const char *key, const Value *value, bool is_result, unsigned *ret) {
        const char *words = is_result ? "str, int, float, bool, list" : "str, int, float, bool, semver, time, map";
        size_t i;

        if (value->type != VALUE_STRING)
                return model_reader_wrong(reader, key, "is %s, must be %s, or a list of them", value_type_text(value),
                                          words);
        i = model_reader_find_word(value->string, types, N_ELEMENTS(types));
        if (i == N_ELEMENTS(types) || (1U << i) & (is_result ? PROPERTY_OF_PARAMETERS : PROPERTY_LIST))
                return model_reader_wrong(reader, key, "'%.40s' is not a type: use %s, or a list of them",
                                          value->string, words);
        if (*ret & (1U << i))
                return model_reader_wrong(reader, key, "names %s twice: remove one", types[i]);

        *ret |= 1U << i;
        return 0;
}

static int take_types(ModelReader *reader, const char *key, const Value *value, bool is_result, unsigned *ret) {
        int r = 0;

        if (!value)
                return 0;
        if (value->type != VALUE_LIST)
                return take_type_word(reader, key, value, is_result, ret);
        if (value->n_items == 0)
                return model_reader_wrong(reader, key, "is an empty list: remove it to allow any type");

        for (size_t i = 0; i < value->n_items && r == 0; i++)
                r = take_type_word(reader, key, &value->items[i], is_result, ret);
        return r;
}

/* --- values --------------------------------------------------------------------------------------- */

static bool is_whole(double number) {
        return number == trunc(number) && number >= -0x1p63 && number < 0x1p63;
}

/* 30.0 is an integer, too: many languages print whole floats in this form. */
bool property_is_of_types(const Value *value, unsigned wanted) {
        uint64_t unused;

        switch (value->type) {
        case VALUE_STRING:
                return wanted & PROPERTY_STR || (wanted & PROPERTY_SEMVER && version_is_semantic(value->string)) ||
                       (wanted & PROPERTY_TIME && clock_parse_utc(value->string, &unused) == 0);
        case VALUE_INT:
        case VALUE_UINT:
                return wanted & (PROPERTY_INT | PROPERTY_FLOAT);
        case VALUE_DOUBLE:
                return wanted & PROPERTY_FLOAT || (wanted & PROPERTY_INT && is_whole(value->number));
        case VALUE_BOOL:
                return wanted & PROPERTY_BOOL;
        case VALUE_LIST:
                return wanted & PROPERTY_LIST && value_is_numbers(value);
        case VALUE_OBJECT:
                return wanted & PROPERTY_MAP;
        case VALUE_NULL:
                break;
        }

        return false;
}

Value property_value_of(const Property *property, const char *text) {
        Value number = { .type = VALUE_DOUBLE };
        uint64_t integer;

        if (property->types & (PROPERTY_INT | PROPERTY_FLOAT) && parse_u64(text, &integer) == 0)
                return (Value){ .type = VALUE_UINT, .natural = integer };
        if (parse_double(text, &number.number) == 0 && property_is_of_types(&number, property->types))
                return property->types & PROPERTY_FLOAT
                               ? number
                               : (Value){ .type = VALUE_INT, .integer = (int64_t)number.number };
        if (property->types & PROPERTY_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
                return (Value){ .type = VALUE_BOOL, .boolean = text[0] == 't' };
        return (Value){ .type = VALUE_STRING, .string = text };
}

static int check_allowed(ModelReader *reader, const Property *property, const Value *list, size_t i) {
        const Value *value = &list->items[i];
        char wanted[PROPERTY_TYPES_TEXT_MAX], key[32];

        (void)snprintf(key, sizeof(key), "values[%zu]", i);
        property_types_text(property->types, wanted);
        if (!value_is_scalar(value))
                return model_reader_wrong(reader, key, "is %s: only strings, numbers and booleans can be listed",
                                          value_type_text(value));
        if (property->types && !property_is_of_types(value, property->types))
                return model_reader_wrong(reader, key, "is %s, and the type is %s: change one of them",
                                          value_type_text(value), wanted);
        if (value->type == VALUE_STRING && !model_reader_is_line(value->string))
                return model_reader_wrong(reader, key, "has control characters: remove them");
        return 0;
}

static int check_each_once(ModelReader *reader, const Value *list) {
        const Value *room[VALUES_MAX];
        size_t first, again;
        char key[32];

        if (!value_find_twice(list, room, &first, &again))
                return 0;
        (void)snprintf(key, sizeof(key), "values[%zu]", again);
        return model_reader_wrong(reader, key, "is the same as values[%zu]: keep one of them", first);
}

static int take_allowed(ModelReader *reader, const Value *object, Property *property) {
        const Value *list = value_get_given(object, "values");
        int r = 0;

        if (!list)
                return 0;
        if (list->type != VALUE_LIST)
                return model_reader_wrong(reader, "values", "is %s, must be a list as in [cpu, gpu]",
                                          value_type_text(list));
        if (list->n_items == 0 || list->n_items > VALUES_MAX)
                return model_reader_wrong(reader, "values",
                                          "has %zu items, may have 1 to %u: remove it to allow any value",
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

static int check_index(ModelReader *reader, const Property *property) {
        char given[PROPERTY_TYPES_TEXT_MAX];
        unsigned fits = property->index == INDEX_INT ? PROPERTY_INT : PROPERTY_INT | PROPERTY_FLOAT;

        if (property->index == INDEX_NONE || property->index == INDEX_EXACT)
                return 0;
        if (property->types && !(property->types & ~fits))
                return 0;

        property_types_text(property->types, given);
        return model_reader_wrong(reader, "index",
                                  "%s is for numbers, and the type is %s: use exact, or change the type",
                                  property_index_text(property->index), given);
}

static int take_parameter(ModelReader *reader, const Value *object, Property *property) {
        static const char *const keys[] = { "type", "index", "values", "optional", "help" };
        unsigned index = INDEX_NONE;

        model_reader_check_keys(reader, object, keys, N_ELEMENTS(keys));
        model_reader_take_word(reader, object, "index", indexes, N_ELEMENTS(indexes), &index);
        take_types(reader, "type", value_get_given(object, "type"), property->is_result, &property->types);
        property->index = (PropertyIndex)index;
        check_index(reader, property);
        take_allowed(reader, object, property);
        return model_reader_status(reader);
}

/* Takes how a result is shown. */
static int take_display(ModelReader *reader, const Value *object, Property *property) {
        int r;

        model_reader_take_text(reader, object, "format", FORMAT_MAX_BYTES, &property->display.format);
        model_reader_take_number(reader, object, "divisor", &property->display.divisor);
        r = model_reader_take_text(reader, object, "divisor_unit", UNIT_MAX_BYTES, &property->display.divisor_unit);
        if (r != 0)
                return r;

        if (property->display.format && !display_format_is_valid(property->display.format))
                return model_reader_wrong(reader, "format",
                                          "'%.40s' is not a format: use {:.Nf}, {:.Ne} or {:.Ng} with N from 0 to 17",
                                          property->display.format);
        if (value_get_given(object, "divisor") && property->display.divisor == 0)
                return model_reader_wrong(reader, "divisor", "is 0: use another number");
        if ((property->display.divisor == 0) != !property->display.divisor_unit)
                return model_reader_wrong(reader, property->display.divisor_unit ? "divisor" : "divisor_unit",
                                          "missing: divisor and divisor_unit are used together");
        if (property->display.divisor != 0 && !property->display.format)
                return model_reader_wrong(reader, "format",
                                          "missing: say how the divided value is written, as in '{:.2f}'");
        return 0;
}

/* Takes the expression of a derived number. */
static int take_from(ModelReader *reader, const Value *object, Property *property) {
        Expression expression;
        ExpressionError error;
        int r;

        r = model_reader_take_text(reader, object, "from", EXPRESSION_BYTES_MAX, &property->from);
        if (r != 0 || !property->from)
                return r;
        if (property->types & ~(unsigned)(PROPERTY_INT | PROPERTY_FLOAT))
                return model_reader_wrong(reader, "type", "must be float for a derived number, or be left out");
        if (expression_parse(property->from, &expression, &error) != 0)
                return model_reader_wrong(reader, "from", "column %u: %s", error.column, error.text);
        property->types = property->types ?: PROPERTY_FLOAT;
        return 0;
}

static int take_result(ModelReader *reader, const Value *object, Property *property) {
        static const char *const keys[] = { "type",     "unit",    "direction",
                                            "optional", "help",    "ignored_for_regression",
                                            "format",   "divisor", "divisor_unit",
                                            "from" };
        unsigned direction = DIRECTION_UNKNOWN;

        if (value_get(object, "index"))
                return model_reader_wrong(reader, "index", "applies to parameters only: remove it");
        model_reader_check_keys(reader, object, keys, N_ELEMENTS(keys));
        take_types(reader, "type", value_get_given(object, "type"), true, &property->types);
        model_reader_take_text(reader, object, "unit", UNIT_MAX_BYTES, &property->unit);
        model_reader_take_word(reader, object, "direction", directions, N_ELEMENTS(directions), &direction);
        model_reader_take_bool(reader, object, "ignored_for_regression", &property->is_ignored_for_regression);
        take_from(reader, object, property);
        property->direction = (Direction)direction;
        return take_display(reader, object, property);
}

int property_take(ModelReader *reader, const Member *member, Property *ret) {
        const Value *value = &member->value;

        ret->name = member->key;
        if (!model_reader_is_line(member->key))
                return model_reader_wrong(reader, NULL, "has control characters in its name: remove them");
        if (value->type == VALUE_NULL)
                return 0;
        if (value->type != VALUE_OBJECT)
                return take_types(reader, NULL, value, ret->is_result, &ret->types);

        (void)(ret->is_result ? take_result(reader, value, ret) : take_parameter(reader, value, ret));
        model_reader_take_bool(reader, value, "optional", &ret->is_optional);
        return model_reader_take_text(reader, value, "help", HELP_MAX_BYTES, &ret->help);
}

bool property_identifies_run(const char *name) {
        static const char *const names[] = {
                "ci_engine", "run_id", "test_path", "urls", "test_uuid", "exit_code", "@timestamp",
                "kpi_settings_version", "lts_schema_version",
        };

        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                if (strcmp(names[i], name) == 0)
                        return true;
        return false;
}
