/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline raw: intervals of the stages of a data pipeline, computed from each put, get and task
 *
 * All stages share the intervals, which begin with the first event. An event at the end of an interval belongs to it. Events need not be
 * in order: each is held until another is PIPELINE_RAW_TOLERANCE_NS later, or PIPELINE_RAW_HELD_MAX are held.
 *
 * The readiness of a queue is the share of the time in which it had an item, by the number of puts and gets. Empty time counts in the
 * interval in which it passed, also while it lasts. The time before the first put, or before the number of items was stated, is not judged
 * if items were taken in it: how many the queue had is not known then.
 *
 * The module reads no clock. Memory: about 17 KiB for each stage, and 768 KiB for held events.
 */

#include "pipeline/pipeline_report.h"

#define PIPELINE_RAW_TOLERANCE_NS UINT64_C(1000000000)
#define PIPELINE_RAW_HELD_MAX     16384U /* events */
#define PIPELINE_RAW_STAGES_MAX   1000U
#define PIPELINE_RAW_GAP_MAX      1000U  /* intervals without an event; a longer gap is a jump of the clock, and is left out */
#define PIPELINE_RAW_LATE_MAX     32U    /* events in succession that are too late: the clock was set back */
#define PIPELINE_RAW_ITEMS_MAX    1000000000U
#define PIPELINE_RAW_SECONDS_MAX  1e6    /* duration of a call or task */
#define PIPELINE_RAW_INTERVAL_MIN_NS UINT64_C(100000000)
#define PIPELINE_RAW_INTERVAL_MAX_NS UINT64_C(3600000000000)

/* Events of the same time count in this order. */
typedef enum PipelineRawKind {
        PIPELINE_RAW_LEVEL, /* the number of items in the queue is stated */
        PIPELINE_RAW_PUT,
        PIPELINE_RAW_GET,
        PIPELINE_RAW_TASK,
        PIPELINE_RAW_FAILED_TASK,
        PIPELINE_RAW_END,   /* the stage has no interval after this time, unless it has another event */
        N_PIPELINE_RAW_KINDS,
} PipelineRawKind;

typedef struct PipelineRawEvent {
        const char *stage; /* label; borrowed */
        PipelineRawKind kind;
        uint64_t time_ns;  /* Unix time at the end of the call or task */
        double seconds;    /* duration, up to PIPELINE_RAW_SECONDS_MAX */
        uint32_t n_items;  /* of PIPELINE_RAW_LEVEL */
        uint32_t buffer_size; /* of the queue; 0: not stated */
} PipelineRawEvent;

typedef struct PipelineRaw PipelineRaw;

/* Returns 0 or -ENOMEM. interval_ns: PIPELINE_RAW_INTERVAL_MIN_NS to PIPELINE_RAW_INTERVAL_MAX_NS. */
int pipeline_raw_new(PipelineRaw **ret, uint64_t interval_ns);
void pipeline_raw_free(PipelineRaw *raw);

enum {
        PIPELINE_RAW_LATE = 1,        /* the event is older than PIPELINE_RAW_TOLERANCE_NS, and is not counted */
        PIPELINE_RAW_TOO_MANY_STAGES, /* PIPELINE_RAW_STAGES_MAX */
};

/* Adds an event. Returns 0, an outcome or -ENOMEM. After each call, take all intervals. */
int pipeline_raw_add(PipelineRaw *raw, const PipelineRawEvent *event);
/* Lets time pass without an event. */
void pipeline_raw_advance(PipelineRaw *raw, uint64_t time_ns);
/* Ends the last interval at this time, or with the newest event if that is later. Nothing is added after it. */
void pipeline_raw_finish(PipelineRaw *raw, uint64_t time_ns);

/* Takes an interval that has ended; its label is borrowed from `raw`. Returns false if there is none. */
bool pipeline_raw_next(PipelineRaw *raw, PipelineInterval *ret);

/* Returns the time of the newest event, by the clock after it was set back; 0 if there was none. */
uint64_t pipeline_raw_newest_ns(const PipelineRaw *raw);

/* Facts that make the numbers less certain. */
typedef struct PipelineRawDoubts {
        uint64_t n_unmatched;       /* items that were taken and never put */
        const char *unmatched;      /* label of the last stage with one; borrowed */
        uint64_t n_jumps;           /* gaps of more than PIPELINE_RAW_GAP_MAX intervals */
        uint64_t n_steps_back;      /* times the clock was set back; later times are shifted, so that they continue */
} PipelineRawDoubts;

PipelineRawDoubts pipeline_raw_doubts(const PipelineRaw *raw);
