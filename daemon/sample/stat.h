/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/stat: CPU times and counters
 *
 * The interrupt counters in between can be tens of kilobytes; they are stepped over, not
 * read. Columns that an old kernel does not have are 0.
 */

#include "measure/sample.h"

/* Fills cpu, cpus, n_cpus (of this text), n_online and the counters of this file.
 * 0, TEXT_MALFORMED or -ENOMEM; n_cpus and n_online are 0 unless 0 is returned. */
int stat_parse(const char *text, Sample *sample, const char **ret_fault);
