/* SPDX-License-Identifier: Apache-2.0 */
#include "util/columns.h"

#define GROUP_BITS 7U
#define GROUP_MASK 0x7fU
#define MORE 0x80U
#define VARINT_BYTES_MAX 10U /* of a number of 64 bits */

void column_writer_begin(ColumnWriter *writer) {
        writer->before = 0;
}

void column_writer_put(ColumnWriter *writer, int64_t v) {
        uint64_t difference = (uint64_t)v - (uint64_t)writer->before;
        uint64_t rest = difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
        uint8_t bytes[VARINT_BYTES_MAX];
        size_t n = 0;

        for (; rest > GROUP_MASK; rest >>= GROUP_BITS)
                bytes[n++] = (uint8_t)(rest & GROUP_MASK) | MORE;
        bytes[n++] = (uint8_t)rest;
        buffer_put(writer->out, bytes, n);
        writer->before = v;
}

void column_reader_init(ColumnReader *reader, const void *bytes, size_t n) {
        *reader = (ColumnReader){ .p = bytes, .end = bytes ? (const uint8_t *)bytes + n : NULL };
}

void column_reader_begin(ColumnReader *reader) {
        reader->before = 0;
}

static bool read_varint(ColumnReader *reader, uint64_t *ret) {
        uint64_t v = 0;

        for (unsigned shift = 0; reader->p < reader->end; shift += GROUP_BITS) {
                uint64_t group = *reader->p & GROUP_MASK;
                bool has_more = *reader->p++ & MORE;

                /* The tenth group has the highest bit only. */
                if (shift + GROUP_BITS > 64 && (has_more || group > 1))
                        return false;
                v |= group << shift;
                if (!has_more) {
                        *ret = v;
                        return true;
                }
        }
        return false;
}

int64_t column_reader_get(ColumnReader *reader) {
        uint64_t v;

        if (reader->has_failed || !read_varint(reader, &v)) {
                reader->has_failed = true;
                return 0;
        }
        reader->before = (int64_t)((uint64_t)reader->before + (v >> 1 ^ (v & 1 ? UINT64_MAX : 0)));
        return reader->before;
}
