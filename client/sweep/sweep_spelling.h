/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep spelling: warnings about numbers whose text changes
 *
 * For YAML, 3.10 is the same number as 3.1. If a version was meant, no later step would notice.
 */

#include "document/value.h"
#include "util/buffer.h"

#define SWEEP_SPELLING_CHECKED_MAX 200U /* numbers with a point: each is searched in the whole text */

/* Appends a line for each number of settings and extra that loses zeros at its end. text: of the file, n bytes. */
void sweep_spelling_check(const Value *file, const char *text, size_t n, Buffer *warnings);
