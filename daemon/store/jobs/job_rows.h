/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Jobs, their checkpoints and the meter's account: row-sets, and from there to the tables. */

#include "job/job.h"
#include "request/request.h"
#include "store/database.h"
#include "store/rowset.h"
#include "store/store_types.h"

/* A timeline is stored squeezed, in parts of the same size: schema.c says why. */
#define N_TIMELINE_PARTS 3

typedef struct JobBeginRow {
        const JobInfo *info;
        uint64_t begin_ms;
        const char *boot_id, *progress, *meter;
} JobBeginRow;

/* All copy everything. 0 or -ENOMEM. */
int job_begin_pack(const JobBeginRow *row, StoreCookie cookie, RowSet **ret);
int job_end_pack(const StoreJobEnd *row, StoreCookie cookie, RowSet **ret);
int job_phase_pack(const StorePhase *row, StoreCookie cookie, RowSet **ret);
int job_learned_pack(const StoreLearned *learned, StoreCookie cookie, RowSet **ret);
int job_amend_pack(const char *job, const Peer *sender, const JobEnd *end, StoreCookie cookie, RowSet **ret);
int checkpoints_pack(const StoreCheckpoint *items, size_t n_items, const char *boot_id, const char *meter,
                     uint64_t time_ms, RowSet **ret);

/* Inside a transaction: closes every job that is running as interrupted, at its last checkpoint. 0 or an outcome of database.h. */
int job_rows_interrupt(Database *database, const char *note);
/* Inside a transaction. Sets set->outcome. 0 or an outcome of database.h, then the transaction is to be rolled back. */
int job_rows_apply(RowSet *set, Database *database);
