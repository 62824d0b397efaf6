/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Summary export: the statistics of a batch as a file in CSV, JSON or Markdown */

#include "client/results/summary.h"

typedef enum ExportFormat {
        EXPORT_CSV,
        EXPORT_JSON,
        EXPORT_MARKDOWN,
        N_EXPORT_FORMATS,
} ExportFormat;

#define EXPORT_ENDINGS ".csv, .json or .md"

/* Finds the format by the ending of the file's name. False: another ending. */
bool summary_export_find_format(const char *path, ExportFormat *ret);

/* Facts of a batch beside its numbers. */
typedef struct ExportBatch {
        const char *id;
        uint64_t n_runs, n_failed;
} ExportBatch;

/* Appends a row for each number; JSON also contains the values in the order of the runs. 0 or -ENOMEM. */
int summary_export_write(const Summary *summary, const ExportBatch *batch, ExportFormat format, Buffer *out);
