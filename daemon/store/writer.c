/* SPDX-License-Identifier: Apache-2.0 */
#include "store/writer.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/indicators/indexing.h"
#include "store/jobs/job_rows.h"
#include "store/salvage.h"
#include "store/schema.h"
#include "util/clock.h"
#include "util/scoped.h"

#define BATCH_ROWS_MAX 4096
#define OPENING_INTERVAL_NS (2 * NS_PER_S)
#define IDLE_WAIT_NS (2 * NS_PER_S)
#define SETTLED_WAIT_NS (60 * NS_PER_S)
#define REMOVAL_INTERVAL_NS (60 * NS_PER_S)
/* While rows keep coming; the step takes some milliseconds. */
#define INDEXING_INTERVAL_NS (1 * NS_PER_S)
#define INDEXING_BYTES (256 * 1024) /* that a step may need, and has room made for */
/* A checkpoint costs two syncs, and pages changed again meanwhile are written once: not after every batch. */
#define IDLE_CHECKPOINT_PAGES 500

/* --- what others may ask ------------------------------------------------------------------------- */

static uint64_t wal_bytes(const char *path) {
        char wal[PATH_MAX];
        struct stat st;

        if (snprintf(wal, sizeof(wal), "%s-wal", path) >= (int)sizeof(wal) || stat(wal, &st) < 0)
                return 0;
        return (uint64_t)st.st_size;
}

/* Size on disk: what the limit is about. */
static uint64_t disk_bytes(const char *path) {
        struct stat st;

        return (stat(path, &st) == 0 ? (uint64_t)st.st_size : 0) + wal_bytes(path);
}

static void note_size(Writer *writer) {
        uint64_t n = disk_bytes(writer->opening->path);

        pthread_mutex_lock(&writer->mutex);
        writer->stats.size_bytes = n;
        writer->stats.size_max_bytes = writer->retention.limits.size_max_bytes;
        writer->stats.n_rows_removed = writer->retention.n_removed;
        pthread_mutex_unlock(&writer->mutex);
}

static void note_commit(Writer *writer, uint64_t duration_ns, size_t n_rows, bool is_clean) {
        pthread_mutex_lock(&writer->mutex);
        writer->stats.n_commits++;
        writer->stats.commit_ns_last = duration_ns;
        writer->stats.commit_ns_sum += duration_ns;
        writer->stats.n_rows_committed += n_rows;
        writer->stats.is_writable = true;
        if (is_clean)
                writer->stats.error[0] = '\0';
        pthread_mutex_unlock(&writer->mutex);
}

/* Right after the call that failed, while the connection knows why. */
static void word_failure(Writer *writer, int r, const char *explanation) {
        const char *sqlite = database_error(&writer->database);

        if (explanation)
                (void)snprintf(writer->failure, sizeof(writer->failure), "%s", explanation);
        else if (r < 0 && r != -EIO)
                (void)snprintf(writer->failure, sizeof(writer->failure), "%s: %s", sqlite, strerror(-r));
        else
                (void)snprintf(writer->failure, sizeof(writer->failure), "%s", sqlite);
}

static void note_failure(Writer *writer, int r) {
        if (r == DATABASE_CORRUPT)
                (void)salvage_mark(writer->opening->path);

        pthread_mutex_lock(&writer->mutex);
        writer->stats.n_commit_failures++;
        writer->stats.is_writable = r == DATABASE_REFUSED;
        memcpy(writer->stats.error, writer->failure, sizeof(writer->stats.error));
        pthread_mutex_unlock(&writer->mutex);
}

void writer_stats(Writer *writer, StoreStats *ret) {
        pthread_mutex_lock(&writer->mutex);
        *ret = writer->stats;
        pthread_mutex_unlock(&writer->mutex);
}

void writer_configure(Writer *writer, const Limits *limits) {
        pthread_mutex_lock(&writer->mutex);
        writer->wanted_limits = *limits;
        writer->has_wanted_limits = true;
        pthread_mutex_unlock(&writer->mutex);
}

