/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* State of the writer (writer.h), which only its own files use */

#include <pthread.h>
#include <stdbool.h>

#include "store/batches.h"
#include "store/database/checkpointer.h"
#include "store/database/database.h"
#include "store/retention/holders.h"
#include "store/opening.h"
#include "store/queue.h"
#include "store/report.h"
#include "store/retention/retention.h"
#include "store/damage/salvage.h"
#include "store/table/store_types.h"
#include "store/subject_states.h"
#include "store/wal_checkpoint.h"

/* Size of row sets after which the thread returns freed memory to the kernel when it is idle. */
#define WRITER_TRIM_BYTES (UINT64_C(1) << 20)

/* Times at which work between batches is due; CLOCK_BOOTTIME. */
typedef struct WriterSchedule {
        uint64_t opening_ns, removal_ns, work_ns, salvage_ns, settling_ns, replacement_ns;
        bool is_settled, has_more_to_remove, has_more_work;
        uint64_t n_bytes_unsettled; /* maximum size of row sets since the thread was last idle */
} WriterSchedule;

typedef struct Writer {
        Queue *queue;      /* borrowed */
        Opening *opening;  /* borrowed */
        Database database; /* without a connection until the database could be opened */
        SubjectStates *states; /* owned */
        Batches batches;
        bool is_undo_due; /* parts of a set that failed must still be removed */
        Retention retention;
        Holders holders;
        WalCheckpoint wal;
        Checkpointer checkpointer;
        Salvage salvage;
        bool was_open;     /* at any time since start */
        bool is_condemned; /* the file is damaged and must still be moved aside */
        WriterSchedule next;
        char failure[STORE_ERROR_MAX]; /* message of the last failure */
        Report report;
        pthread_t thread;
        bool is_running, is_initialised;
} Writer;
