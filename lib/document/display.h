/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Display: the value of a result as its model says that people read it
 *
 * format is a subset of Python's format strings: {:f}, {:e} or {:g}, with a precision as in {:.2f}. A shown value is
 * divided by the divisor and has the divisor's unit. Stored, compared and exported values are never changed.
 */

#include <stdbool.h>

#include "util/buffer.h"
#include "value/value.h"

typedef struct Display {
        const char *format;       /* borrowed; NULL: not declared */
        double divisor;           /* 0: not declared */
        const char *divisor_unit; /* borrowed; NULL if there is no divisor */
} Display;

bool display_format_is_valid(const char *format);

/*
 * Writes "20.00 GB", the items of a list as "1.00, 2.00 GB", or "--- GB" for null. Without a format, a number has no
 * decimals, as in reports of MatrixBenchmarking. Other values are written as JSON. unit: of the value; NULL for
 * none. value: NULL for null.
 */
void display_put(const Display *display, const char *unit, const Value *value, Buffer *out);
