/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Columns: integers as bytes, for the database
 *
 * Each number is the difference to the number before in its column, as a zigzag varint: 0, -1, 1, -2, … become 0, 1,
 * 2, 3, …, in groups of seven bits with the lowest first, whose eighth bit says whether another follows (Protocol
 * Buffers' sint64). Differences wrap around, so that every number is restored exactly. Numbers of one column are
 * next to each other, and neighbours are similar: most differences take one byte, and equal ones are repeated bytes,
 * which the compression of the store removes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/buffer.h"

typedef struct ColumnWriter {
        Buffer *out; /* borrowed; the owner checks buffer_error() at the end */
        int64_t before;
} ColumnWriter;

/* Begins a column: its first number is the difference to 0. */
void column_writer_begin(ColumnWriter *writer);
void column_writer_put(ColumnWriter *writer, int64_t v);

/* The bytes that remain to be read. An error is remembered, as in a Buffer: the caller checks has_failed at the end. */
typedef struct ColumnReader {
        const uint8_t *p, *end; /* borrowed */
        int64_t before;
        bool has_failed; /* the bytes end too early, or a number has more than 64 bits */
} ColumnReader;

void column_reader_init(ColumnReader *reader, const void *bytes, size_t n);
void column_reader_begin(ColumnReader *reader);
/* Returns the next number; 0 after an error. */
int64_t column_reader_get(ColumnReader *reader);
