/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: frames of any bytes, in pieces of any size
 *
 * The division of a stream into reads must not affect the frames, and the announced size must be respected.
 */

#include <assert.h>
#include <string.h>

#include "proto/frame.h"

#define N_MAX 4096U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is known from the first n bytes must hold when there are more. */
static void check_prefixes(const uint8_t *bytes, size_t n_all, int outcome, const Frame *whole) {
        size_t n_announced = 0;

        for (size_t n = 0; n < n_all; n++) {
                size_t n_needed;
                Frame frame;
                int r = frame_read(bytes, n, N_MAX, &frame, &n_needed);

                assert(r == FRAME_PENDING || r == outcome);
                assert(n_announced == 0 || n_needed == n_announced);
                n_announced = n_needed;
                if (r == 0)
                        assert(frame.n_consumed == whole->n_consumed && frame.n_consumed <= n);
                else if (r == FRAME_PENDING && n_needed > 0)
                        assert(n_needed > n && n_needed <= N_MAX + FRAME_HEADER_MAX);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        size_t at = 0;
        int r = 0;

        while (r == 0 && at < size) {
                uint8_t header[FRAME_HEADER_MAX];
                Frame frame = {};

                r = frame_read(data + at, size - at, N_MAX, &frame, NULL);
                check_prefixes(data + at, size - at > 2 * N_MAX ? 2 * N_MAX : size - at, r, &frame);
                if (r != 0)
                        break;

                assert(frame.data + frame.n == data + at + frame.n_consumed);
                assert(frame.n <= N_MAX);
                assert(frame_write_header(header, (uint32_t)frame.n) <= frame.n_consumed - frame.n);
                at += frame.n_consumed;
        }

        return 0;
}
