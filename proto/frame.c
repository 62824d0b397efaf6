/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/frame.h"

/* Little-endian groups of seven bits; the fifth byte has room for the top four of 32. */
int frame_read(const uint8_t *bytes, size_t n, size_t n_max, Frame *ret, size_t *ret_n_needed) {
        uint64_t n_body = 0;
        size_t n_header = 0;
        size_t unused;

        if (!ret_n_needed)
                ret_n_needed = &unused;
        *ret_n_needed = 0;

        do {
                if (n_header == FRAME_HEADER_MAX)
                        return FRAME_MALFORMED;
                if (n_header == n)
                        return FRAME_PENDING;
                n_body |= (uint64_t)(bytes[n_header] & 0x7f) << (7 * n_header);
        } while (bytes[n_header++] & 0x80);

        if (n_body > UINT32_MAX)
                return FRAME_MALFORMED;
        if (n_body > n_max)
                return FRAME_TOO_LARGE;

        *ret_n_needed = n_header + (size_t)n_body;
        if (n < n_header + n_body)
                return FRAME_PENDING;

        *ret = (Frame){ bytes + n_header, (size_t)n_body, n_header + (size_t)n_body };
        return 0;
}

size_t frame_write_header(uint8_t ret[static FRAME_HEADER_MAX], uint32_t n) {
        size_t n_header = 0;

        while (n >= 0x80) {
                ret[n_header++] = (uint8_t)(n | 0x80);
                n >>= 7;
        }
        ret[n_header++] = (uint8_t)n;

        return n_header;
}
