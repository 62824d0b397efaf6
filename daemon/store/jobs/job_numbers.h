/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Numbers: the metrics of a window and the usage beside them, on their way into a row
 *
 * Four columns of a job's and of a phase's row: layout, metrics, usage_layout, usage (job_text.h says how they are
 * written). Packed in the caller's thread, bound in the writer's.
 */

#include "measure/metric.h"
#include "measure/usage.h"
#include "store/database.h"
#include "store/pack.h"
#include "util/buffer.h"

/* NULL: none. */
void job_numbers_pack(Buffer *buffer, const MetricSet *metrics, const UsageSet *usage);
#define N_NUMBER_FIELDS 4

/* Unpacks the values of the four columns, and stores layouts that are new. 0 or an outcome of database.h. */
int job_numbers_read(Unpack *from, Database *database, Field ret[static N_NUMBER_FIELDS]);
