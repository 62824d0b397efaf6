/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* KPI profile: the state of the machine during the runs of a new level, and during the runs before. */

#include "kpi/history.h"
#include "store/read/reader.h"
#include "util/buffer.h"

#define KPI_PROFILES_MAX 200U /* of a request */

/*
 * Writes a JSON object about the runs from number `since` up to n, and about the runs before; writes nothing if nothing is known. runs: in
 * the order in which they were judged. *ret_is_disturbed: the machine has disturbed all runs of the new level. Returns 0 or an outcome of
 * reader.h.
 */
int kpi_profile_write(Reader *reader, const HistoryRun *runs, size_t since, size_t n, Buffer *out, bool *ret_is_disturbed);
