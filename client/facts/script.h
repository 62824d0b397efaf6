/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Script: the file that a command runs
 *
 * A command runs a script when it is an interpreter whose first non-option argument is a file, or when its own file
 * starts with #!. Other programs are identified by program_version.h; code in the command line itself has no
 * version.
 */

#include <limits.h>
#include <stdbool.h>

#include "util/sha256.h"

#define SCRIPT_BYTES_MAX (16U * 1024U * 1024U)
#define INTERPRETER_MAX 256U

typedef struct Script {
        char origin[PATH_MAX];
        char sha256[SHA256_TEXT_MAX];
        /* path or name, such as python3 of "#!/usr/bin/env -S python3 -u"; "": unknown or too long */
        char interpreter[INTERPRETER_MAX];
} Script;

/* Returns true if a program runs code that its arguments name, so that its own build is not what is measured. */
bool script_is_interpreter(const char *program);

/* Returns false if the command runs no script, or the script cannot be read. path: as in $PATH. */
bool script_find(char *const *command, const char *path, Script *ret);

/* Searches the PATH as execvp(3) does. False without such a file. */
bool script_find_program(const char *name, const char *path, char ret[static PATH_MAX]);

/* Copies "matmul" of /opt/bench/matmul.py: the default name of an indicator. Cut to n_ret. */
void script_base_name(const char *file, char *ret, size_t n_ret);
