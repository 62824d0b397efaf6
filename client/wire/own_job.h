/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Own job: the job of this process, as its environment tells
 *
 * The daemon knows the job by the control group and decides; the environment helps where there is no group, and names
 * the job that is asked for. A job of Slurm needs no variable of perfd: the prolog has saved the id of the job.
 */

#include "request/request.h"

/*
 * Returns $PERFD_JOB, unless this process is in another job of Slurm than the one in which it was set; else the id
 * that the prolog has saved for $SLURM_JOB_ID; else "". ret: place for the id.
 */
const char *own_job(char ret[static JOB_ID_MAX]);

/* Returns $SLURM_JOB_ID, if it is a number; else NULL. */
const char *own_job_slurm(void);
