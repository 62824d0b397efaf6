/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is said of a job when it begins
 */

#include "client/cli/options.h"
#include "client/run/launcher.h"
#include "job/job.h"

/*
 * Id (--job, else the launcher's, else a new one), name, labels, user (--uid, else who we are), command, and the place in
 * a parallel run: what options say, else the launcher where it does not contradict them. command: its words, or NULL. 0 or < 0;
 * job_info_deinit() in any case.
 */
int job_info_fill(JobInfo *info, const Options *options, const Launch *launch, char *const *command);

/* A command as one would type it, cut with an ellipsis. Bytes that are not UTF-8 become U+FFFD. */
void job_command_format(char *const *words, char ret[static JOB_COMMAND_MAX]);
