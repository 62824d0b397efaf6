/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SHA-256 (FIPS 180-4) of a text: identifies scripts and inputs. Nettle computes it. */

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32U
#define SHA256_TEXT_MAX (2U * SHA256_BYTES + 1U)

void sha256_of(const void *bytes, size_t n, uint8_t ret[static SHA256_BYTES]);
/* As 64 hexadecimal digits. */
void sha256_text(const void *bytes, size_t n, char ret[static SHA256_TEXT_MAX]);
/* As 64 hexadecimal digits of the rest of a file. 0 or a negative errno. */
int sha256_file(int fd, char ret[static SHA256_TEXT_MAX]);
