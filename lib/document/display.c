/* SPDX-License-Identifier: Apache-2.0 */
#include "document/display.h"

#include <string.h>

#define DECIMALS_MAX 17
#define DECIMALS_DEFAULT 6 /* as in Python and in C */

/* Parses a format. Returns the conversion, one of "feg", or 0. */
static char parse_format(const char *p, int *ret_decimals) {
        int decimals = DECIMALS_DEFAULT;
        char conversion;

        if (strncmp(p, "{:", 2) != 0)
                return 0;
        p += 2;
        if (*p == '.') {
                size_t n = strspn(p + 1, "0123456789");

                if (n == 0 || n > 2)
                        return 0;
                decimals = n == 1 ? p[1] - '0' : 10 * (p[1] - '0') + p[2] - '0';
                p += 1 + n;
        }
        conversion = *p;
        if (!conversion || !strchr("feg", conversion) || strcmp(p + 1, "}") != 0 || decimals > DECIMALS_MAX)
                return 0;

        *ret_decimals = decimals;
        return conversion;
}

bool display_format_is_valid(const char *format) {
        int unused;

        return parse_format(format, &unused) != 0;
}

static void put_number(const Display *display, double number, Buffer *out) {
        int decimals = 0;
        char conversion = display->format ? parse_format(display->format, &decimals) : 'f';

        if (display->divisor != 0)
                number /= display->divisor;
        switch (conversion) {
        case 'e':
                buffer_printf(out, "%.*e", decimals, number);
                break;
        case 'g':
                buffer_printf(out, "%.*g", decimals, number);
                break;
        default:
                buffer_printf(out, "%.*f", decimals, number);
        }
}

static void put_value(const Display *display, const Value *value, Buffer *out) {
        if (value_is_number(value))
                put_number(display, value_number(value), out);
        else
                value_write_json(value, &(Json){ .out = out });
}

void display_put(const Display *display, const char *unit, const Value *value, Buffer *out) {
        bool is_null = !value || value->type == VALUE_NULL;

        if (is_null)
                buffer_puts(out, "---");
        else if (value->type == VALUE_LIST)
                for (size_t i = 0; i < value->n_items; i++) {
                        buffer_puts(out, i > 0 ? ", " : "");
                        put_value(display, &value->items[i], out);
                }
        else
                put_value(display, value, out);
        if (display->divisor_unit && !is_null)
                unit = display->divisor_unit;
        if (unit)
                buffer_printf(out, " %s", unit);
}
