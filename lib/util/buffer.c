#include "util/buffer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void buffer_deinit(Buffer *buffer) {
        free(buffer->text);
        *buffer = (Buffer){};
}

void buffer_clear(Buffer *buffer) {
        buffer->n = 0;
        buffer->failed = false;
        if (buffer->text)
                buffer->text[0] = '\0';
}

/* Room for n more bytes and the NUL. */
static bool buffer_reserve(Buffer *buffer, size_t n) {
        size_t n_wanted, n_new;
        char *text;

        if (buffer->failed)
                return false;

        n_wanted = buffer->n + n + 1;
        if (n_wanted <= buffer->n_allocated)
                return true;

        n_new = buffer->n_allocated ? buffer->n_allocated : 128;
        while (n_new < n_wanted)
                n_new *= 2;

        text = realloc(buffer->text, n_new);
        if (!text) {
                buffer->failed = true;
                return false;
        }

        buffer->text = text;
        buffer->n_allocated = n_new;
        return true;
}

void buffer_put(Buffer *buffer, const void *bytes, size_t n) {
        if (!buffer_reserve(buffer, n))
                return;

        if (n > 0)
                memcpy(buffer->text + buffer->n, bytes, n);
        buffer->n += n;
        buffer->text[buffer->n] = '\0';
}

void buffer_puts(Buffer *buffer, const char *text) {
        buffer_put(buffer, text, strlen(text));
}

void buffer_putc(Buffer *buffer, char c) {
        buffer_put(buffer, &c, 1);
}

void buffer_vprintf(Buffer *buffer, const char *format, va_list args) {
        va_list again;
        int n;

        va_copy(again, args);
        n = vsnprintf(NULL, 0, format, again);
        va_end(again);

        if (n < 0 || !buffer_reserve(buffer, (size_t)n)) {
                buffer->failed = true;
                return;
        }

        (void)vsnprintf(buffer->text + buffer->n, (size_t)n + 1, format, args);
        buffer->n += (size_t)n;
}

void buffer_printf(Buffer *buffer, const char *format, ...) {
        va_list args;

        va_start(args, format);
        buffer_vprintf(buffer, format, args);
        va_end(args);
}

void buffer_put_u64(Buffer *buffer, uint64_t v) {
        char digits[20], *p = digits + sizeof(digits);

        do {
                *--p = (char)('0' + v % 10);
                v /= 10;
        } while (v > 0);

        buffer_put(buffer, p, (size_t)(digits + sizeof(digits) - p));
}

/* Integers take a short way: most counters are whole. */
static bool put_whole(Buffer *buffer, double v) {
        if (!(fabs(v) < 1e15) || v != floor(v) || (v == 0 && signbit(v)))
                return false;

        if (v < 0)
                buffer_putc(buffer, '-');
        buffer_put_u64(buffer, (uint64_t)fabs(v));
        return true;
}

void buffer_put_double(Buffer *buffer, double v) {
        char text[32];
        int n = 0;

        if (isnan(v)) {
                buffer_puts(buffer, "NaN");
                return;
        }
        if (isinf(v)) {
                buffer_puts(buffer, v > 0 ? "+Inf" : "-Inf");
                return;
        }
        if (put_whole(buffer, v))
                return;

        for (int precision = 15; precision <= 17; precision++) {
                n = snprintf(text, sizeof(text), "%.*g", precision, v);
                if (precision == 17 || strtod(text, NULL) == v)
                        break;
        }

        buffer_put(buffer, text, (size_t)n);
}

int buffer_error(const Buffer *buffer) {
        return buffer->failed ? -ENOMEM : 0;
}

char *buffer_take(Buffer *buffer) {
        char *text;

        if (buffer->failed) {
                buffer_deinit(buffer);
                return NULL;
        }

        text = buffer->text ? buffer->text : strdup("");
        *buffer = (Buffer){};
        return text;
}
