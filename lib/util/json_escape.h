/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Escapes in strings of JSON (RFC 8259, section 7). */

#include <stddef.h>
#include <stdint.h>

/*
 * Reads one escape behind its backslash, of which n bytes are left. Two \u escapes that make up one character count as one.
 * Returns how many bytes the escape has, or 0 when it is malformed; *ret is its code point, half of a surrogate pair where
 * the other half is missing.
 */
size_t json_escape_read(const char *text, size_t n, uint32_t *ret);

static inline int json_escape_is_surrogate(uint32_t code_point) {
        return code_point >= 0xd800 && code_point < 0xe000;
}

/* Writes a code point as UTF-8; returns its length in bytes. */
size_t json_escape_put_utf8(uint32_t code_point, char ret[static 4]);
