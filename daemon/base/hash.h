/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hash: FNV-1a, of 64 bits
 *
 * For tables that look at the key itself in the end: it is short and spreads well, and does not hold against somebody who makes
 * keys that collide. Some are kept in the database (series): it must stay as it is.
 */

#include <stddef.h>
#include <stdint.h>

#define HASH_BEGIN UINT64_C(14695981039346656037)

/* `hash`: HASH_BEGIN, or what came of what goes before. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n) {
        const unsigned char *p = bytes;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ p[i]) * UINT64_C(1099511628211);
        return hash;
}

/* Without the NUL: what follows is to be told apart otherwise where that matters. */
static inline uint64_t hash_text(uint64_t hash, const char *text) {
        for (; *text; text++)
                hash = hash_bytes(hash, text, 1);
        return hash;
}
