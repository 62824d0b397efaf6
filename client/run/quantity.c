/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/quantity.h"

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

static int parse_number(const char *text, size_t n, double *ret) {
        char number[64];
        int r;

        if (n == 0 || n >= sizeof(number))
                return QUANTITY_MALFORMED;

        memcpy(number, text, n);
        number[n] = '\0';
        r = parse_double(number, ret);
        return r == 0 ? 0 : r == PARSE_OUT_OF_RANGE ? QUANTITY_OUT_OF_RANGE : QUANTITY_MALFORMED;
}

int quantity_parse(const char *text, double *ret) {
        size_t n = strspn(text, "0123456789.");
        const char *suffix = text + n;
        double v;
        int r;

        if (n > 0 && is_exponent(suffix)) {
                n = strlen(text);
                suffix = text + n;
        }
        r = parse_number(text, n, &v);
        if (r != 0)
                return r;

        for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
                if (strcmp(suffix, suffixes[i].text) != 0)
                        continue;
                v = v * suffixes[i].factor / suffixes[i].divisor;
                if (!isfinite(v))
                        return QUANTITY_OUT_OF_RANGE;
                *ret = v;
                return 0;
        }

        return QUANTITY_MALFORMED;
}

static int to_bytes(double v, uint64_t *ret) {
        if (!(v < 0x1p63))
                return QUANTITY_OUT_OF_RANGE;

        *ret = (uint64_t)ceil(v);
        return 0;
}

int quantity_parse_bytes(const char *text, uint64_t *ret) {
        double v;
        int r;

        r = quantity_parse(text, &v);
        return r == 0 ? to_bytes(v, ret) : r;
}

int quantity_from_value(const Value *value, double *ret) {
        double v;

        if (value->type == VALUE_STRING)
                return quantity_parse(value->string, ret);
        if (value->type != VALUE_INT && value->type != VALUE_DOUBLE)
                return QUANTITY_MALFORMED;

        v = value->type == VALUE_INT ? (double)value->integer : value->number;
        if (!(v >= 0 && isfinite(v)))
                return QUANTITY_OUT_OF_RANGE;
        *ret = v;
        return 0;
}

int quantity_bytes_from_value(const Value *value, uint64_t *ret) {
        double v;
        int r;

        r = quantity_from_value(value, &v);
        return r == 0 ? to_bytes(v, ret) : r;
}
