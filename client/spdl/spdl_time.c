/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_time.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"

#define DATE_BYTES   19U /* 2026-11-23 05:12:37 */
#define ZONE_BYTES   6U  /* +02:00 */
#define DECIMALS_MAX 9U

/* Copies a zone, also one without a colon. Returns the number of bytes, 0 without a zone. */
static size_t copy_zone(const char *p, size_t n, char ret[static ZONE_BYTES]) {
        size_t n_digits = 0, at = 1;

        if (n > 0 && (*p == 'Z' || *p == 'z')) {
                *ret = 'Z';
                return 1;
        }
        if (n == 0 || !strchr("+-", *p))
                return 0;
        *ret = *p;
        for (size_t i = 1; i < n && n_digits < 4 && (isdigit((unsigned char)p[i]) || (p[i] == ':' && n_digits == 2)); i++) {
                if (p[i] == ':')
                        continue;
                if (n_digits++ == 2)
                        ret[at++] = ':';
                ret[at++] = p[i];
        }
        return n_digits == 4 ? at : 0;
}

static double to_local(double utc_s) {
        time_t s = (time_t)utc_s;
        struct tm tm = {};

        (void)gmtime_r(&s, &tm);
        tm.tm_isdst = -1;
        return (double)mktime(&tm) + (utc_s - (double)s);
}

static double read_time(const char *p, size_t n) {
        char text[DATE_BYTES + 1 + DECIMALS_MAX + ZONE_BYTES + 1];
        size_t used = DATE_BYTES, n_text = DATE_BYTES, n_decimals, n_zone;
        uint64_t ns;

        memcpy(text, p, DATE_BYTES);
        if (used + 1 < n && strchr(".,", p[used]) && isdigit((unsigned char)p[used + 1])) {
                text[n_text++] = '.';
                for (n_decimals = 0, used++; used < n && isdigit((unsigned char)p[used]); used++)
                        if (n_decimals++ < DECIMALS_MAX)
                                text[n_text++] = p[used];
        }
        n_zone = copy_zone(p + used, n - used, text + n_text);
        text[n_text + n_zone] = '\0';
        if (clock_parse_utc(text, &ns) != 0)
                return NAN;
        return n_zone > 0 ? (double)ns / 1e9 : to_local((double)ns / 1e9);
}

double spdl_time_find(const char *text, size_t n) {
        double time_s = NAN;

        for (size_t i = 0; isnan(time_s) && i + DATE_BYTES <= n; i++)
                if (isdigit((unsigned char)text[i]) && text[i + 4] == '-' && (i == 0 || !isdigit((unsigned char)text[i - 1])))
                        time_s = read_time(text + i, n - i);
        return time_s;
}
