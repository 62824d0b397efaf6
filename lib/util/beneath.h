/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Beneath: opens directories below a directory
 *
 * For untrusted paths: resolution never leaves the directory and never follows a symbolic link.
 */

#include <stdbool.h>

/* All positive: outcomes, see the conventions on errors. */
enum {
        BENEATH_NONE = 1, /* no such directory */
        BENEATH_OUTSIDE,  /* the path leads up, through a symbolic link, or to another file system although
                           * one_filesystem is set */
};

/*
 * path: relative; "" or "." for the directory itself. *ret_fd is opened with O_PATH. Returns 0, an outcome, or a
 * negative errno.
 */
int beneath_open(int dir_fd, const char *path, bool one_filesystem, int *ret_fd);
/*
 * As beneath_open(), component by component: for kernels before 5.6, which lack openat2(2), and sandboxes that reject
 * it.
 */
int beneath_walk(int dir_fd, const char *path, bool one_filesystem, int *ret_fd);
