/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parts of a job as short texts
 *
 * Columns that nobody searches by: labels, rusage, metrics and usage. What is written
 * here is read by every later version.
 */

#include <stddef.h>
#include <stdint.h>

#include "job/job.h"
#include "measure/metric.h"
#include "util/buffer.h"

/* All positive: outcomes. */
enum {
        JOB_TEXT_MALFORMED = 1,
};

/* "key=value\n"…, with \\, \n and \= for a backslash, a newline and, in a key, an equals sign. */
void labels_write(const JobInfo *info, Buffer *out);
/* Adds to info's labels, which info owns. 0, -ENOMEM or JOB_TEXT_MALFORMED. */
int labels_parse(const char *text, JobInfo *info);

/* The sixteen numbers, in the order of struct rusage. */
void rusage_write(const JobRusage *rusage, Buffer *out);
int rusage_parse(const char *text, JobRusage *ret);

/*
 * Metrics and usage are stored as values only, one word each: "e1.5" exact, "s0.25" sampled, "u", "t", "l", "g", "o" or
 * "n" absent (the qualities), "c12.5" perf.py's reading, "-" none. Their keys, in the same order, are the layout: one
 * text for all rows that the same version of the program wrote, so that numbers may come and go between versions.
 */
typedef enum LayoutKind {
        LAYOUT_METRICS,
        LAYOUT_USAGE,
        N_LAYOUT_KINDS,
} LayoutKind;
void layout_write(LayoutKind kind, Buffer *out);
void metrics_write(const MetricSet *metrics, Buffer *out);
void usage_set_write(const UsageSet *usage, Buffer *out);

#define LAYOUT_MAX 256

/* A layout as places in a MetricSet or a UsageSet. */
typedef struct Layout {
        size_t n;
        int16_t place[LAYOUT_MAX]; /* number; N_METRICS + metric for perf.py's reading; -1: not known any more */
} Layout;
int layout_parse(LayoutKind kind, const char *text, Layout *ret);
int metrics_parse(const char *text, const Layout *layout, MetricSet *ret);
int usage_set_parse(const char *text, const Layout *layout, UsageSet *ret);
