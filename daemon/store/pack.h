/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pack: fields side by side in one block
 *
 * A row-set waits in the queue as one allocation. Its fields are packed by the caller's
 * thread and unpacked, in the same order, by the writer, which binds texts where they lie.
 * Both sides are this process: nothing here is a file format.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

void pack_u64(Buffer *buffer, uint64_t v);
void pack_double(Buffer *buffer, double v);
void pack_bytes(Buffer *buffer, const void *bytes, size_t n);
/* NULL comes back as NULL. */
void pack_text(Buffer *buffer, const char *text);

/* A text that is appended to the buffer piece by piece, between the two. */
size_t pack_text_begin(Buffer *buffer);
void pack_text_end(Buffer *buffer, size_t begin);

typedef struct Unpack {
        const char *p, *end; /* borrowed */
} Unpack;

/* A text and its length, borrowed from the block; NUL-terminated. */
typedef struct Text {
        const char *text; /* NULL: none */
        int n;
} Text;

uint64_t unpack_u64(Unpack *unpack);
double unpack_double(Unpack *unpack);
const void *unpack_bytes(Unpack *unpack, size_t n);
Text unpack_text(Unpack *unpack);
