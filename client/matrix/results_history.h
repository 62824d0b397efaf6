/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Results history: the runs with which the KPIs of the tests were compared, by version */

#include "client/cli/common_options.h"
#include "client/matrix/results_check.h"
#include "document/indicator_model.h"
#include "json/json.h"

#define RESULTS_HISTORIES_MAX 256U /* of a run; later KPIs have none */

/*
 * Writes a list with a list of {"version", "n", "first_ms", "median", "min", "max"} for each KPI that was judged, or
 * null for one whose history cannot be asked for. 0 or -ENOMEM.
 */
int results_history_write(const ResultsCheck *check, const IndicatorModel *model, const GlobalOptions *global,
                          Json *json);
