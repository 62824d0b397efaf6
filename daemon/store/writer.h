/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writer: the thread that commits
 *
 * Takes what has queued up, one transaction for up to some thousand rows, and hands it
 * back. What can wait is done after that: checkpoints of the log, retention, indexing of what was there before its model.
 */

#include <pthread.h>
#include <stdbool.h>

#include "store/database.h"
#include "store/indicators/catalog.h"
#include "store/opening.h"
#include "store/queue.h"
#include "store/retention.h"
#include "store/store_types.h"
#include "store/wal_barrier.h"

typedef struct Writer {
        Queue *queue;      /* borrowed */
        WalBarrier *gate;        /* borrowed */
        Opening *opening;  /* borrowed */
        Database database; /* without a connection until it could be opened */
        uint64_t next_opening_ns; /* CLOCK_BOOTTIME */
        Catalog *catalog;
        Retention retention;
        bool is_gate_closed;    /* by us, until the log has begun anew */
        int n_wal_pages_waited; /* the log had so many when it last waited in vain; 0: since it has begun */
        bool is_settled, has_more_to_remove, has_more_to_index;
        char failure[160]; /* the last, in words */
        uint64_t next_removal_ns, next_indexing_ns, next_settling_ns; /* CLOCK_BOOTTIME */
        uint64_t n_bytes_unsettled; /* row-sets written since things were quiet */
        pthread_t thread;
        bool is_running, is_initialised;

        pthread_mutex_t mutex; /* for what follows */
        StoreStats stats;      /* without those of the queue */
        Limits wanted_limits;
        bool has_wanted_limits;
} Writer;

/* Must not be moved in memory afterwards. 0 or -ENOMEM. */
int writer_init(Writer *writer, Queue *queue, WalBarrier *gate, Opening *opening, const Limits *limits);
/* As opening_open(). A writer that is started without a database tries again by itself, and fails all rows until then. */
int writer_open(Writer *writer, char **ret_note);
int writer_start(Writer *writer);
/* The queue must have been stopped: everything in it is written, then the thread ends. */
void writer_deinit(Writer *writer);

/* For any thread. */
void writer_configure(Writer *writer, const Limits *limits);
void writer_stats(Writer *writer, StoreStats *ret);
