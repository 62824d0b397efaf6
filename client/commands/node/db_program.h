/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Program of the db commands: perfd checks, copies and salvages the database, also while another perfd runs
 *
 * perfd's program does the work, as it alone speaks to SQLite: perfctl would start more slowly with that library in it. The files are
 * read by their path and with the user's own rights; a perfd that runs is asked for its directory only.
 */

#include "client/cli/command.h"

typedef struct DbProgramOptions {
        const char *config, *directory;
} DbProgramOptions;

extern const Option db_program_options[];

/* Starts perfd for the second word of the command's name. Returns an exit status, on failure only. */
int db_program_run(const CommandLine *line);
