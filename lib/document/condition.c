/* SPDX-License-Identifier: Apache-2.0 */
#include "document/condition.h"

#include <string.h>

#include "document/version.h"
#include "util/clock.h"
#include "util/parse.h"

static const char *parse_relation(const char *p, ConditionRelation *ret) {
        bool has_equal = *p && p[1] == '=';

        switch (*p) {
        case '=':
                *ret = CONDITION_EQUAL;
                return p + 1;
        case '!':
                *ret = CONDITION_NOT_EQUAL;
                return has_equal ? p + 2 : NULL;
        case '<':
                *ret = has_equal ? CONDITION_LESS_EQUAL : CONDITION_LESS;
                return p + 1 + has_equal;
        case '>':
                *ret = has_equal ? CONDITION_GREATER_EQUAL : CONDITION_GREATER;
                return p + 1 + has_equal;
        }
        return NULL;
}

/* Returns the number with all digits if the text is an integer of 64 bits; otherwise `number`. */
static Value exact_number(JsonText text, double number) {
        int64_t integer;
        uint64_t natural;

        if (json_text_int(text, &integer))
                return (Value){ .type = VALUE_INT, .integer = integer };
        if (json_text_uint(text, &natural))
                return (Value){ .type = VALUE_UINT, .natural = natural };
        return (Value){ .type = VALUE_DOUBLE, .number = number };
}

size_t condition_key_length(const char *text, const char *ends) {
        size_t n = strcspn(text, ends);
        const char *open = memchr(text, '"', n), *close = open ? strchr(open + 1, '"') : NULL;

        if (!close)
                return n;
        n = (size_t)(close - text) + 1;
        return n + condition_key_length(text + n, ends);
}

int condition_read_key(const char *text, size_t n, char ret[static CONDITION_KEY_MAX + 1]) {
        bool is_quoted = n > 2 && text[0] == '"' && text[n - 1] == '"';
        const char *before = is_quoted ? CONDITION_PARAMETERS : "";

        if (is_quoted) {
                text++;
                n -= 2;
        }
        if (n == 0 || n + strlen(before) > CONDITION_KEY_MAX)
                return CONDITION_MALFORMED;
        strcpy(ret, before);
        memcpy(ret + strlen(before), text, n);
        ret[strlen(before) + n] = '\0';
        return 0;
}

/* Parses a time, or a date, which is its first moment. */
static bool parse_time(const char *text, uint64_t *ret_ns) {
        char midnight[sizeof("2024-11-11T00:00:00")];
        size_t n = strlen(text);

        if (n != sizeof("2024-11-11") - 1)
                return clock_parse_utc(text, ret_ns) == 0;
        memcpy(midnight, text, n);
        memcpy(midnight + n, "T00:00:00", sizeof("T00:00:00"));
        return clock_parse_utc(midnight, ret_ns) == 0;
}

bool condition_next(const char *text, size_t *at, Buffer *out) {
        ConditionRelation relation = CONDITION_EQUAL;
        const char *values = parse_relation(text + condition_key_length(text, "=!<>"), &relation), *value;
        size_t n = strlen(text);
        bool is_quoted;

        if (*at > n)
                return false;
        if (!values || *values == '[' || *values == '{')
                values = text;
        value = *at > 0 ? text + *at : values;
        n = condition_key_length(value, values > text && relation <= CONDITION_NOT_EQUAL ? "," : "");
        is_quoted = values > text && n > 1 && value[0] == '"' && value[n - 1] == '"';
        buffer_put(out, text, (size_t)(values - text));
        buffer_put(out, value + is_quoted, n - 2 * is_quoted);
        *at = (size_t)(value - text) + n + 1;
        return true;
}

