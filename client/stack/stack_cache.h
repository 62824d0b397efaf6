/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stack cache: the packages that a database of packages listed, until the database changes
 *
 * Has a text file for each database. The first line is a stamp that identifies the state of the database, each further line a
 * package, and the last line the number of packages. A file that is missing, of another state, cut or of another user is a miss:
 * the database is then read, and the file replaced.
 */

#include "client/stack/stack_builder.h"
#include "util/buffer.h"

enum {
        STACK_CACHE_MISS = 1,
};

/* Adds the packages of a file if it has the stamp, a text without line ends. kind: of the packages. 0, STACK_CACHE_MISS or -ENOMEM. */
int stack_cache_read(const char *path, const char *stamp, const char *kind, StackBuilder *stack);
/* Replaces the file by the packages of the stack from number `first` on, and makes its directory. A failure has no effect. */
void stack_cache_write(const char *path, const char *stamp, const StackBuilder *stack, size_t first);
