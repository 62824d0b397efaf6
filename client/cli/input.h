/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Input: what files of the command line hold
 */

#include "util/buffer.h"

#define INPUT_BYTES_MAX (64U * 1024U * 1024U)

/* As messages call it: the file, or "standard input" for "-". Borrowed. */
const char *input_name(const char *file);
/* Appends all of it. 0, -EFBIG beyond INPUT_BYTES_MAX in `ret`, or another negative errno. */
int input_read(const char *file, Buffer *ret);
/* The same of what is open. */
int input_read_fd(int fd, Buffer *ret);
