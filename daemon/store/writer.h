/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writer: the thread that commits
 *
 * Takes the queued row sets, commits up to some thousand rows in one transaction (batches.h), and returns the sets
 * to the queue. Between batches, the thread does work that can wait: restarts of the log, retention, and the
 * subjects' work on stored rows. It replaces a damaged file with a new one, and moves the rows of the damaged file
 * into it.
 */

#include "store/opening.h"
#include "store/queue.h"
#include "store/table/store_types.h"
#include "store/wal_barrier.h"
#include "util/scoped.h"

typedef struct Writer Writer;
/* 0 or -ENOMEM. */
int writer_new(Writer **ret, Queue *queue, WalBarrier *barrier, Opening *opening, const StoreConfig *config);
/* The queue must have been stopped: the writer stores everything in it, then the thread ends. */
Writer *writer_free(Writer *writer);
DEFINE_SCOPED(Writer, writer_free);

/*
 * Opens the database before the thread starts, as opening_open(). A writer that is started without a database tries
 * repeatedly to open it, and fails all rows until then.
 */
int writer_open(Writer *writer, char **ret_note);
/* Starts the thread. 0 or a negative errno. */
int writer_start(Writer *writer);

/* From any thread. */
void writer_configure(Writer *writer, const StoreConfig *config);
void writer_stats(Writer *writer, StoreStats *ret);
