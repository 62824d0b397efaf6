/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report check: finds members of a report whose type is not what perfd writes
 *
 * A report file may have been damaged or edited. A member of the wrong type is treated as missing, which would
 * silently change a sum; it is reported for this reason.
 */

#include "util/buffer.h"
#include "value/value.h"

/* Appends "rank, on.cpus, metrics[3].value and 5 more". Returns the number of invalid members. */
size_t report_check(const Value *report, Buffer *ret);
