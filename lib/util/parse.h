/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading text: kernel files and settings
 *
 * parse_blanks(), parse_line_end() and parse_next_u64() walk a kernel file without copying; they are the sampler's
 * inner loop. The parse_ functions take a whole NUL-terminated word as people
 * write it and accept nothing else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All positive: outcomes, see conventions. */
enum {
        PARSE_MALFORMED = 1,
        PARSE_OUT_OF_RANGE,
};

/* Skips spaces and tabs (not newlines). */
const char *parse_blanks(const char *p);
/* Past the next newline, or at the terminating NUL. */
const char *parse_line_end(const char *p);
/* Reads a decimal number after blanks. NULL: there is none, or it does not fit 64 bits. */
const char *parse_next_u64(const char *p, uint64_t *ret);

int parse_u64(const char *text, uint64_t *ret);
int parse_double(const char *text, double *ret); /* finite */
int parse_bool(const char *text, bool *ret);     /* yes no true false on off 1 0 */
/* "250ms", "10s", "10min", "2h", "90d", "1.5s"; a bare number is seconds. */
int parse_duration_ns(const char *text, uint64_t *ret);
/* "64K", "16M", "1G" or KiB/MiB/GiB (powers of 1024), "4096". Bytes. */
int parse_size(const char *text, uint64_t *ret);
