/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* UTF-8 as RFC 3629 has it: no surrogates, nothing over-long, nothing past U+10FFFF. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the sequence at `text`, of which n > 0 bytes are left; 0 when there is no valid one. */
size_t utf8_length(const char *text, size_t n);
bool utf8_is_valid(const char *text, size_t n);
/* Valid, and without control characters (C0, DEL, C1): what a name for people is made of. */
bool utf8_is_line(const char *text);

/* The code point of a valid sequence of n bytes. */
uint32_t utf8_decode(const char *text, size_t n);
/* What could move a terminal's cursor, or reorder the line it is in. */
bool utf8_is_unsafe(uint32_t code_point);

/*
 * One character of a text of n > 0 bytes as a terminal may show it: itself, or an escape such as \x1b or \u{202e}, also for bytes
 * that are no UTF-8. Returns its bytes in the text.
 */
#define UTF8_SAFE_MAX 12
size_t utf8_make_safe(const char *text, size_t n, char ret[static UTF8_SAFE_MAX]);

/* Length of as much of a valid, NUL-terminated text as fits n_max bytes without splitting a character. */
size_t utf8_cut(const char *text, size_t n_max);
/* NUL-terminated copy of as much as fits n_ret > 0 bytes without splitting a character. */
void utf8_copy(char *ret, size_t n_ret, const char *text);
/* As vsnprintf(), of valid texts: characters that a precision such as %.40s or the end of ret cuts in two are left out. */
void utf8_vformat(char *ret, size_t n_ret, const char *format, va_list arguments) __attribute__((format(printf, 3, 0)));
