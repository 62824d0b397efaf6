/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Arena: memory that is released all at once
 *
 * Decoding one request allocates many small objects that live exactly as long as the request. They are allocated from
 * one block, which is reused for the next request. The block has a fixed size: allocations fail when the arena is
 * full, so that no input can make decoding use more memory than planned.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct Arena {
        uint8_t *bytes; /* owned */
        size_t n_used;
        size_t n_pushed, n_pushed_max; /* stack at the end of the block: current size, maximum since the last reset */
        size_t n_max;
} Arena;

/* Allocates the block; untouched pages use no memory. Returns 0 or -ENOMEM. */
int arena_init(Arena *arena, size_t n_max);
void arena_deinit(Arena *arena);

/* Returns zeroed memory aligned to 16 bytes, valid until arena_reset(); NULL if the arena is full. */
void *arena_alloc(Arena *arena, size_t n_bytes);
/* Copies n bytes and appends a NUL; NULL if the arena is full. */
char *arena_strndup(Arena *arena, const char *text, size_t n);
void arena_reset(Arena *arena);

/*
 * A stack at the end of the block, for items whose number is not known in advance. The memory is not zeroed, and is
 * aligned only as far as all sizes pushed are multiples of the alignment, up to 16. Pushing returns NULL if the arena
 * is full. Popped memory is readable until the next allocation.
 */
void *arena_push(Arena *arena, size_t n_bytes);
void *arena_pop(Arena *arena, size_t n_bytes);
/* Moves the last n items that were pushed into memory as of arena_alloc(), the first of them in front. NULL if the
 * arena is full. */
void *arena_take_pushed(Arena *arena, size_t n, size_t n_bytes);
