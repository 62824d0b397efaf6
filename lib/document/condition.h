/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Condition: which results somebody asks for, as "matrix_size=512" says it
 *
 * KEY=VALUE, KEY!=VALUE, and KEY<VALUE, KEY<=VALUE, KEY>VALUE, KEY>=VALUE for numbers. A value of a URL or a command line
 * has no type, so what it is compared with decides: a number equals a text that reads as the same number (512 and 512.0
 * both equal 512), a string one that is the same to the letter, true, false and null those words, a list or an
 * object one that is spelt the same. What has no such key meets no condition on it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator.h"
#include "util/json_text.h"

#define CONDITIONS_MAX 16U
/* Before the key of a parameter that is called as something else: @parameters.version. */
#define CONDITION_PARAMETERS "@parameters."
#define CONDITION_KEY_MAX (sizeof(CONDITION_PARAMETERS) - 1 + KEY_MAX_BYTES)

typedef enum ConditionRelation {
        CONDITION_EQUAL,
        CONDITION_NOT_EQUAL,
        CONDITION_LESS,
        CONDITION_LESS_EQUAL,
        CONDITION_GREATER,
        CONDITION_GREATER_EQUAL,
} ConditionRelation;

typedef struct Condition {
        char key[CONDITION_KEY_MAX + 1];
        ConditionRelation relation;
        const char *value; /* borrowed from what was parsed */
        bool is_number, is_integer;
        double number;
        int64_t integer;
} Condition;

enum {
        CONDITION_MALFORMED = 1, /* no relation or no key, or a key too long */
        CONDITION_NOT_A_NUMBER,  /* and the relation is one of numbers */
};

/* 0 or an outcome. */
int condition_parse(const char *text, Condition *ret);

/* One of < <= > >=. */
static inline bool condition_is_range(const Condition *condition) {
        return condition->relation != CONDITION_EQUAL && condition->relation != CONDITION_NOT_EQUAL;
}

/* value.text NULL: there is none. */
bool condition_is_met(const Condition *condition, JsonText value);
/* By a text that is not JSON; NULL: there is none. */
bool condition_is_met_by_text(const Condition *condition, const char *text);
