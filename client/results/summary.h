/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Summary: how much the numbers of the runs of a batch differ
 */

#include <stddef.h>

#include "document/indicator.h"
#include "util/buffer.h"
#include "value/value.h"

#define SUMMARY_SERIES_MAX 64U

typedef struct SummarySeries {
        char *name, *component, *key; /* owned */
        double *values;               /* owned */
        size_t n, n_allocated;
} SummarySeries;

typedef struct Summary {
        SummarySeries series[SUMMARY_SERIES_MAX];
        size_t n;
        size_t n_left_out; /* numbers beyond SUMMARY_SERIES_MAX series */
} Summary;

void summary_deinit(Summary *summary);

/* Adds the numbers at the top of the @result. 0 or -ENOMEM. */
int summary_add(Summary *summary, const Indicator *indicator);

/*
 * Writes a line for each indicator, and below a line for each number: n, median and coefficient of variation. Sorts the values.
 * units: an object with the unit of each number that has one, or NULL. Skips command results, which command_summary_write() describes.
 */
void summary_write(Summary *summary, const Value *units, Buffer *out);
