/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Series input: numbers from a text
 *
 * One number a line; CSV with a header or without, whose rows may have a time; or JSON: a list of numbers, a list of objects
 * {"time": …, "value": …}, or an object with one list of numbers. Missing values (an empty field, null, NaN) are left out.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"

typedef struct SeriesPoint {
        double value;  /* finite */
        size_t at;     /* from 0: which value of the input, missing ones included */
        char *time;    /* owned; NULL: the input has no times */
} SeriesPoint;

typedef struct SeriesInput {
        SeriesPoint *points; /* owned; in the order of their times if these are numbers or ISO 8601, else as in the input */
        size_t n;
        size_t n_read;       /* with missing values */
        bool was_sorted;     /* the times of the input were not in order */
        char error[320];
} SeriesInput;

void series_input_deinit(SeriesInput *input);

enum {
        SERIES_INVALID = 1, /* `error` has the place, the error and a fix */
};

/*
 * Reads a text. name: of the text, for messages. column: name or number (from 1) of the column or member with the values; NULL: the only
 * one. Returns 0, SERIES_INVALID or -ENOMEM. Call series_input_deinit() in all cases.
 */
int series_input_read(SeriesInput *input, const char *name, const Buffer *text, const char *column);
