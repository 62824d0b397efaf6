/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metrics: the answer of /metrics
 *
 * Runs the collectors that the query chooses, unless an earlier scrape of the snapshot did (http/scrape.h). The
 * number of series depends on devices and exposed jobs, both of which are limited; it depends on the number of CPUs
 * only on request.
 */

#include <stddef.h>

#include "http/format/exposition.h"
#include "http/subject.h"

/* Devices or file systems of one class beyond this number are counted, not shown. */
#define DEVICES_MAX 64U

void metrics_answer(const Target *target, const Sources *sources, Response *response);
/* The i-th collector of all subjects, or NULL. Borrowed, constant. */
const Collector *metrics_collector_at(size_t i);

/* Type of a member. */
typedef enum ScalarType {
        SCALAR_U64,
        SCALAR_U32,
        SCALAR_BOOL,
        SCALAR_DOUBLE,
} ScalarType;

/* A member of a struct whose value is a sample of a family. */
typedef struct Scalar {
        size_t offset; /* offset in the part */
        ScalarType scalar;
        unsigned n_decimals; /* decimals of a SCALAR_U64 that counts fractions: 9 for nanoseconds */
        FamilyType type;
        const char *name, *unit, *help;
} Scalar;

#define SCALAR_GAUGE(part, member, scalar, name, unit, help)                                                           \
        { offsetof(part, member), scalar, 0, FAMILY_GAUGE, name, unit, help }
#define SCALAR_COUNTER(part, member, name, help)                                                                       \
        { offsetof(part, member), SCALAR_U64, 0, FAMILY_COUNTER, name, "", help }
/* A member in nanoseconds. */
#define SCALAR_SECONDS(part, member, type, name, help)                                                                 \
        { offsetof(part, member), SCALAR_U64, 9, type, name, "seconds", help }

/* `part` is the struct for which the rows are declared. */

/* Begins the family of the row. */
void metrics_scalar_family(Exposition *exposition, const Scalar *scalar);
/* Ends a sample with the value of the member. */
void metrics_scalar_value(Exposition *exposition, const Scalar *scalar, const void *part);
/* Writes a family of one sample for each row. */
void metrics_scalars(Exposition *exposition, const void *part, const Scalar *scalars, size_t n);
