/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/stat: CPU times and counters
 *
 * The line of interrupt counters can have tens of kilobytes, and is skipped. Columns that an old kernel lacks are 0.
 */

#include "measure/sample.h"

/*
 * Fills cpu, cpus, n_cpus (of this text), n_online and the counters of this file. Returns 0, TEXT_MALFORMED or
 * -ENOMEM; n_cpus and n_online are 0 on failure.
 */
int stat_parse(const char *text, Sample *sample, const char **ret_fault);
