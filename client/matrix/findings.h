/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Findings: what is missing or wrong in a directory of test results
 *
 * A finding does not end the work: the rest is used. Each is one line, "PATH:LINE: text", and is there once; warnings
 * begin with "warning: ".
 */

#include <stddef.h>

#include "json/json.h"
#include "util/buffer.h"
#include "value/value.h"

typedef struct Findings {
        Buffer text; /* owned; a line for each */
        size_t n_errors, n_warnings;
} Findings;

void findings_deinit(Findings *findings);
void findings_error(Findings *findings, const char *format, ...) __attribute__((format(printf, 2, 3)));
void findings_warn(Findings *findings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a list of the lines. */
void findings_write_json(const Findings *findings, Json *json);
/* Adds the lines of such a list, and those of other findings. */
void findings_read_json(Findings *findings, const Value *list);
void findings_add(Findings *findings, const Findings *further);
/* Prints the first lines on standard error, and how many there are besides. */
void findings_print(const Findings *findings);
