/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job reader: jobs and their phases. */

#include "snapshot/job_view.h"
#include "store/database/statement.h"
#include "store/read/reader.h"

typedef struct JobFilter {
        const char *name, *user, *state; /* NULL: any; state as job_state_name() */
        uint64_t since_ms, until_ms;     /* begin in [since, until); 0: no bound */
        PageKey before;
} JobFilter;

typedef struct JobRow {
        int64_t row;
        JobView view;         /* owned by the reader until the next step; metrics and usage only for a job that has ended */
        bool has_metrics;
        Blob timeline; /* bytes of StoreJobEnd, or null; only from job_reader_find() */
} JobRow;

/* Begins a query, newest first. 0 or an outcome of reader.h, as for all functions here. */
int job_reader_list(Reader *reader, const JobFilter *filter);
int job_reader_next(Reader *reader, JobRow *ret);
/* Reads the job with that id; READER_END: there is none. */
int job_reader_find(Reader *reader, const char *id, JobRow *ret);

/* Begins a query of the ended phases of a job, in order. */
int job_reader_list_phases(Reader *reader, const char *job);
int job_reader_next_phase(Reader *reader, PhaseView *ret);
