/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pack.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define NO_TEXT UINT32_MAX

void pack_u64(Buffer *buffer, uint64_t v) {
        buffer_put(buffer, &v, sizeof(v));
}

void pack_double(Buffer *buffer, double v) {
        buffer_put(buffer, &v, sizeof(v));
}

void pack_bytes(Buffer *buffer, const void *bytes, size_t n) {
        buffer_put(buffer, bytes, n);
}

static void pack_length(Buffer *buffer, uint32_t n) {
        buffer_put(buffer, &n, sizeof(n));
}

size_t pack_text_begin(Buffer *buffer) {
        pack_length(buffer, 0);
        return buffer->n;
}

void pack_text_end(Buffer *buffer, size_t begin) {
        uint32_t n;

        /* After a failed append, `begin` may lie beyond the buffer. */
        if (buffer->failed)
                return;
        assert(begin >= sizeof(n) && begin <= buffer->n);
        if (buffer->n - begin > INT_MAX) {
                buffer->failed = true;
                return;
        }

        n = (uint32_t)(buffer->n - begin);
        memcpy(buffer->text + begin - sizeof(n), &n, sizeof(n));
        buffer_putc(buffer, '\0');
}

void pack_text(Buffer *buffer, const char *text) {
        size_t begin;

        if (!text) {
                pack_length(buffer, NO_TEXT);
                return;
        }

        begin = pack_text_begin(buffer);
        buffer_puts(buffer, text);
        pack_text_end(buffer, begin);
}

const void *pack_read_bytes(Unpack *unpack, size_t n) {
        const char *bytes = unpack->p;

        assert((size_t)(unpack->end - unpack->p) >= n);
        unpack->p += n;
        return bytes;
}

uint64_t pack_read_u64(Unpack *unpack) {
        uint64_t v;

        memcpy(&v, pack_read_bytes(unpack, sizeof(v)), sizeof(v));
        return v;
}

double pack_read_double(Unpack *unpack) {
        double v;

        memcpy(&v, pack_read_bytes(unpack, sizeof(v)), sizeof(v));
        return v;
}

Text pack_read_text(Unpack *unpack) {
        uint32_t n;

        memcpy(&n, pack_read_bytes(unpack, sizeof(n)), sizeof(n));
        if (n == NO_TEXT)
                return (Text){};
        return (Text){ pack_read_bytes(unpack, (size_t)n + 1), (int)n };
}
