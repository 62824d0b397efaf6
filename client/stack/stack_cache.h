/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stack cache: the packages of a database or an environment, until it changes
 *
 * Has a text file for each. The first line is the stamp, each further line a package, and the last line the number
 * of packages. A file that is missing, of another state, cut or of another user is a miss: the packages are then
 * listed, and the file replaced.
 */

#include <stdbool.h>

#include "client/stack/stack_builder.h"
#include "util/buffer.h"

/* A text that identifies the state of the files or directories in which packages are registered. */
typedef struct StackStamp {
        Buffer text;     /* owned; one line */
        bool is_settled; /* nothing changed within the last 2 s: a later change has another time */
} StackStamp;

/* subject: the first word of the text, such as a path. Call stack_cache_stamp_deinit(). */
void stack_cache_stamp_init(StackStamp *stamp, const char *subject);
void stack_cache_stamp_deinit(StackStamp *stamp);
/* Adds identity, time of the last change and size of a file. path: relative to the directory. Returns false if the
 * file is missing. */
bool stack_cache_stamp_add(StackStamp *stamp, int dir_fd, const char *path);

#define STACK_CACHE_NAME_MAX 32U

/* Makes the name of the file for an environment: one of 64 of the word, so that the number of files is bounded.
 * Returns ret. */
const char *stack_cache_name(const char *word, const char *prefix, char ret[static STACK_CACHE_NAME_MAX]);

typedef struct StackCacheEntry {
        const char *directory; /* of the files; NULL: nothing is kept */
        const char *name;      /* of the file */
        const char *kind;      /* of all packages */
        const StackStamp *stamp;
} StackCacheEntry;

/*
 * Adds the packages of an entry. list() adds them to the stack if they are not in the cache, and returns 0, an
 * outcome above 0 or a negative errno. Returns the same, or -ENOMEM. Failing to write the file has no effect.
 */
int stack_cache_get(const StackCacheEntry *entry, int (*list)(void *userdata, StackBuilder *stack), void *userdata,
                    StackBuilder *stack);
