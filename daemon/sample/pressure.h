/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/pressure/: pressure stall information
 *
 * Reads the totals only: averages over a job are exact differences of totals, whereas the
 * kernel's own avg10, avg60 and avg300 decay.
 */

#include <stdint.h>

/*
 * Microseconds since boot. ret_full_us is NULL where only the some line is read: the full line of cpu is always 0, and old
 * kernels have none. 0, or TEXT_MALFORMED and nothing returned.
 */
int pressure_parse(const char *text, uint64_t *ret_some_us, uint64_t *ret_full_us, const char **ret_fault);
