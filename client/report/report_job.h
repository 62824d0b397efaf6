/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Report job: prints the report of a job */

#include "client/cli/common_options.h"
#include "value/value.h"

/*
 * Prints the report of a job, which the HTTP API has returned, to a descriptor. is_brief: its description only. EXIT_DONE,
 * or EXIT_FAILED after a message.
 */
int report_job_print(const GlobalOptions *global, const Value *job, bool is_brief, int fd);
