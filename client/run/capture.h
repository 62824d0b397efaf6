/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Capture: the output of a command in which indicators are searched
 *
 * Keeps a copy of up to CAPTURE_BYTES_MAX; longer output is discarded.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/value.h"
#include "document/value_parse.h"
#include "util/arena.h"
#include "util/buffer.h"

#define CAPTURE_BYTES_MAX (1024U * 1024U)
#define CAPTURE_DOCUMENTS_MAX 256U

typedef struct Capture {
        Buffer text;
        bool is_too_long;
        bool names_result; /* once it is: "@result" was in it, and no more needs to be added */
        size_t n_matched;  /* of "@result", at the end of what was read so far */
} Capture;

void capture_deinit(Capture *capture);
void capture_clear(Capture *capture); /* keeps the memory */
void capture_add(Capture *capture, const void *bytes, size_t n);

/* Why something that looked like a document is none. */
typedef struct CaptureLoss {
        ValueError error;  /* line and text; line 0: there was nothing */
        bool names_result; /* so that it is likely to have been meant as an indicator */
        bool is_cut;       /* there are more than CAPTURE_DOCUMENTS_MAX */
} CaptureLoss;

/*
 * The documents with an `@result` among what was printed: JSON objects that begin at the beginning of a line, and
 * whatever is printed around them. At most CAPTURE_DOCUMENTS_MAX. They live in the arena, of at least
 * value_parse_arena_size(text.n). Of what was lost, the last that names a result, else the last.
 */
int capture_find(const Capture *capture, Arena *arena, const Value *ret[static CAPTURE_DOCUMENTS_MAX], size_t *ret_n,
                 CaptureLoss *ret_loss);
