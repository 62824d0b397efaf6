/* SPDX-License-Identifier: Apache-2.0 */
#include "util/parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/scan.h"
#include "util/scoped.h"

int parse_u64(const char *text, uint64_t *ret) {
        const char *end;
        uint64_t v;

        if (*text < '0' || *text > '9')
                return PARSE_MALFORMED;

        end = scan_u64(text, &v);
        if (!end)
                return PARSE_OUT_OF_RANGE;
        if (*end)
                return PARSE_MALFORMED;

        *ret = v;
        return 0;
}

int parse_double(const char *text, double *ret) {
        char *end;
        double v;

        /* strtod() also accepts hexadecimal numbers, infinities and leading blanks, which are errors here. */
        if (*text == '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
                return PARSE_MALFORMED;

        errno = 0;
        v = strtod(text, &end);
        if (end == text || *end)
                return PARSE_MALFORMED;
        if (!isfinite(v))
                return PARSE_OUT_OF_RANGE;

        *ret = v;
        return 0;
}

bool parse_is_decimal_comma(const char *text) {
        size_t n;

        text += *text == '-' || *text == '+';
        n = strspn(text, "0123456789");
        return text[n] == ',' && text[n + 1] && text[n + 1 + strspn(text + n + 1, "0123456789")] == '\0';
}

int parse_bool(const char *text, bool *ret) {
        static const char *const yes[] = { "yes", "true", "on", "1" };
        static const char *const no[] = { "no", "false", "off", "0" };

        for (size_t i = 0; i < N_ELEMENTS(yes); i++) {
                if (strcasecmp(text, yes[i]) != 0 && strcasecmp(text, no[i]) != 0)
                        continue;
                *ret = strcasecmp(text, yes[i]) == 0;
                return 0;
        }

        return PARSE_MALFORMED;
}

typedef struct Unit {
        const char *name;
        double factor;
} Unit;

/* Parses a number, optional blanks and a unit. */
static int parse_with_unit(const char *text, const Unit *units, size_t n_units, uint64_t *ret) {
        size_t n_number = strspn(text, "0123456789.");
        const char *unit = scan_blanks(text + n_number);
        char number[32];
        double v;
        int r;

        if (n_number == 0 || n_number >= sizeof(number))
                return PARSE_MALFORMED;

        memcpy(number, text, n_number);
        number[n_number] = '\0';
        r = parse_double(number, &v);
        if (r != 0)
                return r;

        for (size_t i = 0; i < n_units; i++) {
                if (strcmp(unit, units[i].name) != 0)
                        continue;
                if (v * units[i].factor >= 18446744073709549568.0)
                        return PARSE_OUT_OF_RANGE;
                *ret = (uint64_t)round(v * units[i].factor); /* llround() covers only half of the range of uint64_t */
                return 0;
        }

        return PARSE_MALFORMED;
}

int parse_duration_ns(const char *text, uint64_t *ret) {
        static const Unit units[] = {
                { "", 1e9 },      { "s", 1e9 },     { "sec", 1e9 },   { "ms", 1e6 },     { "us", 1e3 },
                { "min", 60e9 },  { "m", 60e9 },    { "h", 3600e9 },  { "d", 86400e9 },  { "w", 604800e9 },
        };

        return parse_with_unit(text, units, N_ELEMENTS(units), ret);
}

int parse_size(const char *text, uint64_t *ret) {
        static const Unit units[] = {
                { "", 1 },          { "B", 1 },
                { "K", 0x1p10 },    { "Ki", 0x1p10 },    { "KiB", 0x1p10 },
                { "M", 0x1p20 },    { "Mi", 0x1p20 },    { "MiB", 0x1p20 },
                { "G", 0x1p30 },    { "Gi", 0x1p30 },    { "GiB", 0x1p30 },
                { "T", 0x1p40 },    { "Ti", 0x1p40 },    { "TiB", 0x1p40 },
        };

        return parse_with_unit(text, units, N_ELEMENTS(units), ret);
}

int parse_hex(const char *text, uint8_t *ret, size_t n) {
        static const char digits[] = "0123456789abcdef";

        if (strlen(text) != 2 * n || strspn(text, digits) != 2 * n)
                return PARSE_MALFORMED;

        for (size_t i = 0; i < n; i++)
                ret[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) * 16 +
                                   (strchr(digits, text[2 * i + 1]) - digits));
        return 0;
}

bool parse_has_word(const char *text, const char *word, const char *separators) {
        for (size_t n = strlen(word), k; n > 0 && *text; text += k + (text[k] != '\0')) {
                k = strcspn(text, separators);
                if (k == n && memcmp(text, word, n) == 0)
                        return true;
        }
        return false;
}
