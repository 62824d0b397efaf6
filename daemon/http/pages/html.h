/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* HTML: escaped text and quantities */

#include "util/buffer.h"

/* Appends any bytes, escaped for text and for quoted attributes, with the escapes of utf8_make_plain(). */
void html_text(Buffer *out, const char *text);

/* The functions below put a no-break space before the unit. */
void html_bytes(Buffer *out, double bytes);     /* "1.60 GiB" */
void html_seconds(Buffer *out, double seconds); /* "50 ms", "12.3 s", "4 min 05 s", "2 h 03 min", "3 d 04 h" */
void html_time(Buffer *out, uint64_t realtime_ns); /* "2026-11-20 21:58:18 UTC" */
void html_percent(Buffer *out, double ratio);   /* "61.3 %" */
void html_count(Buffer *out, double count);     /* "3", "3.1" */
