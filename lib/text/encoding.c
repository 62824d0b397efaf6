/* SPDX-License-Identifier: Apache-2.0 */
#include "text/encoding.h"

#include <stdbool.h>
#include <string.h>

#define MARK "\xef\xbb\xbf"
#define MARK_BYTES (sizeof(MARK) - 1)

/* The first character of a text is ASCII or has a byte order mark: one of two bytes is NUL, or the mark is that of
 * UTF-16 or UTF-32. */
static bool is_foreign(const char *text, size_t n) {
        return n >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0 || !text[0] || !text[1]);
}

int encoding_unify(char *text, size_t *n) {
        size_t to = 0;

        if (is_foreign(text, *n))
                return ENCODING_FOREIGN;
        if (!memchr(text, '\r', *n) && !memmem(text, *n, MARK, MARK_BYTES))
                return 0;
        for (size_t at = 0; at < *n;) {
                if ((to == 0 || text[to - 1] == '\n') && *n - at >= MARK_BYTES &&
                    memcmp(text + at, MARK, MARK_BYTES) == 0) {
                        at += MARK_BYTES;
                        continue;
                }
                if (text[at] == '\r' && at + 1 < *n && text[at + 1] == '\n')
                        at++;
                text[to++] = text[at] == '\r' ? '\n' : text[at];
                at++;
        }
        text[to] = '\0';
        *n = to;
        return 0;
}
