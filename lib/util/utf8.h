/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* UTF-8 as defined in RFC 3629: no surrogates, no overlong sequences, no code points above U+10FFFF. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Returns the length of the sequence at the start of `text`, which has n > 0 bytes; 0 if the sequence is invalid. */
size_t utf8_length(const char *text, size_t n);
bool utf8_is_valid(const char *text, size_t n);
/* Returns true for valid UTF-8 without control characters (C0, DEL, C1), as required for names shown to users. */
bool utf8_is_line(const char *text);

/* Returns the code point of a valid sequence of n bytes. */
uint32_t utf8_decode(const char *text, size_t n);
/* Returns true if the character could move a terminal's cursor or reorder the line. */
bool utf8_is_unsafe(uint32_t code_point);

/*
 * Converts the first character of a text of n > 0 bytes for a terminal: safe characters are copied, others and
 * invalid bytes become escapes such as \x1b or \u{202e}. Returns the number of bytes of the character in the text.
 */
#define UTF8_SAFE_MAX 12
size_t utf8_make_safe(const char *text, size_t n, char ret[static UTF8_SAFE_MAX]);
/*
 * As utf8_make_safe() for a page, a table or a metric: line ends and tabs are also copied, and invalid bytes become
 * U+FFFD.
 */
size_t utf8_make_plain(const char *text, size_t n, char ret[static UTF8_SAFE_MAX]);

/* Returns the length of the longest prefix of a valid text that fits n_max bytes without splitting a character. */
size_t utf8_cut(const char *text, size_t n_max);
/* Copies the longest prefix that fits n_ret > 0 bytes including the NUL, without splitting a character. */
void utf8_copy(char *ret, size_t n_ret, const char *text);
/* Copies a text; a text that does not fit is truncated and ends with an ellipsis. */
void utf8_copy_ellipsis(char *ret, size_t n_ret, const char *text);
/*
 * Formats like vsnprintf() with valid texts. Characters split by a precision such as %.40s or by the end of ret are
 * removed.
 */
void utf8_vformat(char *ret, size_t n_ret, const char *format, va_list arguments) __attribute__((format(printf, 3, 0)));
void utf8_format(char *ret, size_t n_ret, const char *format, ...) __attribute__((format(printf, 3, 4)));
