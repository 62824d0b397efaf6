/* SPDX-License-Identifier: Apache-2.0 */
#include "util/sha256.h"

#include <nettle/sha2.h>
#include <stdio.h>

_Static_assert(SHA256_BYTES == SHA256_DIGEST_SIZE, "the size of a digest");

void sha256_of(const void *bytes, size_t n, uint8_t ret[static SHA256_BYTES]) {
        struct sha256_ctx sha;

        sha256_init(&sha);
        sha256_update(&sha, n, bytes);
        sha256_digest(&sha, SHA256_BYTES, ret);
}

void sha256_text(const void *bytes, size_t n, char ret[static SHA256_TEXT_MAX]) {
        uint8_t digest[SHA256_BYTES];

        sha256_of(bytes, n, digest);
        for (size_t i = 0; i < SHA256_BYTES; i++)
                (void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}
