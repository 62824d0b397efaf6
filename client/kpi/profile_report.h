/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Profile report: the state of the machine during the runs of a KPI, as text. */

#include "util/buffer.h"
#include "value/value.h"

/* Writes "; the machine was disturbed: the node was stalled for I/O 60 % of the time (2 % before)"; nothing if it was not. */
void profile_report_put_disturbance(const Value *kpi, Buffer *out);
/* Writes the numbers and facts that clearly differ from those of the runs before; writes nothing if none differs. */
void profile_report_put(const Value *kpi, Buffer *out);
