/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Retention: removes rows that are too old or take too much space
 *
 * Rows older than their table's limit expire. When the file has reached its size, the oldest rows go, in the order of the
 * tables' removal_order (store_subject.h). A step removes few rows, so that new rows do not wait long.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/database.h"
#include "store/expiry.h"
#include "store/store_types.h"

/* The sizes that follow from the configuration. */
typedef struct Retention {
        StoreConfig config;
        int64_t n_pages_max;      /* of the file */
        int n_wal_pages_max;      /* a longer log is due for a checkpoint */
        int n_wal_pages_end;      /* most pages that the log may have */
        uint64_t n_wal_bytes_max; /* a longer log is cut when no rows come */
        size_t n_batch_bytes_max; /* of the rows of one transaction */
        uint64_t n_removed;       /* rows, since start */
        Expiry expiry;
        uint64_t untidy;          /* a bit for each table that lost rows and is to be tidied */
} Retention;

/* Takes new limits and sets the connection's. 0 or an outcome of database.h, as all here. */
int retention_configure(Retention *retention, Database *database, const StoreConfig *config);

/* Inside the transaction that is about to add n_bytes: removes rows to make room. */
int retention_make_room(Retention *retention, Database *database, size_t n_bytes);
/* Whether n_bytes more would pass the size limit, as opposed to a full disk. */
bool retention_is_at_limit(Database *database, const Retention *retention, size_t n_bytes);

/* Outside a transaction: one step of expiring rows and giving space back. *ret_has_more: there is more to do. */
int retention_step(Retention *retention, Database *database, uint64_t now_realtime_ns, bool *ret_has_more);
