/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A phase that has ended: from a PhaseView to fields of a row-set, and from there to the table. */

#include "job/job.h"
#include "store/database.h"
#include "store/pack.h"
#include "util/buffer.h"

void phase_pack(Buffer *buffer, const PhaseView *phase);
/* Inside a transaction; one of that index is replaced, of a job that is not there none is put. 0 or an outcome of database.h. */
int phase_put(Unpack *from, Database *database, Text job);
