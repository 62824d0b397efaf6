/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Heap: what the allocator has. The members of mallinfo(), without overflow where the C library can (glibc 2.33). */

#include <malloc.h>

#if __GLIBC_PREREQ(2, 33)
typedef struct mallinfo2 Heap;
static inline Heap heap_look(void) {
        return mallinfo2();
}
#else
typedef struct mallinfo Heap;
static inline Heap heap_look(void) {
        return mallinfo();
}
#endif
