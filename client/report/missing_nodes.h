/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Missing nodes: those of a job of Slurm that no report is of */

#include "client/report/report_run.h"
#include "util/buffer.h"

/*
 * Appends the names of a list as Slurm writes it, cn[1-3,07]-ib,login, each with a newline. Returns false, and appends
 * a part, if it is no such list, or has more than a million bytes.
 */
bool missing_nodes_expand(const char *list, Buffer *ret);
/* Writes "cn2, cn5 and 3 more"; "" if no node is missing or the run has no list of nodes. */
void missing_nodes_write(const ReportRun *run, Buffer *ret);
