/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/pressure/: pressure stall information
 *
 * Reads only the totals: the average over a job is an exact difference of totals, while the kernel's avg10, avg60 and
 * avg300 are decaying averages.
 */

#include <stdint.h>

/*
 * Reads microseconds since boot. ret_full_us: NULL to read only the "some" line: the "full" line of cpu is always 0,
 * and old kernels lack it. ret_some_us: NULL to read only the "full" line: irq has no other. Returns 0, or
 * TEXT_MALFORMED without results.
 */
int pressure_parse(const char *text, uint64_t *ret_some_us, uint64_t *ret_full_us, const char **ret_fault);
