/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job reader: jobs and their phases. */

#include <stddef.h>
#include <stdint.h>

#include "job/job.h"
#include "job/job_gpus.h"
#include "job/job_steps.h"
#include "snapshot/job_description.h"
#include "store/database/statement.h"
#include "store/read/reader.h"
#include "util/scoped.h"

typedef struct JobFilter {
        const char *name, *user, *state; /* NULL: any; state as job_state_name() */
        uint64_t since_ms, until_ms;     /* begin in [since, until); 0: no bound */
        PageKey before;
        bool has_usage; /* the usage of each job is read as well, for job_reader_usage() */
} JobFilter;

/* Columns that the conditions and orders of a list need: a list may pass over very many jobs. Texts are borrowed until
 * the next step; NULL: damaged. */
typedef struct ListedJob {
        int64_t row;
        const char *id, *name, *user, *command, *labels, *state; /* labels: of job_text_parse_labels() */
        uint32_t uid;
        int64_t rank;
        uint64_t begin_ms, end_ms; /* end 0: the job is running, or its end is unknown */
        int64_t has_failed, has_pipeline;
        const char *usage_keys, *usage; /* NULL: none, or not asked for */
} ListedJob;

typedef struct JobRow {
        int64_t row;
        /* owned by the reader until the next step; metrics and usage only for a job that has ended */
        JobView view;
        bool has_metrics;
        bool has_pipeline; /* a data pipeline of the job was reported; only from job_reader_find_row() */
        JobSteps steps; /* only from job_reader_find(), as are the next two */
        JobGpus gpus;
        Blob timeline; /* bytes of StoreJobEnd, or null */
} JobRow;

/* Begins a query, newest first. 0 or an outcome of reader.h, as for all functions here. */
int job_reader_list(Reader *reader, const JobFilter *filter);
READER_NEXT(job_reader_next, ListedJob)
/* Returns a number of the usage of a listed job; NAN: it is absent. */
double job_reader_usage(Reader *reader, const ListedJob *job, UsageMetric metric);
/* Reads the job with that row of a list; READER_END: it was removed. */
int job_reader_find_row(Reader *reader, int64_t row, JobRow *ret);
/* Reads the job with that id; READER_END: there is none. */
int job_reader_find(Reader *reader, const char *id, JobRow *ret);

/* Begins a query of the ended phases of a job, in order. */
int job_reader_list_phases(Reader *reader, const char *job);
int job_reader_next_phase(Reader *reader, PhaseView *ret);

/* Data from which a start resumes a running job. */
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

/* Reads the data, before the first row set is put. path: store_path(), or NULL for a store that was opened late.
 * barrier: store_wal_barrier(), or NULL for a file that nobody writes. Caller frees. 0 or a negative errno. */
int job_reader_recover(const char *path, struct WalBarrier *barrier, JobRecovery **ret);
JobRecovery *job_reader_free_recovery(JobRecovery *recovery);
DEFINE_SCOPED(JobRecovery, job_reader_free_recovery);
