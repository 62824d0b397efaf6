/* SPDX-License-Identifier: Apache-2.0 */
#include "util/scan.h"

#include <string.h>

const char *scan_blanks(const char *p) {
        while (*p == ' ' || *p == '\t')
                p++;
        return p;
}

const char *scan_line_end(const char *p) {
        const char *newline = strchr(p, '\n');

        return newline ? newline + 1 : p + strlen(p);
}

const char *scan_u64(const char *p, uint64_t *ret) {
        uint64_t v = 0;

        p = scan_blanks(p);
        if (*p < '0' || *p > '9')
                return NULL;

        for (; *p >= '0' && *p <= '9'; p++) {
                unsigned digit = (unsigned)(*p - '0');

                if (v > (UINT64_MAX - digit) / 10)
                        return NULL;
                v = v * 10 + digit;
        }

        *ret = v;
        return p;
}
