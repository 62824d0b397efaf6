/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Summary: how much the numbers of the runs of a batch differ
 */

#include <stddef.h>

#include "document/indicator.h"
#include "util/buffer.h"
#include "value/value.h"

#define SUMMARY_SERIES_MAX 64U

typedef struct SummarySeries {
        char *name, *component, *key; /* owned */
        double *values;               /* owned */
        size_t n, n_allocated;
} SummarySeries;

typedef struct Summary {
        SummarySeries series[SUMMARY_SERIES_MAX];
        size_t n;
        size_t n_left_out; /* numbers beyond SUMMARY_SERIES_MAX series */
} Summary;

void summary_deinit(Summary *summary);

/* Adds the numbers at the top of the @result. 0 or -ENOMEM. */
int summary_add(Summary *summary, const Indicator *indicator);

/*
 * Writes a line for each indicator, and below a line for each number: n, median and coefficient of variation. Sorts
 * the values.
 * units: an object with the unit of each number that has one, or NULL. Skips command results, which
 * summary_write_commands() describes.
 */
void summary_write(Summary *summary, const Value *units, Buffer *out);

/*
 * Appends lines about each indicator of the component `command`, as expected of a benchmark of commands: the time of
 * the runs with its spread, the CPU time, and reasons to distrust the numbers. Sorts the values.
 */
void summary_write_commands(Summary *summary, Buffer *out);

/* Appends "run 3 of 20: median 201.4 ms, 3.6 s left"; n_left runs follow. Does nothing before the first result. */
void summary_write_progress(const Summary *summary, uint64_t n_left, Buffer *out);

/* --- the statistics of a batch as a file in CSV, JSON or Markdown ------------------------------------ */

typedef enum ExportFormat {
        EXPORT_CSV,
        EXPORT_JSON,
        EXPORT_MARKDOWN,
        N_EXPORT_FORMATS,
} ExportFormat;

#define EXPORT_ENDINGS ".csv, .json or .md"

/* Finds the format by the ending of the file's name. False: another ending. */
bool summary_find_format(const char *path, ExportFormat *ret);

/* Facts of a batch beside its numbers. */
typedef struct ExportBatch {
        const char *id;
        uint64_t n_runs, n_failed;
} ExportBatch;

/* Appends a row for each number; JSON also contains the values in the order of the runs. 0 or -ENOMEM. */
int summary_write_file(const Summary *summary, const ExportBatch *batch, ExportFormat format, Buffer *out);
