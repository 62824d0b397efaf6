/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Digits: numbers as printable characters
 *
 * A number less than n takes one character if it is small and two otherwise. The smaller n, the more numbers take one
 * character. Two characters are reserved for callers: DIGIT_UNKNOWN and DIGIT_RUN.
 */

#include "util/buffer.h"

#define DIGITS_BASE 90U
#define DIGITS_N_MAX 8100U /* the square of the base */

#define DIGIT_UNKNOWN '}'
#define DIGIT_RUN '~'

/* The text that remains to be read. */
typedef struct DigitReader {
        const char *p, *end;
} DigitReader;

/* Appends one character; v < DIGITS_BASE. */
void digit_put(Buffer *out, unsigned v);
/* Returns 0 or PARSE_MALFORMED, like all functions that read. */
int digit_get(DigitReader *reader, unsigned *ret);
/* Consumes the next character if it is c. */
bool digit_take(DigitReader *reader, char c);

/* Appends a number; v < n ≤ DIGITS_N_MAX. */
void digits_put(Buffer *out, unsigned v, unsigned n);
int digits_get(DigitReader *reader, unsigned n, unsigned *ret);

/* Appends a signed number; -n < v < n, 2 n - 1 ≤ DIGITS_N_MAX. */
void digits_put_signed(Buffer *out, int v, unsigned n);
int digits_get_signed(DigitReader *reader, unsigned n, int *ret);
