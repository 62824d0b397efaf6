/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SPDL time: the time of a line of a log */

#include <stddef.h>

/*
 * Returns the first date and time in a text, such as "2026-11-23 05:12:37,735" or "2026-11-23T05:12:37Z", in seconds since 1970; NAN if
 * there is none. A time without Z or an offset is the local time.
 */
double spdl_time_find(const char *text, size_t n);
