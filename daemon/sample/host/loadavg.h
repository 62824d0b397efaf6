/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/loadavg: load averages, runnable threads and all threads
 */

#include "measure/sample.h"

/* Subtracts the reader's own running thread from n_running. Returns 0, or TEXT_MALFORMED with *ret unchanged. */
int loadavg_parse(const char *text, SampleLoad *ret, const char **ret_fault);
