/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reader: questions to the store
 *
 * A read-only connection with a time limit for each question, for one thread. Rows come
 * one at a time; text is borrowed until the next step. Filters are bound, never spliced.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/job_view.h"
#include "store/store_types.h"
#include "util/scoped.h"

typedef struct Reader Reader;

/*
 * path: store_path(); gate: store_wal_barrier(), borrowed, or NULL for a file that nobody writes. timeout_ns: of one question, all its
 * rows. Opened lazily: 0 or -ENOMEM.
 */
struct WalBarrier;
int reader_new(Reader **ret, const char *path, struct WalBarrier *gate, uint64_t timeout_ns);
Reader *reader_free(Reader *reader);
DEFINE_SCOPED(Reader, reader_free);

/* Outcomes of every question and step are in types.h. */

/* Keyset paging: rows come newest first, strictly before (time, id) of the last row of the page before; 0 for the first page. */
typedef struct PageKey {
        uint64_t time_ms;
        int64_t row;
} PageKey;

/* Newest first whatever is given; a job alone gives all that was submitted for it, of any name. */
typedef struct ResultFilter {
        const char *name, *component, *job; /* NULL: any */
        uint64_t since_ms, until_ms;        /* [since, until); 0: open */
        PageKey before;
} ResultFilter;

typedef struct ResultRow {
        int64_t row;
        uint8_t id[16];
        const char *name, *component, *version, *job; /* version and job may be NULL */
        uint32_t uid;
        uint64_t time_ms;
        bool has_score;
        double score;
        bool has_exit_status, has_batch;
        int64_t exit_status; /* not 0: the run failed */
        uint8_t batch[16];
        uint64_t batch_index;
        const char *run;      /* JSON; NULL: how it was measured is not known */
        const char *document; /* JSON */
} ResultRow;

int reader_results(Reader *reader, const ResultFilter *filter);
int reader_next_result(Reader *reader, ResultRow *ret);
/* The one in that row. 0 or an outcome; READER_END: there is none any more. */
int reader_result(Reader *reader, int64_t row, ResultRow *ret);

/* Every (name, component) with its number of results and latest time. */
typedef struct IndicatorRow {
        const char *name, *component;
        uint64_t n_results, latest_ms;
} IndicatorRow;
int reader_indicators(Reader *reader);
int reader_next_indicator(Reader *reader, IndicatorRow *ret);

typedef struct JobFilter {
        const char *name, *user, *state; /* NULL: any; state as job_state_name() */
        uint64_t since_ms, until_ms;     /* by begin */
        PageKey before;
} JobFilter;

typedef struct JobRow {
        int64_t row;
        JobView view;         /* metrics and usage only when finished or interrupted; owned by the reader until the next step */
        bool has_metrics;
        const char *timeline; /* timeline_format() text, or NULL; only from reader_job() */
} JobRow;

int reader_jobs(Reader *reader, const JobFilter *filter);
int reader_next_job(Reader *reader, JobRow *ret);
/* One job by id. 0 or an outcome; READER_END: there is none. */
int reader_job(Reader *reader, const char *id, JobRow *ret);

/* The phases of a job that have ended, in order. *ret is borrowed until the next step. */
int reader_phases(Reader *reader, const char *job);
int reader_next_phase(Reader *reader, PhaseView *ret);

typedef struct NodeSampleRow {
        uint64_t begin_ms, interval_ms;
        const char *timeline; /* one-point timeline_format() */
} NodeSampleRow;
/* Oldest first, [since, until). */
int reader_node_samples(Reader *reader, uint64_t since_ms, uint64_t until_ms);
int reader_next_node_sample(Reader *reader, NodeSampleRow *ret);

/* Ends the question early (also done by the next one). */
void reader_reset(Reader *reader);
