/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writer: the thread that commits
 *
 * Takes the queued row sets, commits up to some thousand rows in one transaction (batches.h), and returns the sets to the queue. Between
 * batches, the thread does work that can wait: restarts of the log, retention, and the subjects' work on stored rows.
 */

#include "store/writer_state.h"

/* Must not be moved in memory afterwards. 0 or -ENOMEM. */
int writer_init(Writer *writer, Queue *queue, WalBarrier *barrier, Opening *opening, const StoreConfig *config);
/* Starts the thread. 0 or a negative errno. */
int writer_start(Writer *writer);
/* The queue must have been stopped: the writer stores everything in it, then the thread ends. */
void writer_deinit(Writer *writer);

/* From any thread. */
void writer_configure(Writer *writer, const StoreConfig *config);
void writer_stats(Writer *writer, StoreStats *ret);
