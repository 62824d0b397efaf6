/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parts of a job as short texts
 *
 * Columns that no query searches: labels, rusage, metrics and usage. Every later version
 * reads what is written here.
 */

#include <stddef.h>
#include <stdint.h>

#include "job/job.h"
#include "json/record.h"
#include "measure/metric.h"
#include "store/database/statement.h"
#include "util/buffer.h"

extern const Record job_labels_record; /* the labels of a JobInfo, and nothing else of it */
extern const Record job_rusage_record; /* a JobRusage */

/* Sets info's labels, which info owns. 0, -ENOMEM or PARSE_MALFORMED. */
int job_text_parse_labels(const char *text, JobInfo *info);

/*
 * Metrics and usage are stored as values only, one word each, without blanks: "V1.5" exact, "S0.25" sampled, "V" an
 * exact 0, "U", "T", "L", "G", "O" or "N" absent (the qualities), "C12.5" perf.py's reading, "Y" none. Their keys,
 * in the same order, are the layout: one text for all rows that one version of the program wrote, so that numbers
 * may come and go between versions. What parses gives 0 or PARSE_MALFORMED.
 */
typedef enum LayoutKind {
        LAYOUT_METRICS,
        LAYOUT_USAGE,
        N_LAYOUT_KINDS,
} LayoutKind;
void job_text_write_layout(LayoutKind kind, Buffer *out);
void job_text_write_metrics(const MetricSet *metrics, Buffer *out);
void job_text_write_usage(const UsageSet *usage, Buffer *out);

#define LAYOUT_MAX 256

/* A layout as places in a MetricSet or a UsageSet. */
typedef struct Layout {
        size_t n;
        int16_t place[LAYOUT_MAX]; /* number; N_METRICS + metric for perf.py's reading; -1: not known any more */
} Layout;
int job_text_parse_layout(LayoutKind kind, const char *text, Layout *ret);
int job_text_parse_metrics(const char *text, const Layout *layout, MetricSet *ret);
int job_text_parse_usage(const char *text, const Layout *layout, UsageSet *ret);
/* Returns one number of a usage, without parsing the others; NAN: it is absent. */
double job_text_find_usage(const char *text, const Layout *layout, UsageMetric metric);

/* The four texts of a row's numbers; NULL: none. */
typedef struct JobNumberTexts {
        const char *metric_keys, *metrics, *usage_keys, *usage;
} JobNumberTexts;
/* Four columns of a row of a job or phase, whose layouts are joined by JOB_LAYOUTS(). */
#define JOB_NUMBER_COLUMNS(Type, member)                                                                               \
        COLUMN(Type, member.metric_keys, "m.keys"), COLUMN(Type, member.metrics, "metrics"),                           \
                COLUMN(Type, member.usage_keys, "u.keys"), COLUMN(Type, member.usage, "usage")
#define JOB_LAYOUTS(table)                                                                                             \
        " LEFT JOIN layout AS m ON m.id = " table ".layout LEFT JOIN layout AS u ON u.id = " table ".usage_layout"
/* Numbers that cannot be read are absent. Returns true if both sets were read. */
bool job_text_read_numbers(const JobNumberTexts *texts, MetricSet *ret_metrics, UsageSet *ret_usage);
