/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The samples of a job, for an export in the format of perf.py
 */

#include "http/exchange.h"

/*
 * Answers with {"job": …, "rank": …, "begin_ms": …, "samples_begin_ms": …, "n_merged": …, "samples": {"cpu_pct_per_cpu_avg": […], …}}:
 * a list for each of perf.py's twelve fields. samples_begin_ms is null if no sample was kept.
 */
void perf_report_json_answer(const Target *target, const Sources *sources, Response *response);
