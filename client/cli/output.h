/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Data to standard output and to files */

#include "util/buffer.h"

/* Prints the whole buffer. Returns EXIT_DONE, or EXIT_FAILED after a message. */
int output_print(const Buffer *out);
/* Prints to standard output or standard error. */
int output_print_to(int fd, const Buffer *out);
/* Prints lines that contain foreign text verbatim, such as CSV: on a terminal, control characters are escaped. */
int output_print_lines(const Buffer *out);

/* Writes a file, in place of a regular file of this name, or to a device, pipe or link of this name. As above. */
int output_write_file(const char *path, const Buffer *out);
