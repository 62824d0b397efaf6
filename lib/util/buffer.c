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

char *buffer_extend(Buffer *buffer, size_t n) {
        char *begin;

        if (!buffer_reserve(buffer, n))
                return NULL;

        begin = buffer->text + buffer->n;
        begin[n] = '\0';
        buffer->n += n;
        return begin;
}

void buffer_put(Buffer *buffer, const void *bytes, size_t n) {
        char *p = buffer_extend(buffer, n);

        if (p && n > 0)
                memcpy(p, bytes, n);
}

void buffer_puts(Buffer *buffer, const char *text) {
        buffer_put(buffer, text, strlen(text));
}

void buffer_putc(Buffer *buffer, char c) {
        char *p = buffer_extend(buffer, 1);

        if (p)
                *p = c;
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

static char *digits_before(char *end, uint64_t v) {
        do {
                *--end = (char)('0' + v % 10);
                v /= 10;
        } while (v > 0);

        return end;
}

void buffer_put_u64(Buffer *buffer, uint64_t v) {
        char digits[20], *end = digits + sizeof(digits), *p = digits_before(end, v);

        buffer_put(buffer, p, (size_t)(end - p));
}

void buffer_put_decimal(Buffer *buffer, uint64_t v, unsigned n_decimals) {
        char digits[40], *end = digits + sizeof(digits), *p = end;

        for (; n_decimals > 0 && v % 10 == 0; n_decimals--)
                v /= 10;
        if (n_decimals > 0) {
                for (; n_decimals > 0; n_decimals--, v /= 10)
                        *--p = (char)('0' + v % 10);
                *--p = '.';
        }

        p = digits_before(p, v);
        buffer_put(buffer, p, (size_t)(end - p));
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

/*
 * So do those that count nanoseconds or less often: with 15 digits at most both numbers of the quotient are exact, and what
 * is read from the decimal is that quotient, rounded once.
 */
static bool put_fraction(Buffer *buffer, double v) {
        double billionths = nearbyint(fabs(v) * 1e9);

        if (!(fabs(v) >= 1e-4) || !(billionths < 1e15) || billionths / 1e9 != fabs(v))
                return false;

        if (v < 0)
                buffer_putc(buffer, '-');
        buffer_put_decimal(buffer, (uint64_t)billionths, 9);
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
        if (put_whole(buffer, v) || put_fraction(buffer, v))
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
