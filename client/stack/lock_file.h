/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lock file: the software stack that a file names
 *
 * Forms: Pipfile.lock; requirements.txt with hashes and markers; `conda list --json` and `conda list --explicit`; a
 * stack document. The form is found by the content, not by the name of the file.
 */

#include "util/arena.h"
#include "value/value.h"

enum {
        LOCK_FILE_WRONG = 1, /* an error was printed with file and, if known, line */
};

/* Reads the document of a stack, which lives in *ret_arena; the caller releases it in all cases. 0, LOCK_FILE_WRONG
 * or -ENOMEM. */
int lock_file_read(const char *file, Arena *ret_arena, const Value **ret);

/* Returns the URL of the index with this name in the `sources` of a Pipfile.lock; without a name, of the only index.
 * NULL: unknown. */
const char *lock_file_find_source(const Value *sources, const char *name);
