/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * KPI exposition: KPIs as OpenMetrics 1.0
 *
 * A family has the name of the result, preceded by the name of the model where two models have such a result. Labels are the
 * parameters and labels of the result, except those that identify the run: test_uuid, run_id, test_path, urls. A sample has the time of
 * its result. An item of a list is a sample with the label `index`.
 */

#include "client/api/kpi_set.h"
#include "util/buffer.h"

void kpi_exposition_write(const KpiSet *set, Buffer *out);
