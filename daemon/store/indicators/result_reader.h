/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Result reader: results as they were submitted. */

#include "json/json_text.h"
#include "measure/metric.h"
#include "measure/usage.h"
#include "store/read/reader.h"
#include "util/sha256.h"

/* A filter by job alone gives all results that were submitted for the job, of any name. */
typedef struct ResultFilter {
        const char *name, *component, *job; /* NULL: any; the component in any case, as rows have it in lower case */
        uint64_t since_ms, until_ms;        /* [since, until); 0: open */
        PageKey before;
} ResultFilter;

/* The batch of which a result is a run. */
typedef struct ResultBatch {
        bool is_known; /* false: the result was submitted alone */
        uint8_t id[16];
        uint64_t index;
} ResultBatch;

typedef struct ResultRow {
        int64_t row;
        uint8_t id[16];
        const char *name, *component, *version, *job; /* version and job may be NULL */
        uint32_t uid;
        uint64_t time_ms;
        bool has_score;
        double score;
        bool has_exit_status;
        int64_t exit_status; /* not 0: the run failed */
        ResultBatch batch;
        int64_t stack;            /* 0: unknown */
        const char *stack_digest; /* 64 hexadecimal digits; NULL: unknown */
        const char *specification_digest; /* as stack_digest; NULL: none */
        const char *run;      /* JSON; NULL: unknown how the result was measured */
        /* time given by the sender, if time_ms is the arrival because the sender's time is ahead; else 0 */
        uint64_t claimed_ms;
        const char *document; /* JSON */
} ResultRow;

/* Begins a query, newest first. 0 or an outcome of reader.h, as for all functions here. */
int result_reader_list(Reader *reader, const ResultFilter *filter);
READER_NEXT(result_reader_next, ResultRow)
/* Reads the result in that row; READER_END: the result was removed. */
int result_reader_find(Reader *reader, int64_t row, ResultRow *ret);

/* A result of a batch. */
typedef struct BatchRow {
        const char *name, *component, *version; /* version may be NULL */
        uint64_t time_ms, batch_index;
        bool has_exit_status, has_score;
        int64_t exit_status;
        double score;
        JsonText document, run; /* run may be empty */
} BatchRow;

/* Begins a query by index. Leaves out results that another user submitted under the same id. */
int result_reader_list_batch(Reader *reader, const uint8_t id[static 16]);
READER_NEXT(result_reader_next_of_batch, BatchRow)

/* Specification of results. */
typedef struct SpecificationRow {
        const char *document; /* JSON */
        uint64_t n_results;
} SpecificationRow;

/* digest: SHA-256 of the document. READER_END: no result has it. */
int result_reader_find_specification(Reader *reader, const uint8_t digest[static SHA256_BYTES], SpecificationRow *ret);

/* The known facts about the machine and the job in which a result was measured. Texts are borrowed until the next
 * query. */
typedef struct RunRow {
        bool has_job;      /* the result is of a job that has ended, with these numbers */
        uint64_t duration_ms;
        MetricSet metrics;
        UsageSet usage;
        const char *run;          /* JSON; NULL: unknown how the result was measured */
        const char *stack_digest; /* NULL: unknown */
} RunRow;

/* Reads the run of the result in a row of the table of results. 0 or an outcome of reader.h; READER_END: there is no
 * such result. */
int result_reader_find_run(Reader *reader, int64_t result, RunRow *ret);
