/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checkpointer: a thread that writes pages of the log into the database file
 *
 * A checkpoint of some thousand pages waits for the disk twice, while rows of all users would wait for the writer.
 * The thread has a connection of its own for each checkpoint, and SQLite lets the writer append to the log
 * meanwhile. Except for checkpointer_init() and checkpointer_deinit(), the functions are for the writer.
 */

#include <pthread.h>
#include <stdbool.h>

#define CHECKPOINTER_THREAD "perfd-wal" /* name of the thread; the kernel keeps 15 bytes */

typedef struct CheckpointResult {
        int error;       /* 0 or a negative errno */
        bool is_busy;    /* another connection reads the log or writes */
        int n_log_pages; /* pages in the log at the begin; -1: unknown, another connection ran a checkpoint */
        int n_done_pages;
} CheckpointResult;

typedef struct Checkpointer {
        const char *path; /* borrowed */
        bool is_volatile; /* no syncing */
        pthread_t thread;
        bool is_initialised, is_running;
        pthread_mutex_t mutex;
        pthread_cond_t changed;

        /* Under the mutex. */
        bool is_stopping;
        enum { CHECKPOINTER_IDLE, CHECKPOINTER_BUSY, CHECKPOINTER_DONE } state;
        CheckpointResult result;
} Checkpointer;

/* path: of the database, which need not exist yet. */
void checkpointer_init(Checkpointer *checkpointer, const char *path, bool is_volatile);
/* Starts the thread. 0 or a negative errno. */
int checkpointer_start(Checkpointer *checkpointer);
/* Waits for a checkpoint that is running, and ends the thread. */
void checkpointer_deinit(Checkpointer *checkpointer);

/* Begins a passive checkpoint (SQLITE_CHECKPOINT_PASSIVE). False: the thread does not exist, a checkpoint is
 * running, or its result was not taken; that checkpoint may lack the last pages of the log. */
bool checkpointer_begin(Checkpointer *checkpointer);
/*
 * Returns true with the result of a checkpoint that has ended since the last call. waits: waits for one that is
 * running. The file must not be closed, moved or checkpointed by the caller before that.
 */
bool checkpointer_take(Checkpointer *checkpointer, bool waits, CheckpointResult *ret);

/* The passive checkpoint of a connection that has read the database before. */
struct sqlite3;
CheckpointResult checkpointer_run(struct sqlite3 *db, int mode);
