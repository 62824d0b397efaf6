/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A row of the job table as a JobView: for readers and for recovery. */

#include "snapshot/job_view.h"
#include "store/database/statement.h"

#define JOB_COLUMNS                                                                            \
        "row, id, name, user, command, uid, gid, pid, pid_start_ticks, rank, node, n_nodes, "   \
        "n_ranks, labels, isolation, cgroup, state, begin_ms, end_ms, n_phases, "               \
        "exit_status, signal, rusage, note"
#define N_JOB_COLUMNS 24 /* further columns of a query follow */

/* Reads the current row of a statement. *ret must own nothing; metrics and usage are left zero. 0 or -ENOMEM. */
int job_columns_read(const Prepared *row, JobView *ret);
