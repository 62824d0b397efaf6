/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Package database: the installed packages of a system, of dpkg or rpm
 *
 * The packages come from a copy (stack_cache.h) as long as the files of the database are unchanged.
 */

#include "client/stack/stack_builder.h"

enum {
        PACKAGE_DATABASE_NONE = 1,   /* the system has no such database */
        PACKAGE_DATABASE_FAILED = 2, /* an error was printed */
};

/* word: dpkg or rpm. root_fd: of the file system. cache: directory of the copies; NULL: none. 0, an outcome or a
 * negative errno. */
int package_database_read(const char *word, int root_fd, const char *cache, StackBuilder *stack);