static void take_limits(Writer *writer) {
        bool is_changed;
        Limits limits;

        pthread_mutex_lock(&writer->mutex);
        is_changed = writer->has_wanted_limits;
        limits = writer->wanted_limits;
        writer->has_wanted_limits = false;
        pthread_mutex_unlock(&writer->mutex);
        if (!is_changed)
                return;

        /* Failing to tell the connection leaves the old cap of the file in place; rows are removed by the new one. */
        writer->retention.limits = limits;
        if (writer->database.db)
                (void)retention_configure(&writer->retention, &writer->database, &limits);
        writer->next_removal_ns = 0;
        writer->is_settled = false;
        note_size(writer);
}

/* --- the database -------------------------------------------------------------------------------- */

static void note_closed(Writer *writer, const char *why) {
        (void)snprintf(writer->failure, sizeof(writer->failure), "%s", why);

        pthread_mutex_lock(&writer->mutex);
        writer->stats.is_writable = false;
        memcpy(writer->stats.error, writer->failure, sizeof(writer->stats.error));
        pthread_mutex_unlock(&writer->mutex);
}

static void note_open(Writer *writer, const char *notice) {
        /* First: who is told that it is open is told its size. */
        note_size(writer);

        pthread_mutex_lock(&writer->mutex);
        writer->stats.is_writable = true;
        writer->stats.error[0] = '\0';
        (void)snprintf(writer->stats.notice, sizeof(writer->stats.notice), "%s", notice ? notice : "");
        pthread_mutex_unlock(&writer->mutex);
}

static int open_database(Writer *writer, char **ret_note) {
        int r;

        r = opening_open(writer->opening, &writer->database, ret_note);
        if (r != 0)
                return r;

        writer->has_more_to_index = true; /* perhaps: the first step tells */
        database_watch(&writer->database);
        r = retention_configure(&writer->retention, &writer->database, &writer->retention.limits);
        if (r == 0)
                return 0;

        free(TAKE(*ret_note));
        database_close(&writer->database);
        return r < 0 ? r : -EIO;
}

int writer_open(Writer *writer, char **ret_note) {
        int r = open_database(writer, ret_note);

        if (r == 0)
                note_open(writer, NULL);
        else
                note_closed(writer, *ret_note ? *ret_note : strerror(-r));
        return r;
}

/*
 * Nobody could take up the jobs that were running before this start, and none of this start is in the database yet.
 * Writes in any case, to see whether that works.
 */
static int interrupt_jobs(Writer *writer) {
        int r;

        r = database_run(&writer->database, STATEMENT_BEGIN);
        if (r == 0)
                r = job_rows_interrupt(&writer->database, "perfd could not read its store when it started: "
                                                          "nothing is known of the job after the last checkpoint before");
        if (r == 0)
                r = schema_touch(&writer->database);
        return r != 0 ? r : database_run(&writer->database, STATEMENT_COMMIT);
}

static void open_if_due(Writer *writer) {
        scoped(freep) char *note = NULL;
        int r;

        if (writer->database.db || clock_boottime_ns() < writer->next_opening_ns)
                return;

        r = open_database(writer, &note);
        if (r != 0)
                note_closed(writer, note ? note : strerror(-r));
        else if (interrupt_jobs(writer) == 0)
                note_open(writer, note);
        else {
                note_closed(writer, database_error(&writer->database));
                database_rollback(&writer->database);
                database_close(&writer->database);
        }
        writer->next_opening_ns = clock_boottime_ns() + OPENING_INTERVAL_NS;
}

/* --- a batch ------------------------------------------------------------------------------------- */

static int apply_all(Writer *writer, RowSet *batch) {
        for (RowSet *set = batch; set; set = set->next) {
                int r;

                if (set->is_refused)
                        continue;

                r = set->kind->apply(set, &writer->database, writer->catalog);
                if (r == DATABASE_REFUSED)
                        set->is_refused = true;
                if (r != 0)
                        return r;
        }
        return catalog_flush(writer->catalog, &writer->database);
}

