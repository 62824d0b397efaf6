/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Batches: chooses the row sets of the writer's next transaction
 *
 * Sets are stored in the order in which they came, many in one transaction. A large set does not join small ones,
 * whose senders would wait for it. While several users store rows, a large set that may wait is stored alone, in
 * parts if its kind has parts, and small sets of other users go first and in between, or join the part that is being
 * stored when they come. The order of a user's own sets never changes. Sets that belong to no user, and sets that
 * may not wait of the user whose set is being stored, keep their place among all sets: rows of jobs may depend on
 * each other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/table/rowset.h"
#include "util/clock.h"

#define BATCH_ROWS_MAX 4096U
#define BATCHES_SHARED_NS NS_PER_S /* since sets of different users came one after the other */

typedef struct Batches {
        RowSet *waiting; /* owned, oldest first */
        RowSet *partial; /* owned; a large set whose first parts are stored, or NULL */
        bool others_were_last; /* sets of other users were stored before the next large set or part */
        uint64_t last_user, shared_until_ns;
} Batches;

/* The sets of one transaction, which the caller owns. */
typedef struct RowBatch {
        RowSet *sets;           /* NULL: none */
        size_t n_rows, n_bytes; /* that the transaction stores */
        bool is_part;           /* a part of one set */
} RowBatch;

/* Adds sets from the queue. now_ns: CLOCK_BOOTTIME. */
void batches_add(Batches *batches, RowSet *sets, uint64_t now_ns);
bool batches_are_empty(const Batches *batches);
/* Takes the next batch, of up to n_bytes_max or a single set of any size. may_split: large sets may be stored in
 * parts. */
RowBatch batches_next(Batches *batches, size_t n_bytes_max, bool may_split, uint64_t now_ns);
/* Takes the small sets of other users that may be stored in one transaction with a part of this set. The caller owns
 * them. */
RowBatch batches_join(Batches *batches, const RowSet *part);
/* Gives sets back that were taken and are not stored: they are the first again. */
void batches_give_back(Batches *batches, RowSet *sets);
/* Gives a set back of which a part was stored, and sets the begin of the next part. */
void batches_continue(Batches *batches, RowSet *set);
/* The parts that were stored are lost with the database: begins with the first part again. */
void batches_begin_again(Batches *batches);
