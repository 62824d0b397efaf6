/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/commands.h"

#define ROW_HEADING(text) { .heading = (text) },
#define ROW_COMMAND(name) { .command = &name },

const CommandRow commands[] = { COMMANDS(ROW_HEADING, ROW_COMMAND) {} };
