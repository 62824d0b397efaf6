/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Output tail: the last OUTPUT_TAIL_BYTES_MAX bytes that a command printed; earlier bytes are only counted
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

#define OUTPUT_TAIL_BYTES_MAX 65536U

typedef struct OutputTail {
        char *bytes; /* owned; NULL before the first byte */
        uint64_t n_all;
        bool failed; /* no memory for the bytes */
} OutputTail;

void output_tail_deinit(OutputTail *tail);
void output_tail_clear(OutputTail *tail); /* keeps the memory */
void output_tail_add(OutputTail *tail, const void *bytes, size_t n);

/* Appends at most OUTPUT_TAIL_BYTES_MAX of valid UTF-8; NUL and invalid bytes become U+FFFD. *ret_is_cut: there was
 * more output. */
void output_tail_text(const OutputTail *tail, Buffer *ret, bool *ret_is_cut);
