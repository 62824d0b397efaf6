/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Retention: removes rows that are too old or take too much space
 *
 * Rows older than their table's limit expire. When the file has reached its maximum size, the oldest rows of a user who exceeds
 * the user's share (holders.h) are removed first, then the oldest rows of all, in the order of the tables' removal_order
 * (store_subject.h). A step removes few rows, so that new rows do not wait long.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shares/shares.h"
#include "store/database/database.h"
#include "store/retention/expiry.h"
#include "store/table/store_types.h"

/* Sizes that follow from the configuration. */
typedef struct Retention {
        StoreConfig config;
        Shares *shares;           /* borrowed; NULL: users have equal shares */
        int64_t n_pages_max;      /* maximum size of the file */
        int n_wal_pages_max;      /* a longer log is due for a checkpoint */
        int n_wal_pages_end;      /* maximum number of pages of the log */
        uint64_t n_wal_bytes_max; /* a longer log is cut when no rows come */
        size_t n_batch_bytes_max; /* maximum size of the rows of one transaction */
        int64_t n_step_rows;      /* rows that the next removal removes at most */
        uint64_t n_removed;       /* removed rows, since start */
        Expiry expiry;
        uint64_t untidy;          /* a bit for each table that lost rows and is to be tidied */
} Retention;

/* Takes new limits and sets those of the connection. 0 or an outcome of database.h, as for all functions here. */
int retention_configure(Retention *retention, Database *database, const StoreConfig *config);

/* Call inside the transaction that is about to add n_bytes: removes rows to make room. */
int retention_make_room(Retention *retention, Database *database, size_t n_bytes);
/* True if n_bytes more would exceed the size limit, as opposed to a full disk. */
bool retention_is_at_limit(Database *database, const Retention *retention, size_t n_bytes);

/* Call outside a transaction: one step of expiring rows and releasing space. *ret_has_more: more steps are needed. */
int retention_step(Retention *retention, Database *database, uint64_t now_realtime_ns, bool *ret_has_more);
