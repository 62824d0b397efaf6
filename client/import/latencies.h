/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Latencies: the times of a model's batches, as the indicator `inference_latency`
 *
 * Two inputs are understood: {"time_per_batch": [seconds…], "batch_length": N or [N…]}, whose other members become
 * parameters, and plain numbers of seconds, one on each line. The result has the numbers of analysis/latency.h under
 * their names.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/import/latency.h"
#include "document/indicator.h"
#include "util/arena.h"

/* Memory that the indicators of a text of n bytes can take at most, besides what the trees of the text itself do. */
size_t latencies_arena_size(size_t n);

/* Whether a text is plain numbers: it begins with no '{'. */
bool latencies_are_lines(const char *text, size_t n);

/*
 * batch_length: as given on the command line, 0: not given. *ret lives in the arena, which must have what is borrowed from
 * `document`. 0, INDICATOR_INVALID with the first complaint, or -ENOMEM.
 */
int latencies_from_value(const Value *document, uint64_t batch_length, Arena *arena, const Value **ret, Complaint *ret_complaint);
/* The same; the complaint is about the line *ret_line, from 1. */
int latencies_from_lines(const char *text, size_t n, uint64_t batch_length, Arena *arena, const Value **ret, Complaint *ret_complaint,
                         unsigned *ret_line);
