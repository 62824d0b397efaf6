/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/meminfo: memory and swap
 *
 * Kernels before 3.14 lack MemAvailable. perfd makes no estimate of its own: the source is reported as malformed.
 * Without swap, the values are 0.
 */

#include "measure/sample.h"

/* Returns 0, or TEXT_MALFORMED with *ret unchanged. */
int meminfo_parse(const char *text, SampleMemory *ret, const char **ret_fault);
