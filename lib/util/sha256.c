/* SPDX-License-Identifier: Apache-2.0 */
#include "util/sha256.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <unistd.h>

#define CHUNK_BYTES 65536U

_Static_assert(SHA256_BYTES == SHA256_DIGEST_SIZE, "the size of a digest");

void sha256_of(const void *bytes, size_t n, uint8_t ret[static SHA256_BYTES]) {
        struct sha256_ctx sha;

        sha256_init(&sha);
        sha256_update(&sha, n, bytes);
        sha256_digest(&sha, SHA256_BYTES, ret);
}

static void put_digits(const uint8_t digest[static SHA256_BYTES], char ret[static SHA256_TEXT_MAX]) {
        for (size_t i = 0; i < SHA256_BYTES; i++)
                (void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

void sha256_text(const void *bytes, size_t n, char ret[static SHA256_TEXT_MAX]) {
        uint8_t digest[SHA256_BYTES];

        sha256_of(bytes, n, digest);
        put_digits(digest, ret);
}

int sha256_file(int fd, char ret[static SHA256_TEXT_MAX]) {
        uint8_t digest[SHA256_BYTES], chunk[CHUNK_BYTES];
        struct sha256_ctx sha;
        ssize_t n;

        sha256_init(&sha);
        while ((n = read(fd, chunk, sizeof(chunk))) > 0)
                sha256_update(&sha, (size_t)n, chunk);
        if (n < 0)
                return -errno;
        sha256_digest(&sha, SHA256_BYTES, digest);
        put_digits(digest, ret);
        return 0;
}
