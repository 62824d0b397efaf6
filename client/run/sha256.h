/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SHA-256 (FIPS 180-4): what a script or an input is recognised by. */

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32U
#define SHA256_TEXT_MAX (2U * SHA256_BYTES + 1U)

typedef struct Sha256 {
        uint32_t state[8];
        uint64_t n_bytes;
        uint8_t block[64];
} Sha256;

void sha256_init(Sha256 *sha);
void sha256_add(Sha256 *sha, const void *bytes, size_t n);
void sha256_end(Sha256 *sha, uint8_t ret[static SHA256_BYTES]);

/* All at once, as 64 hexadecimal digits. */
void sha256_text(const void *bytes, size_t n, char ret[static SHA256_TEXT_MAX]);
