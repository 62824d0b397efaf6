/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Quantity: an amount as Kubernetes writes it, in the specifications of Amun
 *
 * "500m" of a CPU, "4Gi" of memory: a decimal number and a suffix, n u m k M G T P E for powers of 1000 (K as well,
 * which others write for k), Ki Mi Gi Ti Pi Ei for powers of 1024, or an exponent as in "1e3". A number without a
 * suffix is unchanged.
 */

#include <stdbool.h>
#include <stdint.h>

#include "value/value.h"

/* Reads a finite quantity that is not negative from a string or a number. False if the value is none. */
bool quantity_read(const Value *value, double *ret);
/* Reads whole bytes, rounded up, below 2^63. */
bool quantity_read_bytes(const Value *value, uint64_t *ret);
