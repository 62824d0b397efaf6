/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Phases of a job as JSON
 */

#include "http/exchange.h"
#include "http/measure/metric_json.h"
#include "job/job.h"
#include "store/read/reader.h"

/* Maximum number of phases in an answer, which has the earliest phases and the current phase. */
#define PHASES_MAX 1000U
#define PHASES_BYTES_MAX (4U * 1024U * 1024U)

/* Both functions invalidate rows that the reader returned before. */

/* Writes "phases" and "phases_truncated": whether phases are missing, because of the limits above or because the
 * store could not be read. lasting: the current phase, or NULL. now_ms: end of the current phase. */
void phases_json_write(const Target *target, const Sources *sources, Response *response, Json *json,
                       const PhaseView *lasting, uint64_t now_ms);

/*
 * Appends the time blocks to the open array, as metrics: for each name, the seconds of all ended phases of that
 * name. A name that is a metric's key, or begins with PHASES_PREFIX, gets PHASES_PREFIX. key: only this one; NULL:
 * all. 0 or EXCHANGE_ANSWERED.
 */
#define PHASES_PREFIX "phase/"
int phases_json_write_times(const Target *target, const Sources *sources, Response *response, Json *json,
                            const char *key, MetricStamp stamp);

/*
 * PhaseWalk: iterates over the phases of a job
 *
 * Ended phases are in the store. The current phase is in the snapshot, which may be one tick old: a phase in both
 * has ended. If a job has too many phases, the walk returns the earliest phases and the current phase.
 */
typedef struct PhaseWalk {
        Reader *reader;
        const PhaseView *lasting; /* the current phase; NULL: none, or already returned */
        uint32_t next;            /* index after the last ended phase */
        unsigned n_left; /* number of ended phases that may still be returned */
        bool is_in_store;
        /* at the end: no phase was left out because of the limit or because the store could not be read */
        bool has_all;
} PhaseWalk;

/*
 * lasting: the current phase, or NULL. n_max: maximum number of ended phases. Invalidates rows that the reader
 * returned before.
 */
void phases_json_begin(PhaseWalk *walk, Reader *reader, const char *job, const PhaseView *lasting, unsigned n_max);
/* False at the end. *ret is borrowed until the next call. */
bool phases_json_next(PhaseWalk *walk, PhaseView *ret);

/* Returns the seconds that the client measured, else the length of the node's window, else the difference of the
 * wall clock, which may have been set in between. now_ms: end of a current phase. */
double phases_json_seconds(const PhaseView *phase, uint64_t now_ms);
