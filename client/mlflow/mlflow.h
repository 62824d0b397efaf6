/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MLflow: the numbers of a job in the run of MLflow that the job opens
 *
 * The module perfd_mlflow of clients/python sends them when the job has ended, in the user's name, with the MLflow of
 * the job's own Python. What it cannot send waits in the spool, in the directory mlflow.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/cli/common_options.h"
#include "util/buffer.h"

/* Returns true with --mlflow, and if $PERFD_MLFLOW is 1 and the environment has a run or a server of MLflow. */
bool mlflow_is_wanted(bool is_given);

/*
 * Appends $MLFLOW_RUN_CONTEXT of a job: a JSON object of tags that mlflow.start_run() sets, by which the run is found.
 * given: the value until now, whose tags stay; or NULL. rank: -1 if unknown; ranks have the tag perfd.run in common.
 */
void mlflow_write_context(Buffer *out, const char *given, const char *job, int64_t rank);

/*
 * Returns the Python of a command: its program, or the interpreter of its script, which may be ""; otherwise the first
 * in $PATH. Borrowed from the arguments.
 */
const char *mlflow_find_python(const char *program, const char *interpreter);

/* Sends a job that has ended. spool: as spool_find_directory() takes it. Trouble is reported. */
void mlflow_send(const GlobalOptions *global, const char *python, const char *spool, const char *job);

/* Sends the jobs that wait in a directory of the spool, if there are any. Returns false if some still wait.
 * ret_n_waiting: their number. */
bool mlflow_flush(const GlobalOptions *global, const char *directory, size_t *ret_n_waiting);
