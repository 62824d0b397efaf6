/* SPDX-License-Identifier: Apache-2.0 */
#include "util/arena.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 16U

/* Maps the block instead of using malloc(): untouched pages cost nothing, and used pages can be returned to the
 * kernel. */
int arena_init(Arena *arena, size_t n_wanted) {
        /* keeps memory that is pushed at the end aligned */
        size_t n_max = (n_wanted + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
        void *bytes = mmap(NULL, n_max, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (bytes == MAP_FAILED)
                return -ENOMEM;

        *arena = (Arena){ .bytes = bytes, .n_max = n_max };
        return 0;
}

void arena_deinit(Arena *arena) {
        if (arena->bytes)
                munmap(arena->bytes, arena->n_max);
        *arena = (Arena){};
}

void *arena_alloc(Arena *arena, size_t n_bytes) {
        size_t n;
        void *p;

        assert(arena->n_used + arena->n_pushed <= arena->n_max);
        if (n_bytes > arena->n_max - arena->n_pushed - arena->n_used)
                return NULL;

        n = (n_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
        if (n > arena->n_max - arena->n_pushed - arena->n_used)
                return NULL;

        p = arena->bytes + arena->n_used;
        arena->n_used += n;
        return memset(p, 0, n_bytes);
}

char *arena_strndup(Arena *arena, const char *text, size_t n) {
        char *copy;

        if (n == SIZE_MAX)
                return NULL;

        copy = arena_alloc(arena, n + 1);
        if (copy && n > 0)
                memcpy(copy, text, n);
        return copy;
}

/* A reset returns pages beyond this size, touched by an unusually large request, to the kernel. */
#define KEEP_BYTES (256U * 1024U)

void arena_reset(Arena *arena) {
        assert(arena->n_pushed <= arena->n_pushed_max);
        if (arena->n_used > KEEP_BYTES || arena->n_pushed_max > KEEP_BYTES)
                (void)madvise(arena->bytes + KEEP_BYTES, arena->n_max - KEEP_BYTES, MADV_DONTNEED);
        arena->n_used = arena->n_pushed = arena->n_pushed_max = 0;
}

void *arena_push(Arena *arena, size_t n_bytes) {
        assert(arena->n_used + arena->n_pushed <= arena->n_max);
        if (n_bytes > arena->n_max - arena->n_pushed - arena->n_used)
                return NULL;

        arena->n_pushed += n_bytes;
        if (arena->n_pushed > arena->n_pushed_max)
                arena->n_pushed_max = arena->n_pushed;
        return arena->bytes + arena->n_max - arena->n_pushed;
}

void *arena_pop(Arena *arena, size_t n_bytes) {
        void *popped = arena->bytes + arena->n_max - arena->n_pushed;

        assert(n_bytes <= arena->n_pushed);
        arena->n_pushed -= n_bytes;
        return popped;
}

void *arena_take_pushed(Arena *arena, size_t n, size_t n_bytes) {
        char *taken = arena_alloc(arena, n * n_bytes);
        const char *pushed;

        if (!taken)
                return NULL;
        pushed = arena_pop(arena, n * n_bytes);
        for (size_t i = n; i > 0; i--, pushed += n_bytes)
                memcpy(taken + (i - 1) * n_bytes, pushed, n_bytes);
        return taken;
}
