#pragma once

/*
 * What is said of a job when it begins
 */

#include "client/options.h"
#include "model/job.h"

/*
 * Id (--job, else a new one), name, labels, rank (--rank, else what the launcher says), user and command. command: its
 * words, or NULL. 0 or < 0; job_info_deinit() in any case.
 */
int job_info_fill(JobInfo *info, const Options *options, char *const *command);

/* The rank that Slurm, PMI, Open MPI or PMIx put into the environment; -1: none. */
int64_t job_rank_find(void);

/* A command as one would type it, cut with an ellipsis. Bytes that are not UTF-8 become U+FFFD. */
void job_command_format(char *const *words, char ret[static JOB_COMMAND_MAX]);
