/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Profile report: what the machine did beside a KPI, as text. */

#include "document/value.h"
#include "util/buffer.h"

/* Writes "; the machine was disturbed: the node was stalled for I/O 60 % of the time (2 % before)"; nothing if it was not. */
void profile_report_put_disturbance(const Value *kpi, Buffer *out);
/* Writes the numbers that clearly differ from those of the runs before, and what else differs; nothing if nothing does. */
void profile_report_put(const Value *kpi, Buffer *out);
