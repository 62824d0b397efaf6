/* SPDX-License-Identifier: Apache-2.0 */
#include "series/digits.h"

#include <assert.h>
#include <string.h>

#include "util/parse.h"

/* Printable ASCII without '"' and '\\' (for JSON and shells), and without the two reserved characters. */
static const char digits[] = "!#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|";
_Static_assert(sizeof(digits) - 1 == DIGITS_BASE, "one character for each digit");

void digit_put(Buffer *out, unsigned v) {
        assert(v < DIGITS_BASE);
        buffer_putc(out, digits[v]);
}

int digit_get(DigitReader *reader, unsigned *ret) {
        const char *at = reader->p < reader->end && *reader->p ? strchr(digits, *reader->p) : NULL;

        if (!at)
                return PARSE_MALFORMED;

        reader->p++;
        *ret = (unsigned)(at - digits);
        return 0;
}

bool digit_take(DigitReader *reader, char c) {
        if (reader->p == reader->end || *reader->p != c)
                return false;

        reader->p++;
        return true;
}

/* Returns how many of the digits represent a number on their own, so that n numbers need at most two characters. */
static unsigned n_single(unsigned n) {
        return n <= DIGITS_BASE ? DIGITS_BASE : (DIGITS_N_MAX - n) / (DIGITS_BASE - 1);
}

void digits_put(Buffer *out, unsigned v, unsigned n) {
        unsigned single = n_single(n);

        assert(v < n && n <= DIGITS_N_MAX);
        if (v >= single) {
                digit_put(out, single + (v - single) / DIGITS_BASE);
                v = (v - single) % DIGITS_BASE;
        }
        digit_put(out, v);
}

int digits_get(DigitReader *reader, unsigned n, unsigned *ret) {
        unsigned single = n_single(n), v, low;

        if (digit_get(reader, &v) != 0)
                return PARSE_MALFORMED;
        if (v >= single) {
                if (digit_get(reader, &low) != 0)
                        return PARSE_MALFORMED;
                v = single + (v - single) * DIGITS_BASE + low;
        }
        if (v >= n)
                return PARSE_MALFORMED;

        *ret = v;
        return 0;
}

/* Maps to unsigned in the order 0, -1, 1, -2, … */
void digits_put_signed(Buffer *out, int v, unsigned n) {
        digits_put(out, v < 0 ? (unsigned)(-v) * 2 - 1 : (unsigned)v * 2, 2 * n - 1);
}

int digits_get_signed(DigitReader *reader, unsigned n, int *ret) {
        unsigned v;

        if (digits_get(reader, 2 * n - 1, &v) != 0)
                return PARSE_MALFORMED;

        *ret = v % 2 ? -(int)(v / 2) - 1 : (int)(v / 2);
        return 0;
}
