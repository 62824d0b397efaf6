/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report check: which members of a report are not as perfd writes them
 *
 * A report that went through other hands may be damaged, and a member of another type counts as not there. That is not to
 * pass unseen, where its number is missing in a sum.
 */

#include "document/value.h"
#include "util/buffer.h"

/* Appends "rank, on.cpus, metrics[3].value and 5 more". Returns how many there are. */
size_t report_check(const Value *report, Buffer *ret);
