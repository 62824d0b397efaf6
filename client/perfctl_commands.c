/* SPDX-License-Identifier: Apache-2.0 */
/* perfctl: the list of its commands, apart from those that are in a program of their own */

#include "client/commands/commands.h"

#define ROW_HEADING(text) { .heading = (text) },
#define ROW_COMMAND(name) { .command = &name },

const CommandRow commands[] = { COMMANDS(ROW_HEADING, ROW_COMMAND) {} };
