/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Usage file: the counters of running jobs' cgroups as of the latest tick, in a file that outlives perfd
 *
 * The store has a checkpoint of a job, which may be seconds old. The kernel has the counters since then, unless the
 * cgroup was removed or recreated, or its counters were reset: then only this file has what /metrics has shown. The
 * file is a table: a line with the boot and the names of the columns, then a line for each job.
 */

#include "base/runtime_file.h"
#include "measure/usage.h"

typedef struct Job Job;

typedef struct UsageFile {
        RuntimeFile *file; /* owned; NULL: there is no directory for the file, or it failed */
        char *former;   /* owned; text that the former perfd of this boot wrote; NULL: none */
        char boot_id[64];
        size_t n_text; /* size of the latest text, put by this perfd */
        unsigned n_empty; /* empty texts that were written one after the other: both slots get one */
} UsageFile;

/* The cgroup of a job, and its counters. */
typedef struct FormerUsage {
        uint64_t id; /* cgroup_id() */
        bool is_usage_cut;
        Usage usage; /* without cpu_base and peak rate */
} FormerUsage;

void usage_file_deinit(UsageFile *counters);
/*
 * Reads the file, if it is of this boot, and keeps the counters there from now on. 0, or a negative errno of
 * runtime_file_open(): the checkpoints of the store have the counters.
 */
int usage_file_open(UsageFile *counters, const char *path, const char *boot_id);
/* Returns whether the former perfd wrote counters of the job. */
bool usage_file_find(const UsageFile *counters, const char *id, uint64_t begin_realtime_ms, FormerUsage *ret);
/* Discards the text that the former perfd wrote. */
void usage_file_forget(UsageFile *counters);
/* Writes the counters of the jobs from `first` on. */
void usage_file_write(UsageFile *counters, const Job *first);