int condition_parse(const char *text, Condition *ret) {
        size_t n = condition_key_length(text, "=!<>");
        Condition condition = {};

        if (condition_read_key(text, n, condition.key) != 0)
                return CONDITION_MALFORMED;
        condition.value = parse_relation(text + n, &condition.relation);
        if (!condition.value)
                return CONDITION_MALFORMED;

        condition.is_number = parse_double(condition.value, &condition.number) == 0;
        if (condition.is_number)
                condition.exact = exact_number((JsonText){ condition.value, strlen(condition.value) },
                                               condition.number);
        condition.is_semver = version_is_semantic(condition.value);
        condition.is_version = version_is_ordered(condition.value);
        condition.is_time = parse_time(condition.value, &condition.time_ns);
        if (condition_is_range(&condition) && !condition.is_number && !condition.is_version && !condition.is_time)
                return CONDITION_WITHOUT_ORDER;

        *ret = condition;
        return 0;
}

/* Returns -1, 0 or 1. number: the value, a number, as a double. */
static int compare(const Condition *condition, JsonText value, double number) {
        Value exact = exact_number(value, number);

        return value_compare(&exact, &condition->exact);
}

static bool is_equal(const Condition *condition, JsonText value) {
        size_t n = strlen(condition->value);
        double number;

        switch (json_text_kind(value)) {
        case JSON_KIND_NUMBER:
                return condition->is_number && json_text_double(value, &number) &&
                       compare(condition, value, number) == 0;
        case JSON_KIND_STRING:
                return json_text_is_string(value, condition->value, n);
        case JSON_KIND_NULL:
        case JSON_KIND_BOOL:
        case JSON_KIND_LIST:
        case JSON_KIND_OBJECT:
                return json_text_equals(value, (JsonText){ condition->value, n });
        case JSON_KIND_NONE:
                return false;
        }
        return false;
}

/* True if the relation holds for a value that compares as `order` with the condition's: -1, 0 or 1. */
static bool holds(const Condition *condition, int order) {
        switch (condition->relation) {
        case CONDITION_LESS:
                return order < 0;
        case CONDITION_LESS_EQUAL:
                return order <= 0;
        case CONDITION_GREATER:
                return order > 0;
        case CONDITION_GREATER_EQUAL:
                return order >= 0;
        case CONDITION_EQUAL:
        case CONDITION_NOT_EQUAL:
                break;
        }
        return false;
}

/* Compares versions with versions, in the order of a history, and times with times. */
static bool is_text_in_range(const Condition *condition, const char *text) {
        uint64_t time_ns;

        if (condition->is_semver && version_is_semantic(text) && !version_is_extended(condition->value) &&
            !version_is_extended(text))
                return holds(condition, version_compare_semantic(text, condition->value));
        if (condition->is_time && parse_time(text, &time_ns))
                return holds(condition, COMPARE(time_ns, condition->time_ns));
        return condition->is_version && version_is_ordered(text) && version_is_comparable(text, condition->value) &&
               holds(condition, version_compare(text, condition->value));
}

static bool is_in_range(const Condition *condition, JsonText value) {
        scoped(buffer_deinit) Buffer text = {};
        double number;

        if (condition->is_number)
                return json_text_double(value, &number) && holds(condition, compare(condition, value, number));
        if (json_text_kind(value) != JSON_KIND_STRING)
                return false;
        json_text_decode(value, &text);
        return text.text && buffer_error(&text) == 0 && is_text_in_range(condition, text.text);
}

bool condition_is_met(const Condition *condition, JsonText value) {
        if (condition_is_range(condition))
                return is_in_range(condition, value);
        return condition->relation == CONDITION_EQUAL ? is_equal(condition, value)
                                                      : value.text && !is_equal(condition, value);
}

bool condition_is_met_by_text(const Condition *condition, const char *text) {
        if (!text)
                return false;
        if (condition_is_range(condition))
                return is_text_in_range(condition, text);
        return condition->relation == CONDITION_EQUAL ? strcmp(text, condition->value) == 0
                                                      : strcmp(text, condition->value) != 0;
}
