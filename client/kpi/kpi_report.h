/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* KPI report: verdicts about KPIs, as text for people and as files for programs */

#include "client/cli/screen.h"
#include "text/text.h"
#include "util/buffer.h"
#include "value/value.h"

/* Writes "speed.rate of serving model=llama3 users=4": the KPI, and what kpi_report_put_labels() writes. */
void kpi_report_put_name(const Value *kpi, Buffer *out);
/*
 * Writes "serving model=llama3 users=4": the component and the parameters of the KPI; nothing for the component that
 * a KPI has if none is named.
 */
void kpi_report_put_labels(const Value *kpi, Buffer *out);
/* As above. parameters: an object, or NULL. */
void kpi_report_put_set(const char *component, const Value *parameters, Buffer *out);
/* Writes the verdict alone: "regression to the level of 1.9.0", "back at the level of 1.9.0" or "run again: 1 more". */
void kpi_report_put_verdict(const Value *kpi, Buffer *out);
/* Writes the version of the first run that differs or, without a version, its time. False: no run differs. */
bool kpi_report_put_since(const Value *kpi, Buffer *out);
/* Writes the least change that would be seen, "6.0 % in 3 runs"; nothing if it is not known. */
void kpi_report_put_detectable(const Value *kpi, Buffer *out);
/* Writes the number of runs: "1 (8 repeats)" if the runs of a batch count as one; has_word: "1 run (8 repeats)". */
void kpi_report_put_runs(const Value *kpi, bool has_word, Buffer *out);
/* Writes the verdict with its reason: "regression: -20.1 % (-21.0 to -19.2 %) since 2.10.0". */
void kpi_report_put_reason(const Value *kpi, Buffer *out);

/* Writes a paragraph: the newest value, the runs of the history, the verdict, and the state of the machine where it
 * differs. */
void kpi_report_write_details(Screen *screen, const Value *kpi);

/* Names what separates the runs of histories with one run each; keys: "separated_by" of the answer; empty: nothing. */
void kpi_report_write_separating(Screen *screen, const Value *keys);

/* Writes the name of the user who accepted a level, or "uid 1000" if the user has no name. */
void kpi_report_user(const Value *accepted, char ret[static TEXT_MAX]);

/* Writes the answer about KPIs as YAML, or its KPIs as test cases of JUnit: changes for the worse or without a
 * direction fail. */
void kpi_report_put_yaml(const Value *answer, Buffer *out);
void kpi_report_put_junit(const Value *answer, Buffer *out);
/* The same as one of several suites, which are between these texts. */
#define KPI_REPORT_JUNIT_BEGIN "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
#define KPI_REPORT_JUNIT_END "</testsuites>\n"
void kpi_report_put_suite(const Value *answer, Buffer *out);
/* Writes a test case. outcome: "failure", "error" or "skipped" with a message; NULL: it has passed. */
void kpi_report_put_case(const char *kind, const char *name, const char *outcome, const char *message, Buffer *out);

/*
 * Writes MatrixBenchmarking's regression_summary.yaml into a directory, which must exist, and the marker files
 * NO_RESULTS_FOUND and NO_HISTORICAL_RESULTS where they apply; answer NULL: only the marker FAILURE. Markers that do
 * not apply are removed. Returns EXIT_DONE, or EXIT_FAILED after a message.
 */
int kpi_report_write_files(const char *directory, const Value *answer);
