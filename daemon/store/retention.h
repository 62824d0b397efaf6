/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Retention: what has to go
 *
 * Rows go when they are too old, and the oldest go when the file has reached its size:
 * the node's samples first, then results, then jobs, never a running one. Always a few
 * at a time, so that rows that come in do not wait for those that leave.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/database.h"

typedef struct Limits {
        uint64_t size_max_bytes; /* file and write-ahead log; 0: none */
        uint64_t keep_samples_ns, keep_jobs_ns, keep_results_ns;
} Limits;

/* The sizes that follow from the limits. */
typedef struct Retention {
        Limits limits;
        int64_t n_pages_max;      /* of the file */
        int n_wal_pages_max;      /* a checkpoint is due */
        int n_wal_pages_end;      /* all the room that the log has */
        uint64_t n_wal_bytes_max; /* a longer log is cut when nobody stores anything */
        size_t n_batch_bytes_max; /* what one transaction may bring */
        uint64_t n_removed;       /* rows, since start */
        bool has_emptied;         /* results went: a name may be left without any */
} Retention;

/* Also tells the connection. 0 or an outcome of database.h, as all here. */
int retention_configure(Retention *retention, Database *database, const Limits *limits);

/* Inside the transaction that is about to bring n_bytes: removes what stands in the way. */
int retention_make_room(Retention *retention, Database *database, size_t n_bytes);
/* Whether n_bytes more would pass the size limit: why else was the file full? */
bool retention_is_at_limit(Database *database, const Retention *retention, size_t n_bytes);

/* Outside a transaction: one step of expiring and giving space back. *ret_has_more: there is more to do. */
int retention_step(Retention *retention, Database *database, uint64_t now_realtime_ns, bool *ret_has_more);
