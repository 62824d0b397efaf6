/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/commands.h"

const Command cmd_results = {
        .name = "results",
        .arguments = "COMMAND …",
        .summary = "Process a directory of test results: values, KPIs, verdicts",
        .examples = { "perfctl results parse DIRECTORY", "perfctl results help" },
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_DIRECTORY,
        .program = "perfctl-results",
};
