/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job recovery: reads the data that a start needs to resume running jobs. */

#include <stddef.h>
#include <stdint.h>

#include "job/job.h"
#include "util/scoped.h"

typedef struct RecoveredJob {
        JobInfo info;
        uint64_t begin_realtime_ms;
        uint32_t begun_by;
        bool is_by_admin;
        char *progress; /* owned */
        char *boot_id;  /* owned; of the job's last checkpoint */
        uint64_t checkpoint_realtime_ms;
} RecoveredJob;

struct WalBarrier;

typedef struct JobRecovery {
        char *meter;   /* owned; the meter's account, or NULL */
        char *boot_id; /* owned; of the meter */
        uint64_t meter_realtime_ms;
        char *totals; /* owned; the totals of ended jobs, or NULL */
        RecoveredJob *jobs; /* owned */
        size_t n_jobs;
} JobRecovery;

/* Reads the data, before the first row set is put. path: store_path(), or NULL for a store that was opened late. barrier:
 * store_wal_barrier(), or NULL for a file that nobody writes. Caller frees. 0 or a negative errno. */
int job_recovery_read(const char *path, struct WalBarrier *barrier, JobRecovery **ret);
JobRecovery *job_recovery_free(JobRecovery *recovery);
DEFINE_SCOPED(JobRecovery, job_recovery_free);
