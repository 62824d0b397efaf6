/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Buffer: growing text or bytes
 *
 * Appending never fails on the spot: the first failed allocation is remembered,
 * later appends do nothing, and the owner asks once at the end with
 * buffer_error(). `text` is always NUL-terminated once something was appended.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/scoped.h"

typedef struct Buffer {
        char *text; /* owned; NULL while nothing was appended */
        size_t n;
        size_t n_allocated;
        bool failed;
} Buffer;

void buffer_deinit(Buffer *buffer);
void buffer_clear(Buffer *buffer); /* keeps the memory */

void buffer_put(Buffer *buffer, const void *bytes, size_t n);
/* n more bytes, for the caller to write at once; NULL when there is no memory for them. */
char *buffer_extend(Buffer *buffer, size_t n);
void buffer_puts(Buffer *buffer, const char *text);
void buffer_putc(Buffer *buffer, char c);
/* As a part of a path or a query of a URL: %XX for all but RFC 3986's unreserved characters. */
void buffer_put_encoded(Buffer *buffer, const char *text);
void buffer_printf(Buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_vprintf(Buffer *buffer, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void buffer_put_u64(Buffer *buffer, uint64_t v);
/* v / 10^n_decimals, exactly, without zeros at the end; n_decimals is 20 at most. */
void buffer_put_decimal(Buffer *buffer, uint64_t v, unsigned n_decimals);
/* Shortest decimal that reads back as the same double; "NaN", "+Inf", "-Inf" as OpenMetrics spells them. */
void buffer_put_double(Buffer *buffer, double v);

/* 0, or -ENOMEM when any append since the last clear failed. */
int buffer_error(const Buffer *buffer);

/* The text, moved out; caller frees. "" when empty, NULL when out of memory. The buffer is empty afterwards. */
char *buffer_take(Buffer *buffer);
