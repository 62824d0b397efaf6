#pragma once

/*
 * Capture: what a command printed, as far as it may be an indicator
 *
 * Keeps a copy of up to CAPTURE_BYTES_MAX; more than that is no indicator, and is forgotten.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/json.h"
#include "model/value.h"
#include "util/arena.h"
#include "util/buffer.h"

#define CAPTURE_BYTES_MAX (1024U * 1024U)
#define CAPTURE_DOCUMENTS_MAX 256U

typedef struct Capture {
        Buffer text;
        bool is_too_long;
} Capture;

void capture_deinit(Capture *capture);
void capture_clear(Capture *capture); /* keeps the memory */
void capture_add(Capture *capture, const void *bytes, size_t n);

/*
 * The documents with an `@result` among what was printed: JSON objects that begin at the beginning of a line, and
 * whatever is printed around them. At most CAPTURE_DOCUMENTS_MAX. They live in the arena, of at least
 * json_arena_size(text.n). ret_error (line and text): why the last thing that looked like one is none; line 0: nothing did.
 */
int capture_find(const Capture *capture, Arena *arena, const Value *ret[static CAPTURE_DOCUMENTS_MAX], size_t *ret_n,
                 JsonError *ret_error);
