/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Arena: memory that is given back all at once
 *
 * Decoding one request allocates many small pieces that live exactly as long as
 * the request. They come from one block, reused for the next request. The block
 * has a fixed size: an arena that is full refuses, so that no input can make
 * decoding take more memory than was planned.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct Arena {
        uint8_t *bytes; /* owned */
        size_t n_used;
        size_t n_pushed, n_pushed_max; /* at the end of the block; since the last reset */
        size_t n_max;
} Arena;

/* Allocates the block (lazily backed: untouched pages cost nothing). 0 or -ENOMEM. */
int arena_init(Arena *arena, size_t n_max);
void arena_deinit(Arena *arena);

/* Zeroed memory aligned to 16, valid until arena_reset(); NULL when the arena is full. */
void *arena_alloc(Arena *arena, size_t n_bytes);
/* NUL-terminated copy of n bytes; NULL when full. */
char *arena_strndup(Arena *arena, const char *text, size_t n);
void arena_reset(Arena *arena);

/*
 * A stack at the end of the block, for what is collected before its size is known. The memory is not zeroed and not aligned
 * beyond what n_bytes is a multiple of, up to 16; NULL when the arena is full. The last pushed is the first popped. Popped
 * memory can be read until the next allocation.
 */
void *arena_push(Arena *arena, size_t n_bytes);
void *arena_pop(Arena *arena, size_t n_bytes);
