/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/commands.h"
#include "client/commands/node/db_program.h"

const Command cmd_db_check = {
        .name = "db check",
        .arguments = "[FILE]",
        .summary = "Check the database for damage",
        .help = "Reads all pages of the database, or of FILE, and prints the first 20 errors. Exits with 1 if there are any.",
        .examples = { "perfctl db check", "perfctl db check perfd.db.salvaged-2026-11-22T14:00:00Z" },
        COMMAND_OPTIONS(DbProgramOptions, db_program_options),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_FILE,
        .run = db_program_run,
};
