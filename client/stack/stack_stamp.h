/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stack stamp: a text that identifies the state of the files or directories in which packages are registered */

#include <stdbool.h>

#include "util/buffer.h"

typedef struct StackStamp {
        Buffer text;     /* owned; one line */
        bool is_settled; /* nothing changed within the last 2 s: a later change has another time */
} StackStamp;

/* subject: the first word of the text, such as a path. Call stack_stamp_deinit(). */
void stack_stamp_init(StackStamp *stamp, const char *subject);
void stack_stamp_deinit(StackStamp *stamp);
/* Adds identity, time of the last change and size of a file. path: relative to the directory. Returns false if the file is missing. */
bool stack_stamp_add(StackStamp *stamp, int dir_fd, const char *path);
