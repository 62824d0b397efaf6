/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/commands.h"
#include "client/commands/node/db_program.h"

const Command cmd_db_salvage = {
        .name = "db salvage",
        .arguments = "DAMAGED FILE",
        .summary = "Copy the readable rows of a damaged database to a new one",
        .help = "Reads DAMAGED page by page, and skips damaged pages. perfd does this automatically with its own database.",
        .examples = { "perfctl db salvage perfd.db.damaged-2026-11-22T14:00:00Z new.db" },
        COMMAND_OPTIONS(DbProgramOptions, db_program_options),
        .n_arguments_min = 2,
        .n_arguments_max = 2,
        .value = OPTION_VALUE_FILE,
        .run = db_program_run,
};
