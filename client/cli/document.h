/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Document: one file that people write for perfctl, YAML or JSON
 *
 * JSON has a reader of its own here, since escapes of two halves, "\ud83d\ude00", are JSON's and not YAML's.
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
