/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hash: 64-bit FNV-1a
 *
 * For hash tables, which also compare the key: fast and well distributed, but not resistant to deliberate collisions.
 * Some hashes are stored in the database (series), so the function must not change.
 */

#include <stddef.h>
#include <stdint.h>

#define HASH_BEGIN UINT64_C(14695981039346656037)

/* hash: HASH_BEGIN, or the hash of the preceding bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n) {
        const unsigned char *p = bytes;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ p[i]) * UINT64_C(1099511628211);
        return hash;
}

/* Excludes the NUL: callers that hash several texts must separate them. */
static inline uint64_t hash_text(uint64_t hash, const char *text) {
        for (; *text; text++)
                hash = hash_bytes(hash, text, 1);
        return hash;
}
