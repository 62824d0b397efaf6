/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Results report: files about a whole run, for other programs and for pull requests */

#include "client/matrix/payload.h"
#include "client/matrix/results_store.h"
#include "client/matrix/test_matrix.h"

#define RESULTS_STEPS_MAX 8U

/* A step and its outcome, for the summary. */
typedef struct ResultsStep {
        const char *name;
        Buffer text; /* owned */
} ResultsStep;

typedef struct ResultsRun {
        TestMatrix matrix;
        Payload *payloads; /* owned; of the records of the tree; unused for those left out */
        Submission *items; /* owned; of the payloads that can be stored */
        size_t n_items, n_invalid;
        ResultsCheck check;
        ResultsStep steps[RESULTS_STEPS_MAX];
        size_t n_steps;
} ResultsRun;

void results_report_run_deinit(ResultsRun *run);

/*
 * Writes junit.xml, summary.md and, with verdicts, regression_summary.yaml with its marker files into a directory,
 * which is made if necessary. Returns EXIT_DONE, or EXIT_FAILED after a message.
 */
int results_report_write(const ResultsRun *run, const char *directory);
/* Appends the payload of a test, with its verdicts. */
void results_report_put_payload(const ResultsRun *run, size_t i, Buffer *out);
/* Writes a file for each payload, and source.lts.yaml, the anchor that MatrixBenchmarking looks for. */
int results_report_write_lts(const ResultsRun *run, const char *directory);
/* Writes a file of the directory, which is made if necessary. As above. */
int results_report_write_file(const char *directory, const char *name, const Buffer *text);
