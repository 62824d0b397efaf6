/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A row of the job table as a JobView: for readers and for the start. */

#include <sqlite3.h>

#include "snapshot/job_view.h"

#define JOB_COLUMNS                                                                            \
        "row, id, name, user, command, labels, uid, gid, pid, pid_start_ticks, rank, state, "   \
        "begin_ms, end_ms, exit_status, signal, rusage, note, node, n_nodes, n_ranks, "         \
        "enclosure, cgroup, n_phases"
#define N_JOB_COLUMNS 24 /* further ones of a query come after */

/* Reads the row a statement is at. *ret must own nothing; metrics and usage are left zero. 0 or -ENOMEM. */
int job_columns_read(sqlite3_stmt *statement, JobView *ret);
