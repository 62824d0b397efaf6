/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Latencies: batch times of a model as the indicator `inference_latency`
 *
 * Two formats are supported: {"time_per_batch": [seconds…], "batch_length": N or [N…]}, whose other members become
 * parameters; and plain text with a number of seconds on each line. The result contains the metrics of latency.h
 * under their names.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/import/latency.h"
#include "document/indicator.h"
#include "util/arena.h"

/* Returns the maximum size of the indicators of a text of n bytes, without the parsed trees of the text. */
size_t latencies_arena_size(size_t n);

/* Returns true if a text is plain numbers: it does not begin with '{'. */
bool latencies_are_lines(const char *text, size_t n);

/*
 * batch_length: from the command line, 0 if not given. *ret is allocated in the arena, which must outlive all that is
 * borrowed from `document`. Returns 0, INDICATOR_INVALID with the first complaint, or -ENOMEM.
 */
int latencies_from_value(const Value *document, uint64_t batch_length, Arena *arena, const Value **ret,
                         Complaint *ret_complaint);
/* As latencies_from_value() for plain numbers; the complaint is about line *ret_line, counted from 1. */
int latencies_from_lines(const char *text, size_t n, uint64_t batch_length, Arena *arena, const Value **ret,
                         Complaint *ret_complaint, unsigned *ret_line);
