/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kernel text: common functions of the parsers in this folder
 *
 * A parser gets the whole text of one file, NUL-terminated, and fills its part of a Sample, or nothing. All lines
 * must end with a newline: otherwise the text was truncated, perhaps within a number.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/scoped.h"

/* Outcomes of all parsers in this folder that have none of their own. */
enum {
        TEXT_MALFORMED = 1, /* *ret_fault has the reason, a static string */
        DEVICE_LIST_OTHER,  /* the text names other devices than the list (devices.h) */
};

static inline int kernel_text_malformed(const char *fault, const char **ret_fault) {
        *ret_fault = fault;
        return TEXT_MALFORMED;
}

/* Returns the position after the newline of this line. NULL if the text has no further newline. */
static inline const char *kernel_text_next_line(const char *p) {
        p = strchr(p, '\n');
        return p ? p + 1 : NULL;
}

#define TEXT_FIELDS_MAX 16

typedef struct TextField {
        const char *key;     /* preceded by a newline, and followed by the separator before the number */
        size_t offset;       /* offset of a uint64_t in the struct */
        const char *missing; /* error if the line is missing; NULL: the value is 0 then */
} TextField;

/* Lines with a key and a number, in the order of the file, which is read once. */
typedef struct TextTable {
        const TextField *fields;
        size_t n;
        const char *end;       /* end of each line, after the number */
        uint64_t factor;       /* multiplier of each number */
        const char *malformed; /* error if a line has no valid number */
} TextTable;

#define TEXT_TABLE(end, factor, malformed, ...)                                                                        \
        { (const TextField[]){ __VA_ARGS__ }, N_ELEMENTS(((const TextField[]){ __VA_ARGS__ })), end, factor, malformed }

/* Fills the fields of the struct. Returns 0, or TEXT_MALFORMED without changes. */
int kernel_text_parse_table(const TextTable *table, const char *text, void *ret, const char **ret_fault);

/* Returns the position after the literal at p; NULL if the text differs. */
#define kernel_text_skip(p, literal) \
        (strncmp((p), (literal), sizeof(literal) - 1) == 0 ? (p) + sizeof(literal) - 1 : NULL)
