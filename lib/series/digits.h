/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Digits: numbers as printable characters
 *
 * A number that is known to be less than n takes one character when it is small and two when it
 * is not; the smaller n, the more are small. Two more characters are kept free for whoever
 * writes them: DIGIT_UNKNOWN and DIGIT_RUN.
 */

#include "util/buffer.h"

#define DIGITS_BASE 90U
#define DIGITS_N_MAX 8100U /* the square of the base */

#define DIGIT_UNKNOWN '}'
#define DIGIT_RUN '~'

/* What is left to read. */
typedef struct DigitReader {
        const char *p, *end;
} DigitReader;

/* One character, v < DIGITS_BASE. */
void digit_put(Buffer *out, unsigned v);
/* 0 or PARSE_MALFORMED, like all that read. */
int digit_get(DigitReader *reader, unsigned *ret);
/* Takes the character if it is the next. */
bool digit_take(DigitReader *reader, char c);

/* v < n ≤ DIGITS_N_MAX. */
void digits_put(Buffer *out, unsigned v, unsigned n);
int digits_get(DigitReader *reader, unsigned n, unsigned *ret);

/* -n < v < n, 2 n - 1 ≤ DIGITS_N_MAX. */
void digits_put_signed(Buffer *out, int v, unsigned n);
int digits_get_signed(DigitReader *reader, unsigned n, int *ret);
