/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Document: a YAML or JSON file written by a user
 *
 * JSON has a parser of its own, since YAML does not support surrogate escapes such as "\ud83d\ude00".
 */

#include <stddef.h>

#include "util/arena.h"
#include "util/buffer.h"
#include "value/value.h"

enum {
        DOCUMENT_WRONG = 1, /* an error was printed with file, line and column */
};

/*
 * file: name for error messages. The tree is allocated in the arena. Returns 0, DOCUMENT_WRONG, or a negative errno.
 */
int document_parse(const Buffer *text, const char *file, Arena *arena, const Value **ret);

/* Returns the maximum size of the tree of a document of n bytes. */
size_t document_arena_size(size_t n);
