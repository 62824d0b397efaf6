/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A timeline of one point as text
 *
 *   {"boot_ns":…,"real_ns":…,"step_ns":…,"unobserved_ns":…,"c":"…","m":"…",…}
 *
 * A day of the node's history has thousands of these texts: each of mean, min and max takes four characters
 * (digits.h), or all three together if they are equal. Values are rounded to logarithmic steps, which preserve six
 * digits at any magnitude. A missing member means that the series is unknown. timeline_format() and timeline_parse()
 * use this format for single points.
 */

#include "series/timeline.h"

/* The timeline must have one point. Returns 0 or -ENOMEM; caller frees *ret. */
int point_text_format(const Timeline *timeline, char **ret);
/* Returns 0, PARSE_MALFORMED or -ENOMEM; *ret is written on success only, caller deinits. */
int point_text_parse(const char *text, Timeline *ret);
