/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Run labels: labels that separate the values of runs which are judged as one history
 *
 * A label that no model declares as a parameter does not split a history. If runs with different values of it take
 * turns and differ, levels of the mixture say nothing.
 */

#include <stdbool.h>

#include "http/kpis/kpi_table.h"
#include "store/read/reader.h"

#define RUN_LABELS_RUNS_MAX 20000U /* read for a request; further histories are judged without their labels */

typedef struct RunLabels RunLabels;

/* Returns NULL without memory. */
RunLabels *run_labels_new(void);
RunLabels *run_labels_free(RunLabels *labels);
DEFINE_SCOPED(RunLabels, run_labels_free);

/*
 * Writes a JSON object about the label that separates the n runs; writes nothing if no label does. runs: in the order
 * in which they were judged. Labels that the rules compare or ignore do not count. is_unknown: they have no verdict, so
 * that a label that may be the reason is enough. Returns 0 or an outcome of reader.h.
 */
int run_labels_find_separating(RunLabels *labels, Reader *reader, const HistoryRun *runs, size_t n,
                               const KpiRules *rules, bool is_unknown, Buffer *out);
