/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Capture: the output of a command in which indicators are searched
 *
 * Keeps a copy of up to CAPTURE_BYTES_MAX; longer output is discarded.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/arena.h"
#include "util/buffer.h"
#include "value/value.h"
#include "value/value_parse.h"

#define CAPTURE_BYTES_MAX (1024U * 1024U)
#define CAPTURE_DOCUMENTS_MAX 256U

typedef struct Capture {
        Buffer text;
        bool is_too_long;
        bool names_result; /* the output contained "@result"; set only once is_too_long is */
        size_t n_matched;  /* bytes of "@result" at the end of the output so far */
} Capture;

void capture_deinit(Capture *capture);
void capture_clear(Capture *capture); /* keeps the memory */
void capture_add(Capture *capture, const void *bytes, size_t n);

/* Why output that looks like a document is none. */
typedef struct CaptureLoss {
        ValueError error;  /* line and text; line 0: nothing looked like a document */
        bool names_result; /* the output was probably meant as an indicator */
        bool is_cut;       /* the output has more than CAPTURE_DOCUMENTS_MAX documents */
        size_t n_not_finite; /* numbers of the documents that are NaN or infinite, and null therefore */
} CaptureLoss;

/*
 * Finds the documents with an `@result` in the output: JSON objects and those of lists, at the start of a line, after
 * blanks, or behind another, with any text around them, up to CAPTURE_DOCUMENTS_MAX. The captured text changes as
 * encoding_unify() says. The documents live in the arena, of at least value_parse_arena_size(text.n) bytes. *ret_loss
 * describes the last malformed document that names a result, else the last malformed document.
 */
int capture_find(Capture *capture, Arena *arena, const Value *ret[static CAPTURE_DOCUMENTS_MAX], size_t *ret_n,
                 CaptureLoss *ret_loss);
