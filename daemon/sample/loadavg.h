/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/loadavg: load averages, runnable and existing threads
 */

#include "measure/sample.h"

/* Takes the reader's own running thread off n_running. 0, or TEXT_MALFORMED and *ret untouched. */
int loadavg_parse(const char *text, SampleLoad *ret, const char **ret_fault);
