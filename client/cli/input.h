/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Input: content of files named on the command line
 */

#include "util/buffer.h"

#define INPUT_BYTES_MAX (64U * 1024U * 1024U)

/* Name for messages: the file, or "standard input" for "-". Borrowed. */
const char *input_name(const char *file);
/* Appends all of a file. EXIT_DONE, or EXIT_FAILED after a message. */
int input_read(const char *file, Buffer *ret);
/* Appends all of what is open. 0, -EFBIG beyond INPUT_BYTES_MAX in `ret`, or another negative errno. */
int input_read_fd(int fd, Buffer *ret);
