/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Escape sequences in JSON strings (RFC 8259, section 7). */

#include <stddef.h>
#include <stdint.h>

/*
 * Reads one escape sequence; text: after the backslash, n bytes long. A surrogate pair of two \u sequences counts as
 * one sequence. Returns the length in bytes, or 0 if the sequence is malformed. *ret is the code point; of an
 * incomplete surrogate pair, the surrogate.
 */
size_t json_escape_read(const char *text, size_t n, uint32_t *ret);

static inline int json_escape_is_surrogate(uint32_t code_point) {
        return code_point >= 0xd800 && code_point < 0xe000;
}

/* Writes a code point as UTF-8; returns its length in bytes. */
size_t json_escape_put_utf8(uint32_t code_point, char ret[static 4]);
