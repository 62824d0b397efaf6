/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pack: fields of a row set, one after the other in one block
 *
 * The caller's thread packs fields; the writer unpacks them in the same order and binds texts in place. Both sides are this process:
 * the block is no file format.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

void pack_u64(Buffer *buffer, uint64_t v);
void pack_double(Buffer *buffer, double v);
void pack_bytes(Buffer *buffer, const void *bytes, size_t n);
/* NULL is unpacked as NULL. */
void pack_text(Buffer *buffer, const char *text);

/* Between the two, the caller appends the pieces of a text to the buffer. */
size_t pack_text_begin(Buffer *buffer);
void pack_text_end(Buffer *buffer, size_t begin);

typedef struct Unpack {
        const char *p, *end; /* borrowed */
} Unpack;

/* A text with its length, terminated by NUL; borrowed from the block. */
typedef struct Text {
        const char *text; /* NULL: none */
        int n;
} Text;

uint64_t pack_read_u64(Unpack *unpack);
double pack_read_double(Unpack *unpack);
const void *pack_read_bytes(Unpack *unpack, size_t n);
Text pack_read_text(Unpack *unpack);
