/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Input tree: files below a directory that may belong to somebody else
 *
 * Who reads what another user has laid out, root above all, shall not be led to what only he can read, nor be kept
 * waiting: only regular files are opened, and no link is followed where the directory is not his own.
 */

#include <stdbool.h>

#include "util/buffer.h"

typedef struct InputTree {
        int fd; /* owned; of the directory, -1: not open */
        bool is_own;
} InputTree;

enum {
        INPUT_NO_FILE = 1, /* a directory, a pipe, a device */
        INPUT_LINK,        /* of somebody else's, on the way or at its end */
};

/* 0 or a negative errno. *ret must own nothing. */
int input_tree_open(InputTree *ret, const char *directory);
void input_tree_deinit(InputTree *tree);

/* The directory at a path below, to be listed; caller closes. 0, INPUT_LINK or a negative errno. */
int input_tree_open_directory(const InputTree *tree, const char *below, int *ret_fd);
/* Appends the whole file. 0, an outcome, -EFBIG beyond INPUT_BYTES_MAX, or another negative errno. */
int input_tree_read(const InputTree *tree, const char *below, Buffer *ret);
