/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Input: content of files named on the command line
 */

#include <stddef.h>

#include "util/arena.h"
#include "util/buffer.h"
#include "value/value.h"

/* For messages about numbers that value_parse_next() has replaced, with their count. */
#define INPUT_NOT_FINITE_TEXT "numbers that are NaN or infinite, stored as null: %zu"
#define INPUT_BYTES_MAX (64U * 1024U * 1024U)

/* Returns the name for messages: the file name, or "standard input" for "-". Borrowed. */
const char *input_name(const char *file);
/* Reads a file into an empty buffer. Returns EXIT_DONE, or EXIT_FAILED after a message. */
int input_read(const char *file, Buffer *ret);
/*
 * Reads an open file to its end into an empty buffer, as encoding_unify() makes it. Returns 0, -EFBIG beyond
 * INPUT_BYTES_MAX, -EILSEQ for UTF-16, or another negative errno.
 */
int input_read_fd(int fd, Buffer *ret);

enum {
        INPUT_WRONG = 1, /* an error was printed with file, line and column */
};

/*
 * Parses a document in YAML or JSON, which has a parser of its own, since YAML does not support surrogate escapes such
 * as "\ud83d\ude00". file: name for error messages. The tree is allocated in the arena. Returns 0, INPUT_WRONG, or a
 * negative errno.
 */
int input_parse(const Buffer *text, const char *file, Arena *arena, const Value **ret);

/* Returns the maximum size of the tree of a document of n bytes. */
size_t input_arena_size(size_t n);
