/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Input: content of files named on the command line
 */

#include "util/buffer.h"

#define INPUT_BYTES_MAX (64U * 1024U * 1024U)

/* Returns the name for messages: the file name, or "standard input" for "-". Borrowed. */
const char *input_name(const char *file);
/* Appends the content of a file. Returns EXIT_DONE, or EXIT_FAILED after a message. */
int input_read(const char *file, Buffer *ret);
/*
 * Reads an open file to its end. Returns 0, -EFBIG if `ret` would exceed INPUT_BYTES_MAX, or another negative errno.
 */
int input_read_fd(int fd, Buffer *ret);
