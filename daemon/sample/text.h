/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kernel text: what all parsers of this folder share
 *
 * A parser takes the whole text of one file, NUL-terminated, and fills its part of
 * a Sample, or none of it. Every line must end in a newline: one that does not was
 * cut off somewhere, perhaps in the middle of a number.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/scoped.h"

/* All positive: outcomes, see conventions. */
enum {
        TEXT_MALFORMED = 1, /* *ret_fault says what is wrong, a static string */
};

static inline int text_malformed(const char *fault, const char **ret_fault) {
        *ret_fault = fault;
        return TEXT_MALFORMED;
}

/* Past the newline that ends this line. NULL: the text ends before it does. */
static inline const char *text_next_line(const char *p) {
        p = strchr(p, '\n');
        return p ? p + 1 : NULL;
}

#define TEXT_FIELDS_MAX 16

typedef struct TextField {
        const char *key;     /* with the newline before it, and what separates it from the number */
        size_t offset;       /* of a uint64_t in the struct to be filled */
        const char *missing; /* the fault when there is no such line; NULL: the number is 0 then */
} TextField;

/* Lines of a key and a number, in the order of the file, which is walked once. */
typedef struct TextTable {
        const TextField *fields;
        size_t n;
        const char *end;       /* of each line, behind the number */
        uint64_t factor;       /* of each number */
        const char *malformed; /* the fault when a line has no number that fits */
} TextTable;

/* Fills the fields of the struct. 0, or TEXT_MALFORMED and nothing filled. */
int text_parse_table(const TextTable *table, const char *text, void *ret, const char **ret_fault);

/* Past the literal at p; NULL when something else is there. */
#define text_skip(p, literal) \
        (strncmp((p), (literal), sizeof(literal) - 1) == 0 ? (p) + sizeof(literal) - 1 : NULL)
