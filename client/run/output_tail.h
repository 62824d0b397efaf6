/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tail: the end of what a command printed
 *
 * Whatever passes through, the last OUTPUT_TAIL_BYTES_MAX are kept; what went before is only counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

#define OUTPUT_TAIL_BYTES_MAX 65536U

typedef struct OutputTail {
        char *bytes; /* owned; NULL until there are any */
        uint64_t n_all;
        bool failed; /* no memory for them */
} OutputTail;

void output_tail_deinit(OutputTail *tail);
void output_tail_clear(OutputTail *tail); /* keeps the memory */
void output_tail_add(OutputTail *tail, const void *bytes, size_t n);

/*
 * At most OUTPUT_TAIL_BYTES_MAX of valid UTF-8: whatever is none, and NUL, becomes U+FFFD. *ret_is_cut: there was more.
 */
void output_tail_text(const OutputTail *tail, Buffer *ret, bool *ret_is_cut);
