/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lock reader: the readers of the forms of lock files; a part of lock_file.c */

#include <stdbool.h>
#include <stddef.h>

#include "client/stack/stack_builder.h"

#define LOCK_ERROR_MAX 400

typedef struct LockReader {
        const char *text; /* UTF-8, NUL-terminated */
        size_t n;
        const Value *document; /* tree of a JSON or YAML file; NULL: another text */
        StackBuilder *stack;
        unsigned line; /* of the error; 0: unknown */
        char error[LOCK_ERROR_MAX];
} LockReader;

enum {
        LOCK_READER_INVALID = 1, /* the reader has the error */
};

/* Sets the error. Returns LOCK_READER_INVALID. */
int lock_reader_refuse(LockReader *reader, unsigned line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds a package within the limit. Returns 0 or LOCK_READER_INVALID. */
int lock_reader_add(LockReader *reader, const DraftPackage *package);
/* Returns true if a line begins with the word. */
bool lock_reader_has_line(const LockReader *reader, const char *word);
/* Returns the next line without its end, or false at the end of the text. *at: offset; *line: number, from 0. */
bool lock_reader_next_line(const LockReader *reader, size_t *at, unsigned *line, Slice *ret);
/* Removes blanks on both sides. */
Slice lock_reader_trim(Slice slice);

/* Each reads one form. Returns 0, LOCK_READER_INVALID, or -ENOMEM. */
int lock_reader_read_requirements(LockReader *reader);
int lock_reader_read_explicit(LockReader *reader);
int lock_reader_read_toml(LockReader *reader);
int lock_reader_read_pipfile(LockReader *reader);
int lock_reader_read_conda_list(LockReader *reader);
int lock_reader_read_conda_environment(LockReader *reader);
int lock_reader_read_conda_lock(LockReader *reader);
