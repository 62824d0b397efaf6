/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files
 *
 * Small helpers around descriptors. Functions take a directory descriptor, so that
 * they read a captured tree as well as the machine.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/scoped.h"

/* Reads a whole small file relative to dir_fd; *ret is NUL-terminated, caller frees.
 * -EFBIG beyond n_max bytes, else a negative errno. ret_n may be NULL. Waits for nobody to write into a FIFO. */
int file_read_at(int dir_fd, const char *path, size_t n_max, char **ret, size_t *ret_n);

/* A directory relative to dir_fd, to be listed. NULL with errno set. Caller closes it. */
DIR *file_open_list(int dir_fd, const char *path);
static inline void closedirp(DIR **list) {
        if (*list)
                closedir(*list);
}

/* Writes all of it, or fails with a negative errno (EINTR and short writes are handled). */
int file_write_all(int fd, const void *bytes, size_t n);

/* Writes a temporary file beside `path` and renames it over: readers see the old or the new one. fsyncs when durable. */
int file_replace(const char *path, const void *bytes, size_t n, unsigned mode, bool durable);

/* After a fork(): closes all descriptors from 3 on but these two; -1: there is no such one. */
void file_close_others(int a, int b);

/* mkdir -p. 0 when it exists as a directory already. */
int file_make_dirs(const char *path, unsigned mode);
