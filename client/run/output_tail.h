#pragma once

/*
 * Tail: the end of what a command printed
 *
 * Whatever passes through, the last TAIL_BYTES_MAX are kept; what went before is only counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

#define TAIL_BYTES_MAX 65536U

typedef struct Tail {
        char *bytes; /* owned; NULL until there are any */
        uint64_t n_all;
        bool failed; /* no memory for them */
} Tail;

void tail_deinit(Tail *tail);
void tail_clear(Tail *tail); /* keeps the memory */
void tail_add(Tail *tail, const void *bytes, size_t n);

/*
 * At most TAIL_BYTES_MAX of valid UTF-8: whatever is none, and NUL, becomes U+FFFD. *ret_is_cut: there was more.
 */
void tail_text(const Tail *tail, Buffer *ret, bool *ret_is_cut);
