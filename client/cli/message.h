/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What perfctl says, and where
 */

#include "util/buffer.h"

/* A message: one line to standard error, "perfctl: …". What it quotes from elsewhere is escaped. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Data: all of the buffer to standard output. EXIT_DONE, or EXIT_FAILED after saying why. */
int print_out(const Buffer *out);
/* The same of lines that quote others as they are, such as CSV: to a terminal what could move its cursor is escaped. */
int print_lines_out(const Buffer *out);
