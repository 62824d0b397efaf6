/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Program of the db commands: perfd checks, copies and salvages the database, also while another perfd runs
 *
 * The program perfd does the work, because only perfd is linked to SQLite: perfctl would start more slowly with this library. The files
 * are read by their path and with the permissions of the user; a running perfd is asked only for its directory.
 */

#include "client/cli/command.h"

typedef struct DbProgramOptions {
        const char *config, *directory;
} DbProgramOptions;

extern const Option db_program_options[];

/* Starts perfd for the second word of the command's name. Returns an exit status, on failure only. */
int db_program_run(const CommandLine *line);
