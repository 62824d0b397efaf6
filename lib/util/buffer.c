/* SPDX-License-Identifier: Apache-2.0 */
#include "util/buffer.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES_MIN 16384U /* free space before a read(2) */

void buffer_deinit(Buffer *buffer) {
        free(buffer->text);
        *buffer = (Buffer){};
}

void buffer_clear(Buffer *buffer) {
        buffer->n = 0;
        buffer->failed = buffer->is_full = false;
        if (buffer->text)
                buffer->text[0] = '\0';
}

bool buffer_reserve(Buffer *buffer, size_t n) {
        size_t n_wanted, n_new;
        char *text;

        if (buffer->failed)
                return false;

        buffer->is_full = buffer->n_max > 0 && n > buffer->n_max - buffer->n;
        if (buffer->is_full) {
                buffer->failed = true;
                return false;
        }

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

/* For a buffer that has n_max bytes: returns 0 at the end of the file, otherwise an error. */
static ssize_t read_beyond(Buffer *buffer, int fd) {
        char byte;
        ssize_t n = read(fd, &byte, 1);

        if (n <= 0)
                return n < 0 ? -errno : 0;

        buffer->failed = buffer->is_full = true;
        return buffer_error(buffer);
}

ssize_t buffer_read(Buffer *buffer, int fd) {
        size_t n_left = buffer->n_max > 0 ? buffer->n_max - buffer->n : SIZE_MAX, n_free;
        ssize_t n;

        if (n_left == 0 && !buffer->failed)
                return read_beyond(buffer, fd);
        if (!buffer_reserve(buffer, n_left < READ_BYTES_MIN ? n_left : READ_BYTES_MIN))
                return buffer_error(buffer);

        n_free = buffer->n_allocated - buffer->n - 1;
        n = read(fd, buffer->text + buffer->n, n_free < n_left ? n_free : n_left);
        if (n < 0)
                return -errno;

        buffer->n += (size_t)n;
        buffer->text[buffer->n] = '\0';
        return n;
}

void buffer_puts(Buffer *buffer, const char *text) {
        buffer_put(buffer, text, strlen(text));
}

void buffer_putc(Buffer *buffer, char c) {
        char *p = buffer_extend(buffer, 1);

        if (p)
                *p = c;
}

void buffer_put_encoded(Buffer *buffer, const char *text) {
        static const char unreserved[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

        for (;;) {
                size_t n = strspn(text, unreserved);

                buffer_put(buffer, text, n);
                if (!text[n])
                        return;
                buffer_printf(buffer, "%%%02X", (unsigned char)text[n]);
                text += n + 1;
        }
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

/* Writes two digits at a time: divisions take most of the time. */
static char *digits_before(char *end, uint64_t v) {
        static const char pairs[] =
                "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
                "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

        for (; v >= 100; v /= 100) {
                end -= 2;
                memcpy(end, pairs + 2 * (v % 100), 2);
        }
        if (v >= 10) {
                end -= 2;
                memcpy(end, pairs + 2 * v, 2);
        } else
                *--end = (char)('0' + v);
        return end;
}

char *buffer_write_u64(char *p, uint64_t v) {
        char digits[BUFFER_U64_MAX], *end = digits + sizeof(digits), *begin;

        begin = digits_before(end, v);
        memcpy(p, begin, (size_t)(end - begin));
        return p + (end - begin);
}

void buffer_put_u64(Buffer *buffer, uint64_t v) {
        char digits[BUFFER_U64_MAX], *end = digits + sizeof(digits), *p = digits_before(end, v);

        buffer_put(buffer, p, (size_t)(end - p));
}

void buffer_put_i64(Buffer *buffer, int64_t v) {
        char digits[BUFFER_U64_MAX + 1], *end = digits + sizeof(digits),
                                         *p = digits_before(end, v < 0 ? -(uint64_t)v : (uint64_t)v);

        if (v < 0)
                *--p = '-';
        buffer_put(buffer, p, (size_t)(end - p));
}

void buffer_put_decimal(Buffer *buffer, uint64_t v, unsigned n_decimals) {
        char digits[40], *end = digits + sizeof(digits), *p = end;

        assert(n_decimals <= 20);
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

/*
 * Appends a whole number without floating-point formatting; most counter values are whole. Returns false for other
 * numbers.
 */
static bool put_whole(Buffer *buffer, double v) {
        if (!(fabs(v) < 1e15) || v != floor(v) || (v == 0 && signbit(v)))
                return false;

        if (v < 0)
                buffer_putc(buffer, '-');
        buffer_put_u64(buffer, (uint64_t)fabs(v));
        return true;
}

/* Returns a power of ten; exact up to 10^22. */
static double power_of_ten(unsigned n) {
        static const double powers[] = {
                1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
        };

        return powers[n];
}

/* Returns the number of digits before the point, for 1e-4 <= size < 1e15. Each zero directly after the point counts
 * -1. */
static int count_whole_digits(double size) {
        static const double tenths[] = { 1e-1, 1e-2, 1e-3 };
        unsigned n = 0;

        if (size >= 1) {
                while (size >= power_of_ten(n))
                        n++;
                return (int)n;
        }

        while (n < N_ELEMENTS(tenths) && size < tenths[n])
                n++;
        return -(int)n;
}

/*
 * Rounds v × 10^n_decimals to the nearest whole number, with halves to even, as printf(3) does. fma(3) gives the
 * exact rounding error of the product; the sum below is exact as well.
 */
static uint64_t scale(double v, unsigned n_decimals) {
        double product = v * power_of_ten(n_decimals), lost = fma(v, power_of_ten(n_decimals), -product);
        double even = product < 0x1p53 ? 2 * floor(product / 2) : product;

        return (uint64_t)even + (uint64_t)(int64_t)nearbyint(product - even + lost);
}

/*
 * Appends a number of usual size with 15 digits, or with as many more as are needed to read the same number back.
 * Below 2^53 both parts of the quotient are exact, and reading the text gives that quotient rounded once. Above,
 * decimals are closer together than doubles.
 */
static bool put_usual(Buffer *buffer, double v) {
        double size = fabs(v);
        uint64_t scaled;
        unsigned n_decimals;

        if (!(size >= 1e-4 && size < 1e15))
                return false;

        n_decimals = (unsigned)(15 - count_whole_digits(size));
        while ((scaled = scale(size, n_decimals)) < UINT64_C(1) << 53 &&
               (double)scaled / power_of_ten(n_decimals) != size)
                n_decimals++;

        if (v < 0)
                buffer_putc(buffer, '-');
        buffer_put_decimal(buffer, scaled, n_decimals);
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
        if (put_whole(buffer, v) || put_usual(buffer, v))
                return;

        /* A subnormal number has fewer digits: 5e-324. */
        for (int precision = fabs(v) < DBL_MIN ? 1 : 15; precision <= 17; precision++) {
                n = snprintf(text, sizeof(text), "%.*g", precision, v);
                if (precision == 17 || strtod(text, NULL) == v)
                        break;
        }

        buffer_put(buffer, text, (size_t)n);
}

int buffer_error(const Buffer *buffer) {
        if (buffer->is_full)
                return -EFBIG;
        return buffer->failed ? -ENOMEM : 0;
}

void buffer_shrink(Buffer *buffer) {
        char *text = buffer->text ? realloc(buffer->text, buffer->n + 1) : NULL;

        if (!text)
                return; /* as large as before */
        buffer->text = text;
        buffer->n_allocated = buffer->n + 1;
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
