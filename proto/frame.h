/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Frames: varint length-delimited messages, the format protobuf runtimes call delimited
 *
 * Works on buffers, does no I/O, allocates nothing.
 */

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_MAX 5U /* a 32-bit length */

enum {
        FRAME_PENDING = 1, /* not all there yet; for frame_read also sets *ret_n_needed */
        FRAME_TOO_LARGE,   /* announces more than n_max bytes */
        FRAME_MALFORMED,   /* the length is no varint of up to 32 bits */
};

typedef struct Frame {
        const uint8_t *data; /* points into the input */
        size_t n;
        size_t n_consumed; /* header and body */
} Frame;

/*
 * The first frame in n bytes. ret_n_needed (may be NULL): bytes in all that the frame will take, once that is known,
 * else 0.
 */
int frame_read(const uint8_t *bytes, size_t n, size_t n_max, Frame *ret, size_t *ret_n_needed);

/* Writes the header for a body of n bytes; returns its length, 1…5. */
size_t frame_write_header(uint8_t ret[static FRAME_HEADER_MAX], uint32_t n);
