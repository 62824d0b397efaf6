/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Scan: walks the text of a kernel file without copying. The sampler's inner loop. */

#include <stdint.h>

/* Skips spaces and tabs (not newlines). */
const char *scan_blanks(const char *p);
/* Past the next newline, or at the terminating NUL. */
const char *scan_line_end(const char *p);
/* Reads a decimal number after blanks. NULL: there is none, or it does not fit 64 bits. */
const char *scan_u64(const char *p, uint64_t *ret);
