/* SPDX-License-Identifier: Apache-2.0 */
/* perfctl-results: the commands that process directories of test results. perfctl starts this program for them. */

#include "client/commands/commands.h"

extern const Command cmd_results_fetch, cmd_results_parse, cmd_results_process;

const CommandRow commands[] = { { .heading = "Process test results" }, { .command = &cmd_results_fetch },
                                 { .command = &cmd_results_parse }, { .command = &cmd_results_process }, {} };
