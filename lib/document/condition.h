/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Condition: selects results, written as "matrix_size=512"
 *
 * The forms are KEY=VALUE, KEY!=VALUE, and for values with an order KEY<VALUE, KEY<=VALUE, KEY>VALUE, KEY>=VALUE.
 * Numbers, versions of the usual forms (version.h) and times (2024-11-11 or 2024-11-11T10:20:30Z) have an order, each
 * among its own kind; a number is also a version where a field is text. A value in a URL or a command line has no type;
 * therefore the type of the compared value decides: a number equals a text that reads as the same number (512 and 512.0
 * both equal 512), a string equals the identical text, true, false and null equal these words, and a list or an object
 * equals identical JSON text. A result without the key meets no condition on the key.
 *
 * A key in quotation marks is the name of a parameter, whatever characters it has: "a=b,c"=1.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator.h"
#include "json/json_text.h"
#include "util/buffer.h"

#define CONDITIONS_MAX 16U
/* Prefix for the key of a parameter that has the name of another field: @parameters.version. */
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
        const char *value; /* borrowed from the parsed text */
        bool is_number, is_semver, is_version, is_time; /* is_version: in one of the usual forms */
        double number;
        uint64_t time_ns; /* since 1970 */
        Value exact; /* the number, with all digits of an integer of 64 bits */
} Condition;

enum {
        CONDITION_MALFORMED = 1, /* no relation, no key, or a key that is too long */
        /* the relation needs an order, and the value is not a number, version or time */
        CONDITION_WITHOUT_ORDER,
};

/* Returns the length of the key at the start of a text, up to one of the characters in `ends` outside of quotation
 * marks. */
size_t condition_key_length(const char *text, const char *ends);
/* Reads a key of n bytes; @parameters. and the name for a name in quotation marks. 0 or CONDITION_MALFORMED. */
int condition_read_key(const char *text, size_t n, char ret[static CONDITION_KEY_MAX + 1]);

/*
 * Writes the next value of KEY=VALUE,VALUE or KEY!=VALUE,VALUE as a condition of its own, and other conditions as they
 * are, without the quotation marks in which a value may have commas; a list or an object needs none. *at: 0 at first.
 * False: none is left.
 */
bool condition_next(const char *text, size_t *at, Buffer *out);

/* Parses a condition. 0 or an outcome. */
int condition_parse(const char *text, Condition *ret);

/* True for < <= > >=. */
static inline bool condition_is_range(const Condition *condition) {
        return condition->relation != CONDITION_EQUAL && condition->relation != CONDITION_NOT_EQUAL;
}

/* Compares with a JSON value. value.text NULL: the value is absent. */
bool condition_is_met(const Condition *condition, JsonText value);
/* Compares with a text that is not JSON. NULL: the value is absent. */
bool condition_is_met_by_text(const Condition *condition, const char *text);
