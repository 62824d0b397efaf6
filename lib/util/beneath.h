/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Beneath: directories below a directory
 *
 * For paths that somebody else had a hand in: they lead down, and never through a symbolic link.
 */

#include <stdbool.h>

/* All positive: outcomes, see conventions. */
enum {
        BENEATH_NONE = 1, /* no such directory */
        BENEATH_OUTSIDE,  /* leads up, through a symbolic link, or to another file system where that is not wanted */
};

/* path: relative, "" or "." for dir_fd's own directory. *ret_fd has O_PATH. 0, an outcome, or a negative errno. */
int beneath_open(int dir_fd, const char *path, bool one_filesystem, int *ret_fd);
/* The same step by step, for kernels without openat2(2) (before 5.6) and sandboxes that do not know it. */
int beneath_walk(int dir_fd, const char *path, bool one_filesystem, int *ret_fd);
