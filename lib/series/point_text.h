/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A timeline of one point as text
 *
 *   point boottime_ns=… realtime_ns=… interval_ns=… observed_ns=… cpu=… memory=… disk_read=… …
 *
 * What a day of the node's history has thousands of: one line, four characters (digits.h) for each of mean, min
 * and max, or for all three where they are the same. A value is a step of its logarithm, which keeps six digits
 * of it whatever its size. A series without a word is unknown. timeline_format() and timeline_parse() use it.
 */

#include "series/timeline.h"
#include "util/buffer.h"

#define POINT_TEXT_MAGIC "point"

/* The line, with its newline. The timeline has one point. */
void point_text_put(const Timeline *timeline, Buffer *out);
/* text: after the magic. 0, PARSE_MALFORMED or -ENOMEM; *ret is written on success only, caller deinits. */
int point_text_parse(const char *text, Timeline *ret);
