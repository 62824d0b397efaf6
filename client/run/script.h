/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Script: the file that a command runs
 *
 * A command is a script when it is an interpreter's and the first word that is no option is a file, or when its own file begins
 * with #!. What is a program, and what stands in the command line itself, has no file to tell versions by.
 */

#include <limits.h>
#include <stdbool.h>

#include "client/run/sha256.h"

#define SCRIPT_BYTES_MAX (16U * 1024U * 1024U)
#define INTERPRETER_MAX 256U

typedef struct Script {
        char origin[PATH_MAX];
        char sha256[SHA256_TEXT_MAX];
        char interpreter[INTERPRETER_MAX]; /* a path or a name: python3 of "#!/usr/bin/env -S python3 -u"; "": none that fits */
} Script;

/* False when the command runs none, or it cannot be read. path: as in $PATH. */
bool script_find(char *const *command, const char *path, Script *ret);

/* Searches the PATH as execvp(3) does. False without such a file. */
bool script_find_program(const char *name, const char *path, char ret[static PATH_MAX]);

/* "matmul" of /opt/bench/matmul.py: what something that did not say its name is called. Cut to n_ret. */
void script_base_name(const char *file, char *ret, size_t n_ret);
