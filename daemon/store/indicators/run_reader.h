/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Run reader: the known facts about the machine and the job in which a result was measured. */

#include "measure/metric.h"
#include "measure/usage.h"
#include "store/read/reader.h"

/* Texts are borrowed until the next query. */
typedef struct RunRow {
        bool has_job;      /* the result is of a job that has ended, with these numbers */
        uint64_t duration_ms;
        MetricSet metrics;
        UsageSet usage;
        const char *run;          /* JSON; NULL: unknown how the result was measured */
        const char *stack_digest; /* NULL: unknown */
} RunRow;

/* Reads the run of the result in a row of the table of results. 0 or an outcome of reader.h; READER_END: there is no such result. */
int run_reader_find(Reader *reader, int64_t result, RunRow *ret);
