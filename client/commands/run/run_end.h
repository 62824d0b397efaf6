/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Run end: the steps of `run` after perfd has stored the end of the job */

#include <stddef.h>

#include "client/cli/common_options.h"

/* Prints the report of the job to standard error. */
void run_end_print_report(const GlobalOptions *global, const char *job);

/* Runs a command with the shell. The environment has PERFD_JOB and PERFD_SOCKET. */
void run_end_execute(const char *command);

/* Reports processes of the command that are still running. Called last, so that one that ends a moment later than the command is not
 * reported. */
void run_end_report_left(size_t n);
