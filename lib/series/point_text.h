/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A timeline of one point as text
 *
 *   {"boot_ns":…,"real_ns":…,"step_ns":…,"unobserved_ns":…,"c":"…","m":"…",…}
 *
 * A day of the node's history has thousands of these: four characters (digits.h) for each of mean, min and max, or for all
 * three where they are equal. A value is a step of its logarithm, which keeps six digits whatever the value's size. A series
 * without a member is unknown. timeline_format() and timeline_parse() use this form.
 */

#include "series/timeline.h"

/* The timeline has one point. 0 or -ENOMEM; caller frees *ret. */
int point_text_format(const Timeline *timeline, char **ret);
/* 0, PARSE_MALFORMED or -ENOMEM; *ret is written on success only, caller deinits. */
int point_text_parse(const char *text, Timeline *ret);
