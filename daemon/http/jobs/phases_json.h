/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Phases of a job as JSON
 */

#include "http/exchange.h"
#include "http/measure/metric_json.h"

/* Maximum number of phases in an answer; the earliest ones and the present one are kept. */
#define PHASES_MAX 1000U
#define PHASES_BYTES_MAX (4U * 1024U * 1024U)

/* Rows that were asked for from the reader are gone after either. */

/*
 * "phases" and "phases_truncated": whether some are left out, for the limits above, or because the store could not be
 * read to the end. lasting: NULL for none. now_ms: how far the one that lasts is.
 */
void phases_json_write(Exchange *exchange, Json *json, const PhaseView *lasting, uint64_t now_ms);

/*
 * The time blocks: for each name, the seconds of all ended phases of that name, in the shape of a metric and into the
 * array that is open. A name that is a metric's key, or looks like one so told apart, gets PHASES_PREFIX. key: only that one;
 * NULL: all. 0 or EXCHANGE_ANSWERED.
 */
#define PHASES_PREFIX "phase/"
int phases_json_write_times(Exchange *exchange, Json *json, const char *key, MetricStamp stamp);
