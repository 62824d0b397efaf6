/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text.h"

#include <math.h>
#include <string.h>

#include "util/clock.h"
#include "util/utf8.h"

#define DIGEST_DIGITS_MIN 32U /* of a build-id by MD5; those by SHA-1 have 40, a SHA-256 has 64 */

void text_duration(uint64_t ns, char ret[static TEXT_MAX]) {
        uint64_t s = ns / NS_PER_S;

        if (ns < NS_PER_S)
                snprintf(ret, TEXT_MAX, "%ju ms", (uintmax_t)((ns + NS_PER_MS / 2) / NS_PER_MS));
        else if (s < 60 && ns % NS_PER_S < NS_PER_MS)
                snprintf(ret, TEXT_MAX, "%ju s", (uintmax_t)s);
        else if (s < 60)
                snprintf(ret, TEXT_MAX, "%.*f s", s < 10 ? 2 : 1, (double)(ns / NS_PER_MS) / 1e3);
        else if (s < 3600)
                snprintf(ret, TEXT_MAX, "%ju min %02ju s", (uintmax_t)(s / 60), (uintmax_t)(s % 60));
        else if (s < 86400)
                snprintf(ret, TEXT_MAX, "%ju h %02ju min", (uintmax_t)(s / 3600), (uintmax_t)(s / 60 % 60));
        else
                snprintf(ret, TEXT_MAX, "%ju d %02ju h", (uintmax_t)(s / 86400), (uintmax_t)(s / 3600 % 24));
}

void text_seconds(double s, char ret[static TEXT_MAX]) {
        if (s >= 0 && s < 1e9)
                text_duration((uint64_t)(s * (double)NS_PER_S), ret);
        else
                snprintf(ret, TEXT_MAX, "-");
}

void text_seconds_brief(double s, char ret[static TEXT_MAX]) {
        static const struct {
                double s;
                const char *name;
        } units[] = { { 3600, "h" }, { 60, "min" }, { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" }, { 1e-9, "ns" } };
        size_t i = 0;

        while (i < N_ELEMENTS(units) - 1 && s < 0.9995 * units[i].s && s > 0)
                i++;
        i = s > 0 ? i : 2;
        if (s >= 0 && s < 1e9)
                snprintf(ret, TEXT_MAX, s < 999.5 * units[i].s ? "%.3g %s" : "%.0f %s", s / units[i].s, units[i].name);
        else
                snprintf(ret, TEXT_MAX, "-");
}

void text_number(double v, char ret[static TEXT_MAX]) {
        double size = fabs(v);

        if (v == 0)
                snprintf(ret, TEXT_MAX, "0");
        else if (size < 1e-4 || size >= 1e9)
                snprintf(ret, TEXT_MAX, "%.3g", v);
        else if (v == floor(v))
                snprintf(ret, TEXT_MAX, "%.0f", v);
        else
                snprintf(ret, TEXT_MAX, "%.*f",
                         size >= 1000  ? 0
                         : size >= 10  ? 1
                         : size >= 1   ? 2
                         : size >= 0.1 ? 3
                                       : 4,
                         v);
}

/* Inserts commas into the whole part of "-1234567.5". */
static void group_digits(char text[static TEXT_MAX]) {
        char *first = text + (text[0] == '-');
        size_t n = strspn(first, "0123456789");

        for (size_t i = n; n >= 5 && i > 3;) {
                i -= 3;
                memmove(first + i + 1, first + i, strlen(first + i) + 1);
                first[i] = ',';
        }
}

void text_figure(double v, char ret[static TEXT_MAX]) {
        double size = fabs(v);
        int n_whole;

        if (v != 0 && !(size >= 1e-4 && size < 1e15)) {
                snprintf(ret, TEXT_MAX, "%.6g", v);
                return;
        }
        n_whole = size >= 1 ? (int)floor(log10(size)) + 1 : 0;
        if (n_whole >= 6 || v == floor(v))
                snprintf(ret, TEXT_MAX, "%.0f", v);
        else
                snprintf(ret, TEXT_MAX, "%.6g", v);
        group_digits(ret);
}

void text_cpus(double cpus, char ret[static TEXT_MAX]) {
        if (cpus >= 100 || cpus == floor(cpus))
                snprintf(ret, TEXT_MAX, "%.0f", cpus);
        else
                snprintf(ret, TEXT_MAX, "%.*f", cpus < 10 ? 2 : 1, cpus);
}

void text_mib(double mib, char ret[static TEXT_MAX]) {
        static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB" };
        double v = mib * 1024;
        size_t unit = 0;

        while (fabs(v) >= 1024 && unit + 1 < N_ELEMENTS(units)) {
                v /= 1024;
                unit++;
        }

        if (v == 0)
                snprintf(ret, TEXT_MAX, "0 B");
        else
                snprintf(ret, TEXT_MAX, "%.*f %s", fabs(v) >= 100 ? 0 : fabs(v) >= 10 ? 1 : 2, v, units[unit]);
}

void text_joules(double joules, char ret[static TEXT_MAX]) {
        bool is_large = joules >= 99950;

        snprintf(ret, TEXT_MAX, is_large ? "%.3f MJ" : "%.0f J", is_large ? joules / 1e6 : joules);
}

void text_time(uint64_t realtime_ms, char ret[static TEXT_MAX]) {
        time_t s = (time_t)(realtime_ms / 1000);
        struct tm tm;

        if (realtime_ms == 0 || !localtime_r(&s, &tm) || strftime(ret, TEXT_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
                snprintf(ret, TEXT_MAX, "-");
}

const char *text_shorten_digest(const char *text, char ret[static TEXT_MAX]) {
        size_t n = strlen(text);

        if (n < DIGEST_DIGITS_MIN || strspn(text, "0123456789abcdef") != n)
                return text;
        (void)snprintf(ret, TEXT_MAX, "%.8s", text);
        return ret;
}

void text_put_valid(Buffer *out, const char *text, size_t n) {
        while (n > 0) {
                size_t k = *text ? utf8_length(text, n) : 0;

                if (k > 0)
                        buffer_put(out, text, k);
                else
                        buffer_puts(out, UTF8_REPLACEMENT);
                text += k ?: 1;
                n -= k ?: 1;
        }
}

void text_put_word(Buffer *out, const char *word) {
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";

        if (*word && word[strspn(word, plain)] == '\0') {
                buffer_puts(out, word);
                return;
        }

        buffer_putc(out, '\'');
        for (; *word; word++) {
                if (*word == '\'')
                        buffer_puts(out, "'\\''");
                else
                        buffer_putc(out, *word);
        }
        buffer_putc(out, '\'');
}
