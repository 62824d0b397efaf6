/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Phase rows: a phase that has ended, as fields of a row set and as a row of the table. */

#include "job/job.h"
#include "store/database.h"
#include "store/pack.h"
#include "util/buffer.h"

void phase_rows_pack(Buffer *buffer, const PhaseView *phase);
/* Inside a transaction. Replaces a phase of the same index; does nothing when the job is not stored. 0 or an outcome of database.h. */
int phase_rows_put(Unpack *from, Database *database, Field job);
