/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Run spec: the script of an Amun specification, run as a job in a directory of its own */

#include "client/commands/run/run_job.h"

/* Returns the script's exit status, or an exit status of perfctl after a message. */
int run_spec(const CommandLine *line, const RunOptions *options);
