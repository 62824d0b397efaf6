/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sample log: the node's samples since the oldest running job began
 *
 * All jobs of a node see the same samples, so there is one log, and a job has only a span of it. Level 0 holds the
 * last samples as they were taken, level k as many groups of 2^k merged samples. A span is read from the lowest
 * level that still holds all of it: the samples of a job are those taken until there are more than
 * EXPORT_SAMPLES_MAX, then pairs are merged. Groups begin at multiples of 2^k of the log. The samples of a span
 * before its first whole group are its head, so that no sample of a job has a part from before the job.
 *
 * The log has at most N_SAMPLE_LOG_LEVELS * SAMPLE_LOG_RING samples, which are enough for 2^23 * EXPORT_SAMPLES_MAX
 * observations. The ring of a level grows with its groups.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/export_samples.h"

#define N_SAMPLE_LOG_LEVELS 24U
#define SAMPLE_LOG_RING (EXPORT_SAMPLES_MAX + 1) /* a span moves to the next level once it has one sample too many */

typedef struct SampleLogLevel {
        ExportSample *groups; /* owned ring; NULL before the first group is complete */
        /* groups that the ring has room for, at most SAMPLE_LOG_RING; less only before the first ring is full */
        size_t n_allocated;
        ExportSample pending; /* merged samples of the lower level that make half a group; valid if has_pending */
        bool has_pending;
} SampleLogLevel;

typedef struct SampleLog {
        uint64_t n;          /* samples since the log began */
        uint64_t generation; /* changes when the log is restarted */
        SampleLogLevel levels[N_SAMPLE_LOG_LEVELS];
} SampleLog;

/* The part of a log from a job's begin on. */
typedef struct SampleSpan {
        uint64_t begin; /* number of samples before the span */
        uint64_t begin_realtime_ms;
        uint32_t level;
        /* owned; merged samples before the first whole group of the level; NULL: none, as in each short job */
        ExportSample *head;
} SampleSpan;

void sample_log_deinit(SampleLog *log);
/* Empties the log, once no span refers to it. */
void sample_log_clear(SampleLog *log);
/* Adds a sample. sample_log_span_follow() must follow for each span. 0, or -ENOMEM if the sample was dropped. */
int sample_log_add(SampleLog *log, const ExportSample *sample);
/* Makes *to a copy of *from, with little work if it was one before. 0, or -ENOMEM with an empty copy. */
int sample_log_copy(const SampleLog *from, SampleLog *to);

/* Begins a span at the end of the log. */
void sample_log_span_begin(SampleSpan *span, const SampleLog *log, uint64_t realtime_ms);
void sample_log_span_deinit(SampleSpan *span);
/* Moves the span to a higher level if it has too many samples. Out of memory: the samples before the first whole
 * group are lost. */
void sample_log_span_follow(SampleSpan *span, const SampleLog *log);
/*
 * Lists the samples of a span. begin: the totals from which the counters of the job are counted; end: those to which
 * the last sample is counted. 0 or -ENOMEM. Caller deinits *ret, which may be empty.
 */
int sample_log_span_list(const SampleSpan *span, const SampleLog *log, const Totals *begin, const Totals *end,
                         ExportSamples *ret);
