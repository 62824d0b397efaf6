/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sample rows: row sets of the node's history. */

#include "store/rowset.h"

/* One interval of the node's history; timeline is a one-point timeline_format(). Copies. For store_put(); NULL: out of memory. */
RowSet *sample_rows_pack(uint64_t begin_realtime_ms, uint64_t interval_ms, const char *timeline);
extern const RowKind *const sample_rows_kinds[];
