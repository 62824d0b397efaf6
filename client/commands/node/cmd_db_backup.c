/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/commands.h"
#include "client/commands/node/db_program.h"

const Command cmd_db_backup = {
        .name = "db backup",
        .arguments = "FILE",
        .summary = "Copy the database",
        .help = "Writes a consistent copy without unused pages. FILE must not exist; it appears when the copy is complete and on disk.",
        .examples = { "perfctl db backup /backup/perfd.db" },
        COMMAND_OPTIONS(DbProgramOptions, db_program_options),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_FILE,
        .run = db_program_run,
};
