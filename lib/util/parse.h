/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parses words of settings. Each function requires the whole NUL-terminated word to match. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All positive: outcomes, see the conventions on errors. */
enum {
        PARSE_MALFORMED = 1,
        PARSE_OUT_OF_RANGE,
};

int parse_u64(const char *text, uint64_t *ret);
int parse_double(const char *text, double *ret); /* rejects infinities and NaN */
/* True for a number with a comma in place of the point, such as -0,98. */
bool parse_is_decimal_comma(const char *text);
int parse_bool(const char *text, bool *ret);     /* accepts yes no true false on off 1 0 */
/* Parses "250ms", "10s", "10min", "2h", "90d", "1.5s"; a bare number is in seconds. */
int parse_duration_ns(const char *text, uint64_t *ret);
/* Parses a size in bytes: "64K", "16M", "1G", "1T" (also Ki, KiB, ...: all are powers of 1024), "4096". */
int parse_size(const char *text, uint64_t *ret);

/* True if `word` is one of the words of a text, between which there are any of the separators. */
bool parse_has_word(const char *text, const char *word, const char *separators);

/* Parses exactly 2 * n hexadecimal digits in lower case. */
int parse_hex(const char *text, uint8_t *ret, size_t n);