/* One transaction: all of it is on disk, or nothing. No batch at all writes a page, to see whether that works. */
static int commit_all(Writer *writer, RowSet *batch, size_t room_bytes, const char *explanation) {
        uint64_t n_removed = writer->retention.n_removed;
        int r;

        r = database_run(&writer->database, STATEMENT_BEGIN);
        if (r == 0)
                r = retention_make_room(&writer->retention, &writer->database, room_bytes);
        if (r == 0 && writer->retention.n_removed != n_removed)
                catalog_forget(writer->catalog);
        if (r == 0)
                r = batch ? apply_all(writer, batch) : schema_touch(&writer->database);
        if (r == 0)
                r = database_run(&writer->database, STATEMENT_COMMIT);
        if (r == 0)
                return 0;

        word_failure(writer, r, explanation);
        writer->retention.n_removed = n_removed;
        catalog_forget(writer->catalog);
        database_rollback(&writer->database);
        return r;
}

static void checkpoint(Writer *writer, int mode) {
        int n_log = 0, n_done = 0, code;

        if (!writer->database.db)
                return;

        /* A reader may hold it up, a full disk may fail it: the log keeps what it has, and the next one goes on. */
        code = sqlite3_wal_checkpoint_v2(writer->database.db, NULL, mode, &n_log, &n_done);
        if (code == SQLITE_OK && n_log == n_done)
                writer->database.n_wal_pages = 0;
}

/*
 * Between two questions, and without waiting for them: one that is inside goes on, the gate is closed for others, and this
 * is tried again after the next batch or when the last has left. Only a log that has all its room waits, a while; and once
 * for so much more, when it is another program that reads on and on.
 */
static void begin_log_anew(Writer *writer, int mode) {
        int n = writer->database.n_wal_pages, n_more = writer->retention.n_wal_pages_max;
        bool must_wait = n >= writer->retention.n_wal_pages_end && n >= writer->n_wal_pages_waited + n_more;

        if (!writer->database.db)
                return;

        writer->is_gate_closed = true;
        if (!wal_barrier_close(writer->gate) && !must_wait)
                return;

        database_wait(&writer->database, must_wait);
        checkpoint(writer, mode);
        database_wait(&writer->database, true);
        writer->n_wal_pages_waited = must_wait ? writer->database.n_wal_pages : 0;
        writer->is_gate_closed = false;
        wal_barrier_open(writer->gate);
}

/*
 * Commits a batch, again without a row-set that cannot be stored, and once more when space ran out: a checkpoint
 * lets the log begin anew in the space it has, and at the size limit more rows can go.
 */
static int commit_batch(Writer *writer, RowSet *batch, size_t n_bytes) {
        bool is_at_limit;
        int r;

        if (!writer->database.db) {
                note_failure(writer, -EIO);
                return -EIO;
        }

        do {
                r = commit_all(writer, batch, n_bytes, NULL);
                if (r == DATABASE_REFUSED)
                        note_failure(writer, r);
        } while (r == DATABASE_REFUSED);

        if (r == DATABASE_FULL) {
                is_at_limit = retention_is_at_limit(&writer->database, &writer->retention, n_bytes);
                checkpoint(writer, SQLITE_CHECKPOINT_PASSIVE);
                r = commit_all(writer, batch, is_at_limit ? 4 * n_bytes : n_bytes,
                               is_at_limit ? "store is full: limit [store] max_size reached" : NULL);
        }
        if (r != 0)
                note_failure(writer, r);
        return r;
}

static void write_batch(Writer *writer, RowSet *batch, size_t n_rows, size_t n_bytes) {
        uint64_t begin_ns = clock_boottime_ns();
        bool is_clean = true;
        int r;

        r = commit_batch(writer, batch, n_bytes);
        for (RowSet *set = batch; set; set = set->next) {
                if (r != 0 || set->is_refused)
                        set->outcome = STORE_FAILED;
                is_clean &= !set->is_refused;
        }

        if (r == 0)
                note_commit(writer, clock_boottime_ns() - begin_ns, n_rows, is_clean);
        note_size(writer);
        queue_done(writer->queue, batch);
        writer->next_settling_ns = clock_boottime_ns() + IDLE_WAIT_NS;
        writer->n_bytes_unsettled += n_bytes;
        writer->is_settled = false;
        writer->has_more_to_index |= catalog_take_unindexed(writer->catalog);
}

