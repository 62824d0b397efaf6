/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Value cache: what was read of a test, in a file of its directory
 *
 * A file is believed if this user wrote it, if nobody else may write it, and if it has the same key: the declaration,
 * and sizes and times of the files. Of a file that was fetched, the declaration is compared, and the key is replaced.
 */

#include "client/matrix/test_tree.h"
#include "util/arena.h"
#include "util/sha256.h"
#include "value/value.h"

#define VALUE_CACHE_NAME "perfd-results.cache"

/* directory: of the test, relative to the tree. member: which has the key. *ret: the object that was written, in the
 * arena, which the caller frees; NULL: there is none. 0 or -ENOMEM. */
int value_cache_read(const TestTree *tree, const char *directory, const char *member, const char *key, Arena *arena,
                     const Value **ret);
/* Writes an object, as JSON, which has its key as a member. That the directory is read-only is no error. */
void value_cache_write(const TestTree *tree, const char *directory, const Buffer *text);

/* Appends the size and the times of a file, or of all files in a directory, to a text of which a key is made. path:
 * relative to the tree; tree NULL: as it is. */
void value_cache_put_file(const TestTree *tree, const char *path, Buffer *out);
void value_cache_put_directory(const TestTree *tree, const char *path, Buffer *out);
