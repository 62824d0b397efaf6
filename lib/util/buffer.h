/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Buffer: growing text or bytes
 *
 * Append functions do not return errors: after a failed allocation, or an append beyond n_max, later appends do
 * nothing, and the owner checks buffer_error() once at the end. `text` is NUL-terminated after the first append.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/scoped.h"

typedef struct Buffer {
        char *text; /* owned; NULL before the first append */
        size_t n;
        size_t n_allocated;
        size_t n_max; /* largest n; 0: no limit. Set by the owner, and kept by buffer_clear() only */
        bool failed, is_full; /* is_full: an append exceeded n_max */
} Buffer;

void buffer_deinit(Buffer *buffer);
void buffer_clear(Buffer *buffer); /* keeps the allocated memory */

/* Makes space for n more bytes and the NUL, so that appending them cannot fail. Returns false if out of memory or
 * beyond n_max. */
bool buffer_reserve(Buffer *buffer, size_t n);
void buffer_put(Buffer *buffer, const void *bytes, size_t n);
/* Appends n uninitialized bytes, which the caller must write at once; NULL if out of memory or beyond n_max. */
char *buffer_extend(Buffer *buffer, size_t n);
/*
 * Appends the bytes of one read(2), whose size grows with the buffer. Returns their number, 0 at the end of the file,
 * -EFBIG if there are more bytes than n_max, or another negative errno, among them -EINTR and -EAGAIN.
 */
ssize_t buffer_read(Buffer *buffer, int fd);
void buffer_puts(Buffer *buffer, const char *text);
void buffer_putc(Buffer *buffer, char c);
/*
 * Appends text percent-encoded for the path or query of a URL: all bytes but RFC 3986's unreserved characters become
 * %XX.
 */
void buffer_put_encoded(Buffer *buffer, const char *text);
void buffer_printf(Buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_vprintf(Buffer *buffer, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void buffer_put_u64(Buffer *buffer, uint64_t v);
void buffer_put_i64(Buffer *buffer, int64_t v);
/*
 * Writes a number to p, which has space for BUFFER_U64_MAX characters, without a NUL, and returns the end of the
 * number. For lines of many numbers, which are then put into a buffer as a whole.
 */
#define BUFFER_U64_MAX 20U
char *buffer_write_u64(char *p, uint64_t v);
/* Appends v / 10^n_decimals exactly, without trailing zeros; n_decimals is at most 20. */
void buffer_put_decimal(Buffer *buffer, uint64_t v, unsigned n_decimals);
/* Appends the shortest decimal that parses to the same double; "NaN", "+Inf", "-Inf" as in OpenMetrics. */
void buffer_put_double(Buffer *buffer, double v);

/* Returns 0; or if any append since the last clear failed, -EFBIG because of n_max, else -ENOMEM. */
int buffer_error(const Buffer *buffer);

/* Releases the unused part of the allocated memory. */
void buffer_shrink(Buffer *buffer);
/* Moves the text out; caller frees. "" if empty, NULL if out of memory. The buffer is empty afterwards. */
char *buffer_take(Buffer *buffer);
