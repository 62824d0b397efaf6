/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Complete: candidates for the last word of a command line, from the tables of commands and options, for client/perfctl.bash */

#include "client/cli/options.h"

#define COMPLETE_COMMAND "__complete" /* first argument of perfctl; not listed in the help */

/*
 * Prints the kind of the last word on the first line: "words" and a candidate on each line that follows, "offset N" where a command
 * begins at word N of the line, or the name of an OptionValue. main_options: those before the command. words: of the line, without
 * "perfctl"; the last one is being typed and may be empty. Returns the exit status.
 */
int complete_print(const Option *main_options, int n_words, char *const *words);
