/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Holders: how much of the database belongs to each user
 *
 * The table `holder` has a row for each user with the size of the user's rows, and the numbers of names and series.
 * Triggers and the writer keep it up to date in the transactions that change these rows, so that it is exact after a
 * crash. The size is an estimate: the texts of a row and a constant for everything else. After a commit the table is
 * copied into the accounts of the users.
 */

#include <stdint.h>

#include "shares/shares.h"
#include "store/database/database.h"
#include "store/table/store_subject.h"

extern const StoreSubject holders_subject;

/* Size of a result besides its texts: of its row, its entries in indexes, and its point. */
#define HOLDER_RESULT_BYTES 256
#define HOLDER_RESULT_BYTES_TEXT "256"

/* Results of a user within a block of rows. An index of results by user would make storing each result more
 * expensive; instead, the table `holding` contains the blocks in which a user has results. */
typedef struct HeldRows {
        int64_t uid, block, n_rows, n_bytes;
} HeldRows;
#define HOLDING_BLOCK_ROWS 1024
#define HOLDING_BLOCK_TEXT "1024"

/* Adds the results of a block to those that their user holds, or removes them. 0 or an outcome of database.h, as for
 * all functions here. */
int holders_add(Database *database, const HeldRows *added);
int holders_remove(Database *database, const HeldRows *removed);

typedef struct HolderCounts {
        int64_t n_bytes, n_names, n_series;
} HolderCounts;
/* All are 0 for a user without rows. */
int holders_read(Database *database, int64_t uid, HolderCounts *ret);

/*
 * Finds the user whose rows are removed first: of the users who hold more than their share of size_max bytes, the
 * one who holds most by weight. A user who is alone has no share to exceed. HOLDERS_NONE: nobody exceeds the share.
 * shares: NULL, or the weights of users.
 */
#define HOLDERS_NONE INT64_C(-1)
int holders_find_over_share(Database *database, Shares *shares, uint64_t size_max, int64_t *ret_uid);

/* Charges of the users for the rows that they hold in the database. */
typedef struct HolderCharges HolderCharges;
typedef struct Holders {
        Shares *shares; /* borrowed; NULL: no user is charged */
        HolderCharges *items; /* owned; by uid */
        size_t n;
        uint64_t next_ns; /* CLOCK_BOOTTIME */
} Holders;

void holders_deinit(Holders *holders);
/* Charges the users for the rows that they hold now, at most once a second. Call outside a transaction. */
void holders_charge(Holders *holders, Database *database);
