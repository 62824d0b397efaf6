/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json_escape.h"

#include <assert.h>
#include <string.h>

static int hex4(const char *p, size_t n) {
        int v = 0;

        if (n < 4)
                return -1;
        for (int i = 0; i < 4; i++) {
                char c = p[i];
                int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;

                if (digit < 0)
                        return -1;
                v = v * 16 + digit;
        }
        return v;
}

/* Reads four digits, or a surrogate pair. p: after "\u". */
static size_t read_unicode(const char *p, size_t n, uint32_t *ret) {
        int high = hex4(p, n), low = -1;

        if (high < 0)
                return 0;
        if (high >= 0xd800 && high < 0xdc00 && n >= 10 && p[4] == '\\' && p[5] == 'u')
                low = hex4(p + 6, n - 6);
        if (low >= 0xdc00 && low < 0xe000) {
                *ret = 0x10000 + ((uint32_t)high - 0xd800) * 1024 + ((uint32_t)low - 0xdc00);
                return 10;
        }

        *ret = (uint32_t)high;
        return 4;
}

size_t json_escape_read(const char *text, size_t n, uint32_t *ret) {
        static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        const char *name;
        size_t k;

        if (n == 0)
                return 0;
        if (text[0] == 'u') {
                k = read_unicode(text + 1, n - 1, ret);
                return k > 0 ? k + 1 : 0;
        }

        name = text[0] ? strchr(names, text[0]) : NULL;
        if (!name)
                return 0;
        *ret = (uint32_t)meanings[name - names];
        return 1;
}

size_t json_escape_put_utf8(uint32_t code_point, char ret[static 4]) {
        static const unsigned char first_bits[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
        size_t n = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;

        assert(code_point <= 0x10ffff);

        for (size_t i = n - 1; i > 0; i--, code_point >>= 6)
                ret[i] = (char)(0x80 | (code_point & 63));
        ret[0] = (char)(first_bits[n] | code_point);
        return n;
}
