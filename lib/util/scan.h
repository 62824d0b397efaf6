/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Scan: walks over the text of a kernel file without copying. Used in the sampler's inner loop. */

#include <stdint.h>

/* Skips spaces and tabs (not newlines). */
const char *scan_blanks(const char *p);
/* Returns the position after the next newline, or of the terminating NUL. */
const char *scan_line_end(const char *p);
/* Reads a decimal number after optional blanks. Returns NULL if there is none, or it exceeds 64 bits. */
const char *scan_u64(const char *p, uint64_t *ret);
