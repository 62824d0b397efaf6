/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Log scan: finds matches of regular expressions within the lines of a text of any size
 *
 * The text is read in blocks, once for all expressions, and no further than the expressions that need a first match
 * only. Bytes that are not UTF-8 are replaced.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/format/regex.h"
#include "client/matrix/findings.h"
#include "util/buffer.h"

#define LOG_SCAN_MATCHES_MAX 65536U      /* of an expression */
#define LOG_SCAN_LINE_MAX (1024U * 1024U) /* bytes; the rest of a longer line is not searched */

typedef struct LogPattern {
        const Regex *regex; /* borrowed */
        bool takes_first, takes_all; /* otherwise the last */
        Buffer texts;       /* owned; each match with a NUL behind it */
        size_t n;           /* matches */
        size_t line;        /* of the last match */
        bool is_done, has_failed;
} LogPattern;

void log_scan_pattern_deinit(LogPattern *pattern);

/* name: of the file, for findings. 0 or a negative errno. */
int log_scan(int fd, const char *name, LogPattern *patterns, size_t n, Findings *findings);
