/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Words of settings: each function takes a whole NUL-terminated word as people write it, and accepts nothing else. */

#include <stdbool.h>
#include <stdint.h>

/* All positive: outcomes, see conventions. */
enum {
        PARSE_MALFORMED = 1,
        PARSE_OUT_OF_RANGE,
};

int parse_u64(const char *text, uint64_t *ret);
int parse_double(const char *text, double *ret); /* finite */
int parse_bool(const char *text, bool *ret);     /* yes no true false on off 1 0 */
/* "250ms", "10s", "10min", "2h", "90d", "1.5s"; a bare number is seconds. */
int parse_duration_ns(const char *text, uint64_t *ret);
/* "64K", "16M", "1G" or KiB/MiB/GiB (powers of 1024), "4096". Bytes. */
int parse_size(const char *text, uint64_t *ret);
