/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep spelling: numbers that are not passed on as they are written
 *
 * 3.10 is a number to YAML, and the same as 3.1. Where a version was meant, nothing that follows would say so.
 */

#include "document/value.h"
#include "util/buffer.h"

#define SWEEP_SPELLING_CHECKED_MAX 200U /* numbers with a point; looking one up in the text reads all of it */

/* A line for each number of settings and extra that loses zeros at its end. text: of the file, n bytes. */
void sweep_spelling_check(const Value *file, const char *text, size_t n, Buffer *warnings);
