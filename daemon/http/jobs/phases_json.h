/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Phases of a job as JSON
 */

#include "http/exchange.h"
#include "http/measure/metric_json.h"
#include "job/job.h"

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
