/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Aggregate: a statistic of a result's values, written as "median:rate" or "p99.9:elapsed"
 *
 * The form is FIELD:KEY. FIELD is a member of Statistics (n mean median sd standard_error min max q1 q3 iqr cov covm
 * skew) or pNN, a percentile from p0 to p100, interpolated like the quartiles.
 */

#include <stdbool.h>
#include <stddef.h>

#include "analysis/statistics.h"
#include "document/indicator.h"

/* A member of Statistics: n, which comes first, or a double. */
typedef struct AggregateField {
        const char *name;
        size_t offset;
        bool has_unit; /* the unit is that of the values */
        bool is_of_order; /* statistics_order_of() computes it */
} AggregateField;

#define N_AGGREGATE_FIELDS 13U
extern const AggregateField aggregate_fields[N_AGGREGATE_FIELDS];

typedef struct Aggregate {
        const AggregateField *field; /* NULL: the percentile */
        double percentile; /* 0…100 */
        char text[KEY_MAX_BYTES + 32]; /* text of the request */
        const char *key;   /* points into text */
} Aggregate;

enum {
        AGGREGATE_MALFORMED = 1, /* no such field, or no key */
};

/* Parses n bytes of text. 0 or AGGREGATE_MALFORMED; *ret must not be moved afterwards. */
int aggregate_parse(const char *text, size_t n, Aggregate *ret);

/* Returns NAN if the sample is too small for the statistic. */
double aggregate_value(const Aggregate *aggregate, const Statistics *statistics, const double *sorted, size_t n);
/* True for the number of values, which is a whole number. */
bool aggregate_is_count(const Aggregate *aggregate);
/* True if statistics_order_of() is sufficient for aggregate_value(). */
bool aggregate_is_of_order(const Aggregate *aggregate);
/* True if the number is in the unit of the values; other numbers have no unit. */
bool aggregate_has_unit(const Aggregate *aggregate);
