/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Quantities as Kubernetes writes them
 *
 * "500m" of a CPU, "4Gi" of memory: a decimal number and a suffix, n u m k M G T P E for powers of 1000 (K as well, which others
 * write for k), Ki Mi Gi Ti Pi Ei for powers of 1024, or an exponent as in "1e3". A bare number is what it is.
 */

#include <stdint.h>

#include "document/value.h"

enum {
        QUANTITY_MALFORMED = 1,
        QUANTITY_OUT_OF_RANGE,
};

/* Parses a finite quantity that is not negative. 0 or an outcome. */
int quantity_parse(const char *text, double *ret);
/* Whole bytes, rounded up, below 2^63. */
int quantity_parse_bytes(const char *text, uint64_t *ret);

/* A string, or a number as it is. */
int quantity_from_value(const Value *value, double *ret);
int quantity_bytes_from_value(const Value *value, uint64_t *ret);