static bool fits(const Writer *writer, const RowSet *set, size_t n_rows, size_t n_bytes) {
        return n_rows + set->n_rows <= BATCH_ROWS_MAX && n_bytes + set->n_bytes <= writer->retention.n_batch_bytes_max;
}

/* Cuts the first batch off a list that is not empty. One row-set goes in whatever its size. */
static RowSet *next_batch(const Writer *writer, RowSet **sets, size_t *ret_n_rows, size_t *ret_n_bytes) {
        RowSet *batch = *sets, *last = *sets;
        size_t n_rows = last->n_rows, n_bytes = last->n_bytes;

        while (last->next && fits(writer, last->next, n_rows, n_bytes)) {
                last = last->next;
                n_rows += last->n_rows;
                n_bytes += last->n_bytes;
        }

        *sets = last->next;
        last->next = NULL;
        *ret_n_rows = n_rows;
        *ret_n_bytes = n_bytes;
        return batch;
}

/* --- between batches ----------------------------------------------------------------------------- */

static bool is_idle(Writer *writer) {
        size_t n_rows, n_bytes, n_rows_max;

        queue_count(writer->queue, &n_rows, &n_bytes, &n_rows_max);
        return n_rows == 0;
}

static void checkpoint_if_due(Writer *writer) {
        int n = writer->database.n_wal_pages, n_max = writer->retention.n_wal_pages_max;

        /* Questions that are always there would keep a passive one from ever beginning the log anew. */
        if (writer->is_gate_closed || n >= 2 * n_max)
                begin_log_anew(writer, SQLITE_CHECKPOINT_RESTART);
        else if (n >= n_max || (n >= IDLE_CHECKPOINT_PAGES && is_idle(writer)))
                checkpoint(writer, SQLITE_CHECKPOINT_PASSIVE);
}

static void remove_some(Writer *writer) {
        bool was_removing = writer->has_more_to_remove;
        int r;

        if (!writer->database.db)
                return;
        if (!writer->has_more_to_remove && clock_boottime_ns() < writer->next_removal_ns)
                return;

        writer->has_more_to_remove = false;
        r = retention_step(&writer->retention, &writer->database, clock_realtime_ns(), &writer->has_more_to_remove);
        if (r != 0) {
                word_failure(writer, r, NULL);
                note_failure(writer, r);
        }
        catalog_forget(writer->catalog);
        writer->is_settled &= !writer->has_more_to_remove;
        writer->next_removal_ns = clock_boottime_ns() + REMOVAL_INTERVAL_NS;
        /* What is given back is cut off the file by a checkpoint. */
        if (was_removing && !writer->has_more_to_remove)
                checkpoint(writer, SQLITE_CHECKPOINT_PASSIVE);
        else
                checkpoint_if_due(writer);
        note_size(writer);
}

static int index_in_transaction(Writer *writer, bool *ret_has_more) {
        int r;

        r = database_run(&writer->database, STATEMENT_BEGIN);
        if (r == 0)
                r = retention_make_room(&writer->retention, &writer->database, INDEXING_BYTES);
        if (r == 0)
                r = indexing_step(&writer->database, writer->catalog, ret_has_more);
        return r != 0 ? r : database_run(&writer->database, STATEMENT_COMMIT);
}

/* What was stored before it could be indexed. What fails, as on a full disk, is tried again when other things work. */
static void index_some(Writer *writer) {
        uint64_t n_removed = writer->retention.n_removed;
        bool has_more = false;
        int64_t top = 0;
        int r;

        if (!writer->database.db || !writer->has_more_to_index ||
            (!is_idle(writer) && clock_boottime_ns() < writer->next_indexing_ns))
                return;

        r = database_get(&writer->database, STATEMENT_UNINDEXED_TOP, &top);
        if (r == 0 && top > 0)
                r = index_in_transaction(writer, &has_more);
        if (r != 0) {
                word_failure(writer, r, NULL);
                note_failure(writer, r);
                writer->retention.n_removed = n_removed;
                database_rollback(&writer->database);
        }
        catalog_forget(writer->catalog);
        writer->has_more_to_index = has_more;
        writer->is_settled &= !has_more;
        writer->next_indexing_ns = clock_boottime_ns() + INDEXING_INTERVAL_NS;
        checkpoint_if_due(writer);
        note_size(writer);
}

