/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files: small helpers for descriptors
 *
 * Functions take a directory descriptor, so that they work on a captured tree as well as on the machine.
 */

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/scoped.h"

/*
 * Reads a whole small file relative to dir_fd; *ret is NUL-terminated, caller frees. Returns 0, -EFBIG beyond n_max
 * bytes, or another negative errno. ret_n may be NULL. Does not wait for a writer of a FIFO.
 */
int file_read_at(int dir_fd, const char *path, size_t n_max, char **ret, size_t *ret_n);

/* Returns the text of a file of at most n_max bytes, or NULL if it cannot be read. Caller frees. */
char *file_read_text(int dir_fd, const char *path, size_t n_max);

/* Opens a directory relative to dir_fd for listing. Returns NULL with errno set on failure. Caller closes. */
DIR *file_open_list(int dir_fd, const char *path);
static inline void closedirp(DIR **list) {
        if (*list)
                closedir(*list);
}

/* Writes all bytes; handles EINTR and short writes. Returns 0 or a negative errno. */
int file_write_all(int fd, const void *bytes, size_t n);

/*
 * Replaces a file atomically: writes a temporary file in the same directory and renames it. Calls fsync() if durable.
 */
int file_replace(const char *path, const void *bytes, size_t n, unsigned mode, bool durable);

/* Closes all descriptors from 3 on except a and b (-1: unused). For use after fork(). */
void file_close_others(int a, int b);

/* Creates a directory and its parents with this mode, whatever the umask is. Returns 0 if the directory already
 * exists. */
int file_make_dirs(const char *path, unsigned mode);
/* Creates the directory of a file and its parents. */
int file_make_parents(const char *path, unsigned mode);
/* Returns the path relative to a root directory: openat(2) ignores the descriptor for an absolute path. */
const char *file_below_root(const char *path);
/*
 * Writes the path of a file of the user: below the directory that the variable names, otherwise below `otherwise` in
 * $HOME. Returns 0, -ENOENT without either, or -ENAMETOOLONG.
 */
int file_find_env(const char *variable, const char *otherwise, const char *below, char ret[static PATH_MAX]);
