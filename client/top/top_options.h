/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options of perfctl top, which perfctl passes on to the program for terminals */

#include "client/cli/common_options.h"

typedef struct TopOptions {
        bool once, json;
        const char *sort;
        uint64_t at_ms; /* 0: now */
        uint64_t interval_ns, limit; /* limit 0: without end */
} TopOptions;

extern const Option top_options[];

/*
 * Reads a local time: "03:00", "03:00:15", "2026-11-20 03:00", "2026-11-20T03:00:15". A time without a day is the
 * latest such time before now_ms. Returns 0 if the text is none.
 */
uint64_t top_options_parse_time(const char *text, uint64_t now_ms);
