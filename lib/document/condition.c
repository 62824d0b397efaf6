/* SPDX-License-Identifier: Apache-2.0 */
#include "document/condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static bool parse_integer(const char *text, int64_t *ret) {
        char *end;
        long long v;

        if (*text != '-' && (*text < '0' || *text > '9'))
                return false;

        errno = 0;
        v = strtoll(text, &end, 10);
        if (*end || errno != 0)
                return false;

        *ret = v;
        return true;
}

int condition_parse(const char *text, Condition *ret) {
        size_t n = strcspn(text, "=!<>");
        Condition condition = {};

        if (n == 0 || n > CONDITION_KEY_MAX)
                return CONDITION_MALFORMED;
        condition.value = parse_relation(text + n, &condition.relation);
        if (!condition.value)
                return CONDITION_MALFORMED;

        memcpy(condition.key, text, n);
        condition.is_integer = parse_integer(condition.value, &condition.integer);
        condition.is_number = parse_double(condition.value, &condition.number) == 0;
        if (condition.relation != CONDITION_EQUAL && condition.relation != CONDITION_NOT_EQUAL && !condition.is_number)
                return CONDITION_NOT_A_NUMBER;

        *ret = condition;
        return 0;
}

/* Returns -1, 0 or 1. Distinguishes integers that have the same double. */
static int compare(const Condition *condition, JsonText value, double number) {
        int64_t integer;

        if (condition->is_integer && json_text_int(value, &integer))
                return integer < condition->integer ? -1 : integer > condition->integer;
        return number < condition->number ? -1 : number > condition->number;
}

static bool is_equal(const Condition *condition, JsonText value) {
        size_t n = strlen(condition->value);
        double number;

        switch (json_text_kind(value)) {
        case JSON_KIND_NUMBER:
                return condition->is_number && json_text_double(value, &number) && compare(condition, value, number) == 0;
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

bool condition_is_met(const Condition *condition, JsonText value) {
        double number = 0;
        bool is_number = json_text_double(value, &number);

        switch (condition->relation) {
        case CONDITION_EQUAL:
                return is_equal(condition, value);
        case CONDITION_NOT_EQUAL:
                return value.text && !is_equal(condition, value);
        case CONDITION_LESS:
                return is_number && compare(condition, value, number) < 0;
        case CONDITION_LESS_EQUAL:
                return is_number && compare(condition, value, number) <= 0;
        case CONDITION_GREATER:
                return is_number && compare(condition, value, number) > 0;
        case CONDITION_GREATER_EQUAL:
                return is_number && compare(condition, value, number) >= 0;
        }
        return false;
}

bool condition_is_met_by_text(const Condition *condition, const char *text) {
        if (!text)
                return false;
        if (condition->relation == CONDITION_EQUAL)
                return strcmp(text, condition->value) == 0;
        return condition->relation == CONDITION_NOT_EQUAL && strcmp(text, condition->value) != 0;
}
