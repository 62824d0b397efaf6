/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cgroup/quantity.h"

#include <math.h>
#include <string.h>

#include "util/parse.h"
#include "util/scoped.h"

typedef struct Suffix {
        const char *text;
        double factor, divisor; /* both are exact, as 0.001 would not be */
} Suffix;

static const Suffix suffixes[] = {
        { "", 1, 1 },        { "n", 1, 1e9 },     { "u", 1, 1e6 },     { "m", 1, 1e3 },     { "k", 1e3, 1 },     { "K", 1e3, 1 },
        { "M", 1e6, 1 },     { "G", 1e9, 1 },     { "T", 1e12, 1 },    { "P", 1e15, 1 },    { "E", 1e18, 1 },    { "Ki", 0x1p10, 1 },
        { "Mi", 0x1p20, 1 }, { "Gi", 0x1p30, 1 }, { "Ti", 0x1p40, 1 }, { "Pi", 0x1p50, 1 }, { "Ei", 0x1p60, 1 },
};

/* "1E" is a suffix, "1E3" is an exponent. */
static bool is_exponent(const char *suffix) {
        return (suffix[0] == 'e' || suffix[0] == 'E') && suffix[1] != '\0' && strchr("0123456789+-", suffix[1]);
}

static bool parse_text(const char *text, double *ret) {
        size_t n = strspn(text, "0123456789.");
        char number[64];

        if (n > 0 && is_exponent(text + n))
                n = strlen(text);
        if (n == 0 || n >= sizeof(number))
                return false;
        memcpy(number, text, n);
        number[n] = '\0';
        if (parse_double(number, ret) != 0)
                return false;

        for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
                if (strcmp(text + n, suffixes[i].text) != 0)
                        continue;
                *ret = *ret * suffixes[i].factor / suffixes[i].divisor;
                return true;
        }

        return false;
}

bool quantity_read(const Value *value, double *ret) {
        double v = -1;

        if (value->type == VALUE_STRING && !parse_text(value->string, &v))
                return false;
        if (value_is_number(value))
                v = value_number(value);
        if (!(v >= 0 && isfinite(v)))
                return false;

        *ret = v;
        return true;
}

bool quantity_read_bytes(const Value *value, uint64_t *ret) {
        double v;

        if (!quantity_read(value, &v) || !(v < 0x1p63))
                return false;

        *ret = (uint64_t)ceil(v);
        return true;
}