static bool is_writable(Writer *writer) {
        StoreStats stats;

        writer_stats(writer, &stats);
        return stats.is_writable;
}

/* After a burst the allocator keeps what the queue had. Trimming takes its locks, so not for a trickle. */
static void release_memory(Writer *writer) {
        (void)sqlite3_db_release_memory(writer->database.db);
        if (writer->n_bytes_unsettled > UINT64_C(1) << 20)
                (void)malloc_trim(0);
        writer->n_bytes_unsettled = 0;
}

/* Nothing came for a while; or the last question left a closed gate, which says nothing of those who store. */
static void settle(Writer *writer) {
        if (!writer->database.db)
                return;
        if (clock_boottime_ns() < writer->next_settling_ns) {
                checkpoint_if_due(writer);
                return;
        }

        /* While it is said that nothing can be stored, nobody may try: so we do. */
        if (!is_writable(writer) && commit_batch(writer, NULL, 0) == 0)
                note_commit(writer, 0, 0, true);

        /* A log that grew, behind a reader or while space was given back, is cut when nobody waits for it. */
        if (writer->is_gate_closed || wal_bytes(writer->opening->path) > writer->retention.n_wal_bytes_max)
                begin_log_anew(writer, SQLITE_CHECKPOINT_TRUNCATE);
        release_memory(writer);
        note_size(writer);
        writer->is_settled = is_writable(writer);
}

static uint64_t wait_ns(const Writer *writer) {
        if (writer->has_more_to_remove || writer->has_more_to_index)
                return 0;
        return writer->is_settled ? SETTLED_WAIT_NS : IDLE_WAIT_NS;
}

static void *on_start(void *userdata) {
        Writer *writer = userdata;
        bool is_stopping = false;

        pthread_setname_np(pthread_self(), "perfd-store");
        while (!is_stopping) {
                RowSet *sets = queue_take(writer->queue, wait_ns(writer), &is_stopping);

                take_limits(writer);
                open_if_due(writer);
                if (!sets && !is_stopping && wait_ns(writer) > 0)
                        settle(writer);
                while (sets) {
                        size_t n_rows, n_bytes;
                        RowSet *batch = next_batch(writer, &sets, &n_rows, &n_bytes);

                        write_batch(writer, batch, n_rows, n_bytes);
                        checkpoint_if_due(writer);
                }
                if (!is_stopping) {
                        remove_some(writer);
                        index_some(writer);
                }
        }
        return NULL;
}

/* --- life ---------------------------------------------------------------------------------------- */

int writer_init(Writer *writer, Queue *queue, WalBarrier *gate, Opening *opening, const Limits *limits) {
        *writer = (Writer){ .queue = queue, .gate = gate, .opening = opening, .retention.limits = *limits };
        pthread_mutex_init(&writer->mutex, NULL);
        writer->is_initialised = true;

        return catalog_new(&writer->catalog);
}

int writer_start(Writer *writer) {
        sigset_t all, before;
        int r;

        /* The thread inherits the mask: signals are the loop's. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&writer->thread, NULL, on_start, writer);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0)
                return -r;

        writer->is_running = true;
        return 0;
}

void writer_deinit(Writer *writer) {
        if (!writer->is_initialised)
                return;

        if (writer->is_running)
                pthread_join(writer->thread, NULL);
        if (writer->is_running)
                checkpoint(writer, SQLITE_CHECKPOINT_TRUNCATE);
        database_close(&writer->database);
        catalog_free(writer->catalog);
        pthread_mutex_destroy(&writer->mutex);
        *writer = (Writer){};
}
