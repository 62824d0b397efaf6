/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/pressure/: pressure stall information
 *
 * Only the totals: averages over a job are differences of these, exact, where the kernel's
 * own avg10 and so on decay.
 */

#include "measure/sample.h"

typedef enum PressureLines {
        PRESSURE_SOME,          /* cpu: its full line is always 0, and old kernels have none */
        PRESSURE_SOME_AND_FULL, /* memory, io */
} PressureLines;

/* 0, or TEXT_MALFORMED and *ret untouched. */
int pressure_parse(const char *text, PressureLines lines, SamplePsi *ret, const char **ret_fault);
