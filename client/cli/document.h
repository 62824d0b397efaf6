/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Document: a YAML or JSON file written by a user
 *
 * JSON has its own reader, since YAML does not know surrogate escapes such as "\ud83d\ude00".
 */

#include <stddef.h>

#include "document/value.h"
#include "util/arena.h"
#include "util/buffer.h"

enum {
        DOCUMENT_WRONG = 1, /* said, with the file, line and column */
};

/* file: as messages call it. The tree lives in the arena. 0, DOCUMENT_WRONG, or a negative errno. */
int document_parse(const Buffer *text, const char *file, Arena *arena, const Value **ret);

/* Memory that the tree of n bytes can take at most. */
size_t document_arena_size(size_t n);
