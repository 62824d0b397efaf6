/* SPDX-License-Identifier: Apache-2.0 */
#include "util/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "util/scoped.h"

size_t utf8_length(const char *text, size_t n) {
        static const struct {
                unsigned char first_min, first_max, second_min, second_max;
                size_t n;
        } forms[] = {
                { 0x00, 0x7f, 0,    0,    1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
                { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
                { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
        };
        const unsigned char *p = (const unsigned char *)text;

        for (size_t i = 0; i < N_ELEMENTS(forms); i++) {
                if (p[0] < forms[i].first_min || p[0] > forms[i].first_max)
                        continue;
                if (forms[i].n > n)
                        return 0;
                if (forms[i].n > 1 && (p[1] < forms[i].second_min || p[1] > forms[i].second_max))
                        return 0;
                for (size_t k = 2; k < forms[i].n; k++)
                        if ((p[k] & 0xc0) != 0x80)
                                return 0;
                return forms[i].n;
        }

        return 0;
}

bool utf8_is_valid(const char *text, size_t n) {
        size_t i = 0;

        while (i < n) {
                uint64_t eight;
                size_t k;

                /* fast path for ASCII, eight bytes at a time */
                if (n - i >= sizeof(eight)) {
                        memcpy(&eight, text + i, sizeof(eight));
                        if (!(eight & UINT64_C(0x8080808080808080))) {
                                i += sizeof(eight);
                                continue;
                        }
                }

                k = (unsigned char)text[i] < 0x80 ? 1 : utf8_length(text + i, n - i);
                if (k == 0)
                        return false;
                i += k;
        }

        return true;
}

/* U+0080 to U+009F, which terminals also interpret as commands, are encoded as C2 80 to C2 9F. */
static bool is_control(const char *p) {
        unsigned char first = (unsigned char)p[0], second = (unsigned char)p[1];

        return first < 0x20 || first == 0x7f || (first == 0xc2 && second >= 0x80 && second < 0xa0);
}

bool utf8_is_line(const char *text) {
        for (const char *p = text; *p; p++)
                if (is_control(p))
                        return false;

        return utf8_is_valid(text, strlen(text));
}

size_t utf8_cut(const char *text, size_t n_max) {
        size_t n = strnlen(text, n_max + 1);

        if (n <= n_max)
                return n;

        n = n_max;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
                n--;
        return n;
}

void utf8_copy(char *ret, size_t n_ret, const char *text) {
        size_t n = utf8_cut(text, n_ret - 1);

        memcpy(ret, text, n);
        ret[n] = '\0';
}

void utf8_copy_ellipsis(char *ret, size_t n_ret, const char *text) {
        static const char ellipsis[] = "…";
        bool fits = strlen(text) < n_ret;

        utf8_copy(ret, fits ? n_ret : n_ret - (sizeof(ellipsis) - 1), text);
        if (!fits)
                strcat(ret, ellipsis);
}

void utf8_vformat(char *ret, size_t n_ret, const char *format, va_list arguments) {
        size_t n, n_kept = 0, k;

        ret[0] = '\0';
        if (vsnprintf(ret, n_ret, format, arguments) < 0)
                return;

        n = strlen(ret);
        for (size_t i = 0; i < n; i += k > 0 ? k : 1) {
                k = utf8_length(ret + i, n - i);
                memmove(ret + n_kept, ret + i, k);
                n_kept += k;
        }
        ret[n_kept] = '\0';
}

void utf8_format(char *ret, size_t n_ret, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        utf8_vformat(ret, n_ret, format, arguments);
        va_end(arguments);
}

/* --- for terminals ------------------------------------------------------------------------------- */

uint32_t utf8_decode(const char *text, size_t n) {
        const unsigned char *p = (const unsigned char *)text;
        uint32_t c = n == 1 ? p[0] : p[0] & (0x7fU >> n);

        assert(n >= 1 && n <= 4);
        for (size_t i = 1; i < n; i++)
                c = c << 6 | (p[i] & 0x3f);
        return c;
}

bool utf8_is_unsafe(uint32_t c) {
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f || c == 0x2028 ||
               c == 0x2029 || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

size_t utf8_make_safe(const char *text, size_t n, char ret[static UTF8_SAFE_MAX]) {
        size_t k = utf8_length(text, n);
        uint32_t c = k > 0 ? utf8_decode(text, k) : (unsigned char)text[0];

        if (k > 0 && !utf8_is_unsafe(c)) {
                memcpy(ret, text, k);
                ret[k] = '\0';
        } else if (c == '\n' || c == '\t' || c == '\r')
                snprintf(ret, UTF8_SAFE_MAX, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else if (k <= 1)
                snprintf(ret, UTF8_SAFE_MAX, "\\x%02x", c & 0xff);
        else
                snprintf(ret, UTF8_SAFE_MAX, "\\u{%04x}", c & 0xffff);

        return k > 0 ? k : 1;
}

size_t utf8_make_plain(const char *text, size_t n, char ret[static UTF8_SAFE_MAX]) {
        if (utf8_length(text, n) == 0) {
                strcpy(ret, UTF8_REPLACEMENT);
                return 1;
        }
        if (*text != '\n' && *text != '\t' && *text != '\r')
                return utf8_make_safe(text, n, ret);

        memcpy(ret, (const char[]){ *text, '\0' }, 2);
        return 1;
}
