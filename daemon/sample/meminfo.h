/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/meminfo: memory and swap
 *
 * Kernels before 3.14 have no MemAvailable. An estimate of it would be ours, not the kernel's:
 * the source counts as malformed there. A kernel without swap has zeros.
 */

#include "measure/sample.h"

/* 0, or TEXT_MALFORMED and *ret untouched. */
int meminfo_parse(const char *text, SampleMemory *ret, const char **ret_fault);
