/* SPDX-License-Identifier: Apache-2.0 */
#include "store/writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/batches.h"
#include "store/damage/salvage.h"
#include "store/database/checkpointer.h"
#include "store/database/database.h"
#include "store/retention/erasure.h"
#include "store/retention/holders.h"
#include "store/retention/retention.h"
#include "store/subject_states.h"
#include "store/table/schema.h"
#include "store/wal_checkpoint.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/lock.h"
#include "util/thread.h"

#define IDLE_WAIT_NS (2 * NS_PER_S)
#define SETTLED_WAIT_NS (60 * NS_PER_S)
#define REMOVAL_INTERVAL_NS (60 * NS_PER_S)
#define WORK_INTERVAL_NS (1 * NS_PER_S) /* while rows keep arriving; a step takes some milliseconds */
#define SALVAGE_INTERVAL_NS (NS_PER_S / 10)     /* while rows keep arriving */
#define SALVAGE_BYTES (512 * 1024)              /* room that must exist for a step */
#define WORK_BYTES (256 * 1024)         /* room that is made for a step */
#define OPENING_INTERVAL_NS (2 * NS_PER_S)
#define ERASURE_POLL_NS (NS_PER_S / 10)
#define ERASURE_LOG_NS (30 * NS_PER_S) /* maximum time for which an erasure waits for readers of the log */

/* Size of row sets after which the thread returns freed memory to the kernel when it is idle. */
#define TRIM_BYTES (UINT64_C(1) << 20)

/* Times at which work between batches is due; CLOCK_BOOTTIME. */
typedef struct WriterSchedule {
        uint64_t opening_ns, removal_ns, work_ns, salvage_ns, settling_ns, replacement_ns;
        bool is_settled, has_more_to_remove, has_more_work;
        uint64_t n_bytes_unsettled; /* maximum size of row sets since the thread was last idle */
} WriterSchedule;

/* State of the writer for other threads, and configuration from other threads for the writer. */
typedef struct WriterReport {
        pthread_mutex_t mutex; /* protects all members below */
        StoreStats stats;      /* counters except for those of the queue */
        StoreConfig config;
        bool has_config;
} WriterReport;

struct Writer {
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
        RowSet *erasures; /* owned; orders to remove rows of users, oldest first */
        bool was_open;     /* at any time since start */
        bool is_condemned; /* the file is damaged and must still be moved aside */
        WriterSchedule next;
        char failure[STORE_ERROR_MAX]; /* message of the last failure */
        WriterReport report;
        pthread_t thread;
        bool is_running;
};

/* --- reports ------------------------------------------------------------------------------------- */

/* Reports the sizes of the file and of its log, and the checkpoints that failed. */
static void note_size(Writer *writer) {
        const char *path = writer->opening->path;
        StoreStats *stats = &writer->report.stats;
        struct stat st;
        uint64_t n = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;

        holders_charge(&writer->holders, &writer->database);
        n += wal_checkpoint_log_bytes(path);

        LOCKED(&writer->report.mutex);
        stats->size_bytes = n;
        stats->size_max_bytes = writer->retention.config.size_max_bytes;
        stats->n_rows_removed = writer->retention.n_removed;
        stats->expiry = writer->retention.expiry.stats;
        stats->n_sync_failures = writer->wal.n_failures;
        stats->sync_error[0] = '\0';
        if (writer->wal.error < 0)
                (void)snprintf(stats->sync_error, sizeof(stats->sync_error), "%s: %s",
                               error_text_name(-writer->wal.error), error_text(-writer->wal.error));
        else if (writer->wal.is_pinned)
                (void)snprintf(stats->sync_error, sizeof(stats->sync_error),
                               "EBUSY: a reader of the database keeps the log from beginning "
                               "again, and submissions wait: fuser perfd.db-wal");
}

/* is_clean: no row set of the batch was refused. */
static void note_commit(Writer *writer, uint64_t duration_ns, size_t n_rows, bool is_clean) {
        StoreStats *stats = &writer->report.stats;

        LOCKED(&writer->report.mutex);
        stats->n_commits++;
        stats->commit_ns_sum += duration_ns;
        stats->n_rows_committed += n_rows;
        stats->is_writable = true;
        if (is_clean)
                stats->error[0] = '\0';
}

/* Returns the errno of a write in the directory, since SQLite often has another or none; 0: the write succeeds. */
static int probe_disk(const char *directory) {
        scoped(closep) int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        char page[4096] = {};

        return fd >= 0 && write(fd, page, sizeof(page)) == sizeof(page) && fdatasync(fd) == 0 ? 0 : errno;
}

/*
 * Keeps the message of a failure, r, for reports; explanation: replaces SQLite's message, or NULL. Call directly
 * after the call that failed, while the connection still has the message.
 */
static void keep_failure(Writer *writer, int r, const char *explanation) {
        const char *message = database_error(&writer->database);
        int e = r < 0 ? -r : 0;

        if (!explanation && (e == EIO || r == DATABASE_FULL)) /* SQLite has no errno of a full disk */
                e = probe_disk(writer->opening->directory) ?: e;
        if (explanation)
                (void)snprintf(writer->failure, sizeof(writer->failure), "%s", explanation);
        else if (e > 0)
                (void)snprintf(writer->failure, sizeof(writer->failure), "%s: %s (%s)", message, error_text(e),
                               error_text_name(e));
        else
                (void)snprintf(writer->failure, sizeof(writer->failure), "%s", message);
}

static void set_error(Writer *writer, const char *error, bool is_writable) {
        StoreStats *stats = &writer->report.stats;

        LOCKED(&writer->report.mutex);
        stats->is_writable = is_writable;
        (void)snprintf(stats->error, sizeof(stats->error), "%s", error);
}

/* A row set that is refused fails alone: others can be stored. */
static void note_failure(Writer *writer, int r) {
        set_error(writer, writer->failure, r == DATABASE_REFUSED);

        LOCKED(&writer->report.mutex);
        writer->report.stats.n_commit_failures++;
        (void)snprintf(writer->report.stats.failure, sizeof(writer->report.stats.failure), "%s", writer->failure);
}

static void note_closed(Writer *writer, const char *why) {
        (void)snprintf(writer->failure, sizeof(writer->failure), "%s", why);
        set_error(writer, writer->failure, false);
}

/* The size is set first: a caller that sees an open database sees its size, too. */
static void note_open(Writer *writer) {
        writer->was_open = true;
        note_size(writer);
        set_error(writer, "", true);
}

/* Reports a damaged file that was moved aside, or could not be moved aside yet (is_condemned), which counts when it
 * is. */
static void note_damage(Writer *writer, const char *found, bool is_condemned, uint64_t n_log_frames) {
        DamageStats *damage = &writer->report.stats.damage;

        LOCKED(&writer->report.mutex);
        damage->n_files += !is_condemned;
        damage->n_log_frames += n_log_frames;
        damage->is_condemned = is_condemned;
        (void)snprintf(damage->found, sizeof(damage->found), "%s", found);
}

/* n_rows: stored by this step. note: result at the end, or NULL. */
static void note_salvage(Writer *writer, bool is_salvaging, uint64_t n_rows, const char *note) {
        DamageStats *damage = &writer->report.stats.damage;

        LOCKED(&writer->report.mutex);
        damage->is_salvaging = is_salvaging;
        damage->n_rows_salvaged += n_rows;
        if (note)
                (void)snprintf(damage->salvaged, sizeof(damage->salvaged), "%s", note);
}

/* --- opening ------------------------------------------------------------------------------------- */

/*
 * Finds the next damaged file beside the database, and moves its rows on which others depend into the database,
 * before any other row is stored. 0, also if there is no such file; or an outcome of database.h.
 */
static int begin_salvage(Writer *writer) {
        int r;

        salvage_close(&writer->salvage);
        r = salvage_find(&writer->salvage, writer->opening->path);
        if (r < 0 || !writer->salvage.path)
                return r == -ENOMEM ? r : 0; /* a damaged file that cannot be opened stays where it is */
        r = salvage_begin(&writer->salvage, &writer->database);
        if (r == 0)
                note_salvage(writer, true, writer->salvage.n_rows, NULL);
        else
                salvage_close(&writer->salvage);
        return r;
}

static int open_database(Writer *writer, char **ret_note) {
        StoreConfig config = writer->retention.config;
        int r;

        assert(!writer->database.db);
        *ret_note = NULL;
        if (writer->is_condemned) {
                r = salvage_put_aside(writer->opening->path, clock_realtime_ns(), writer->failure, ret_note);
                if (r < 0)
                        return r;
                writer->is_condemned = false;
                if (*ret_note)
                        note_damage(writer, *ret_note, false, 0);
                free(TAKE(*ret_note));
        }
        r = opening_open(writer->opening, &writer->database, ret_note);
        if (r != 0)
                return r;
        if (writer->opening->has_found_damage && *ret_note)
                note_damage(writer, *ret_note, false, writer->opening->n_log_frames);

        writer->next.has_more_work = true; /* the first step reports the failure */
        writer->next.n_bytes_unsettled = TRIM_BYTES; /* opening and starting free as much memory as a burst */
        database_watch(&writer->database);
        /* First the rows of a damaged file, because retention judges the clock by the newest row. */
        r = begin_salvage(writer);
        if (r == 0)
                r = retention_configure(&writer->retention, &writer->database, &config);
        if (r == 0)
                return 0;

        free(TAKE(*ret_note));
        salvage_close(&writer->salvage);
        database_close(&writer->database);
        return r < 0 ? r : -EIO;
}

int writer_open(Writer *writer, char **ret_note) {
        int r = open_database(writer, ret_note);

        if (r == 0)
                note_open(writer);
        else
                note_closed(writer, *ret_note ? *ret_note : strerror(-r));
        return r;
}

/* If the database is opened late, running jobs of the former perfd were not resumed, and the database has no rows of
 * this start yet. Writes in any case, to check whether writing works. */
static int interrupt(Writer *writer) {
        int r;

        r = database_begin(&writer->database);
        if (r == 0 && !writer->was_open)
                r = subject_states_mend(&writer->database, true);
        if (r == 0)
                r = schema_touch(&writer->database);
        return r != 0 ? r : database_commit(&writer->database);
}

/* Opens the database if it is closed and the last attempt was some seconds ago. */
static void open_if_due(Writer *writer) {
        scoped(freep) char *note = NULL;
        int r;

        if (writer->database.db || clock_boottime_ns() < writer->next.opening_ns)
                return;

        r = open_database(writer, &note);
        if (r != 0)
                note_closed(writer, note ? note : strerror(-r));
        else if (interrupt(writer) == 0)
                note_open(writer);
        else {
                note_closed(writer, database_error(&writer->database));
                database_rollback(&writer->database);
                database_close(&writer->database);
        }
        writer->next.opening_ns = clock_boottime_ns() + OPENING_INTERVAL_NS;
}

/*
 * Stores nothing more in a damaged file. A new file is used at once, unless the file before was damaged a moment
 * ago; otherwise the database stays closed. Queries that wait, and queries to come, open the new file. The reason is
 * the writer's last failure.
 */
static void condemn(Writer *writer) {
        uint64_t now_ns = clock_boottime_ns();

        (void)wal_barrier_close(writer->wal.barrier);
        salvage_close(&writer->salvage);
        subject_states_forget(writer->states);
        wal_checkpoint_wait(&writer->wal, &writer->database);
        database_close(&writer->database);
        writer->wal = (WalCheckpoint){ .barrier = writer->wal.barrier, .checkpointer = &writer->checkpointer,
                                       .n_failures = writer->wal.n_failures };
        writer->is_condemned = true;
        writer->is_undo_due = false;
        batches_begin_again(&writer->batches);
        note_damage(writer, writer->failure, true, 0);
        set_error(writer, writer->failure, false);

        writer->next.opening_ns = writer->next.replacement_ns;
        writer->next.replacement_ns = now_ns + OPENING_REPLACEMENT_INTERVAL_NS;
        open_if_due(writer);
        wal_barrier_replace(writer->wal.barrier);
}

/* Keeps and reports a failure, and rolls back, or condemns a damaged file. Call directly after the call that failed. */
static void handle_failure(Writer *writer, int r) {
        keep_failure(writer, r, NULL);
        note_failure(writer, r);
        if (r == DATABASE_CORRUPT)
                condemn(writer);
        else
                database_rollback(&writer->database);
}

static void condemn_if_damaged(Writer *writer) {
        if (!writer->database.db || !wal_barrier_is_damaged(writer->wal.barrier))
                return;

        (void)snprintf(writer->failure, sizeof(writer->failure), "a query found a damaged page");
        condemn(writer);
}

/* --- settings and statistics ---------------------------------------------------------------------- */

void writer_stats(Writer *writer, StoreStats *ret) {
        LOCKED(&writer->report.mutex);

        *ret = writer->report.stats;
}

void writer_configure(Writer *writer, const StoreConfig *config) {
        LOCKED(&writer->report.mutex);

        writer->report.config = *config;
        writer->report.has_config = true;
}

/* True once after writer_configure(). */
static bool has_new_config(Writer *writer, StoreConfig *ret) {
        LOCKED(&writer->report.mutex);

        if (!writer->report.has_config)
                return false;
        *ret = writer->report.config;
        writer->report.has_config = false;
        return true;
}

static void take_config(Writer *writer) {
        StoreConfig config;

        if (!has_new_config(writer, &config))
                return;

        /* If the connection cannot be changed, the file keeps its old limit; rows are removed by the new limit. */
        writer->retention.config = config;
        if (writer->database.db)
                (void)retention_configure(&writer->retention, &writer->database, &config);
        writer->next.removal_ns = 0;
        writer->next.is_settled = false;
        note_size(writer);
}

/* --- a batch ------------------------------------------------------------------------------------- */

static int apply(Writer *writer, RowSet *sets) {
        for (RowSet *set = sets; set; set = set->next) {
                int r;

                if (set->is_refused)
                        continue;

                r = subject_states_apply(writer->states, &writer->database, set);
                if (r == DATABASE_REFUSED)
                        set->is_refused = true;
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Small sets that came while the part was stored join its transaction, so that their senders wait for one commit,
 * not for two. */
static int apply_joining(Writer *writer, RowBatch *batch) {
        RowSet *last = batch->sets;
        RowBatch joining;

        batches_add(&writer->batches, queue_take_at_once(writer->queue), clock_boottime_ns());
        joining = batches_join(&writer->batches, batch->sets);
        while (last->next)
                last = last->next;
        last->next = joining.sets;
        batch->n_rows += joining.n_rows;
        batch->n_bytes += joining.n_bytes;
        return apply(writer, joining.sets);
}

static int apply_all(Writer *writer, RowBatch *batch) {
        int r;

        r = apply(writer, batch->sets);
        if (r == 0 && batch->is_part)
                r = apply_joining(writer, batch);
        return r != 0 ? r : subject_states_flush(writer->states, &writer->database, &writer->next.has_more_work);
}

/* One transaction: all of the batch is on disk, or nothing. Without a batch, writes a page to find out whether
 * writing works. */
static int commit_all(Writer *writer, RowBatch *batch, size_t room_bytes, const char *explanation) {
        uint64_t n_removed = writer->retention.n_removed;
        int r;

        r = database_begin(&writer->database);
        if (r == 0)
                r = retention_make_room(&writer->retention, &writer->database, room_bytes);
        if (r == 0 && writer->is_undo_due)
                r = subject_states_mend(&writer->database, false);
        if (r == 0 && (writer->is_undo_due || writer->retention.n_removed != n_removed))
                subject_states_forget(writer->states);
        if (r == 0)
                r = batch ? apply_all(writer, batch) : schema_touch(&writer->database);
        if (r == 0)
                r = database_commit(&writer->database);
        if (r == 0) {
                writer->is_undo_due = false;
                return 0;
        }
        keep_failure(writer, r, explanation);
        writer->retention.n_removed = n_removed;
        subject_states_forget(writer->states);
        database_rollback(&writer->database);
        return r;
}

/* Commits a batch, again without a row set that cannot be stored. */
static int commit_storable(Writer *writer, RowBatch *batch) {
        int r;

        do {
                r = commit_all(writer, batch, batch ? batch->n_bytes : 0, NULL);
                if (r == DATABASE_REFUSED)
                        note_failure(writer, r);
        } while (r == DATABASE_REFUSED);
        return r;
}

/* Commits a batch: in a new file if the file is damaged, and once more if the file was full. Afterwards, a
 * checkpoint lets the log restart within its space, and at the size limit more rows can be removed. */
static int commit_batch(Writer *writer, RowBatch *batch) {
        bool is_at_limit;
        int r;

        if (!writer->database.db) {
                note_failure(writer, -EIO);
                return -EIO;
        }
        /* The log must not grow beyond the size limit while no page of the log reaches the database file. */
        if (!wal_checkpoint_has_room(&writer->wal, &writer->database, &writer->retention)) {
                keep_failure(writer, writer->wal.error, "the log is full and cannot be written back into the database");
                note_failure(writer, writer->wal.error);
                return writer->wal.error;
        }

        r = commit_storable(writer, batch);
        if (r == DATABASE_CORRUPT) {
                condemn(writer);
                for (RowSet *set = batch ? batch->sets : NULL; set; set = set->next)
                        set->part = (RowPart){};
                if (writer->database.db)
                        r = commit_storable(writer, batch);
        }
        if (r == DATABASE_FULL) {
                size_t n_bytes = batch ? batch->n_bytes : 0;

                is_at_limit = retention_is_at_limit(&writer->database, &writer->retention, n_bytes);
                wal_checkpoint_run(&writer->wal, &writer->database, SQLITE_CHECKPOINT_PASSIVE);
                r = commit_all(writer, batch, is_at_limit ? 4 * n_bytes : n_bytes,
                               is_at_limit ? "store is full: limit [store] max_size reached" : NULL);
        }
        if (r != 0)
                note_failure(writer, r);
        return r;
}

/* True if more parts follow. After a failure, the parts before are removed at once, or else before the next rows are
 * stored. */
static bool has_next_part(Writer *writer, RowSet *set) {
        bool has_failed = set->outcome != STORE_DONE && set->outcome != STORE_DUPLICATE;

        if (!has_failed && set->part.n_end < set->n_rows) {
                batches_continue(&writer->batches, set);
                return true;
        }
        if (has_failed && set->part.n_done > 0) {
                writer->is_undo_due = true;
                (void)commit_batch(writer, NULL);
        }
        return false;
}

/* Takes the sets of a batch that are stored or have failed. */
static RowSet *take_done(Writer *writer, RowBatch *batch) {
        RowSet *part = batch->sets, *joined;

        if (!batch->is_part)
                return part;
        joined = TAKE(part->next);
        if (has_next_part(writer, part))
                return joined;
        part->next = joined;
        return part;
}

static void write_batch(Writer *writer, RowBatch *batch) {
        uint64_t begin_ns = clock_boottime_ns(), n_removed = writer->retention.n_removed;
        bool is_clean = true;
        RowSet *done;
        int r;

        r = commit_batch(writer, batch);
        if (r != 0 && batch->is_part) /* the part may have failed alone, for example because it does not fit */
                batches_give_back(&writer->batches, TAKE(batch->sets->next));
        for (RowSet *set = batch->sets; set; set = set->next) {
                if (r != 0 || set->is_refused)
                        set->outcome = STORE_FAILED;
                is_clean &= !set->is_refused;
        }

        if (r == 0)
                note_commit(writer, clock_boottime_ns() - begin_ns, batch->n_rows, is_clean);
        note_size(writer);
        done = erasure_take_orders(take_done(writer, batch), &writer->erasures);
        if (done)
                queue_done(writer->queue, done);
        writer->next.settling_ns = clock_boottime_ns() + IDLE_WAIT_NS;
        writer->next.n_bytes_unsettled += batch->n_bytes;
        writer->next.is_settled = false;
        writer->next.has_more_work |= writer->retention.n_removed != n_removed;
}

/* --- between batches ----------------------------------------------------------------------------- */

static bool is_idle(Writer *writer) {
        size_t n_rows, n_bytes;

        queue_count(writer->queue, &n_rows, &n_bytes);
        return n_bytes == 0; /* a row set may have no rows */
}

static void checkpoint_if_due(Writer *writer) {
        wal_checkpoint_if_due(&writer->wal, &writer->database, &writer->retention, is_idle(writer));
}

static void remove_some(Writer *writer) {
        uint64_t n_removed = writer->retention.n_removed;
        bool was_removing = writer->next.has_more_to_remove;
        int r;

        if (!writer->database.db || (!was_removing && clock_boottime_ns() < writer->next.removal_ns))
                return;

        writer->next.has_more_to_remove = false;
        r = retention_step(&writer->retention, &writer->database, clock_realtime_ns(),
                           &writer->next.has_more_to_remove);
        if (r != 0)
                handle_failure(writer, r);
        subject_states_forget(writer->states);
        writer->next.has_more_work |= writer->retention.n_removed != n_removed;
        writer->next.is_settled &= !writer->next.has_more_to_remove;
        writer->next.removal_ns = clock_boottime_ns() + REMOVAL_INTERVAL_NS;
        /* A checkpoint cuts the released space off the file. */
        writer->wal.is_requested |= was_removing && !writer->next.has_more_to_remove;
        checkpoint_if_due(writer);
        note_size(writer);
}

static int work_in_transaction(Writer *writer, bool *ret_has_more) {
        int r;

        r = database_begin(&writer->database);
        if (r == 0)
                r = retention_make_room(&writer->retention, &writer->database, WORK_BYTES);
        if (r == 0)
                r = subject_states_work(writer->states, &writer->database, ret_has_more);
        return r != 0 ? r : database_commit(&writer->database);
}

/* One step of the subjects' work. A step that fails, as on a full disk, is tried again after the next batch that
 * needs work. */
static void work_some(Writer *writer) {
        uint64_t n_removed = writer->retention.n_removed;
        bool has_work = false, has_more = false;
        int r;

        if (!writer->database.db || !writer->next.has_more_work ||
            (!is_idle(writer) && clock_boottime_ns() < writer->next.work_ns))
                return;

        r = subject_states_find_work(&writer->database, &has_work);
        if (r == 0 && has_work)
                r = work_in_transaction(writer, &has_more);
        if (r != 0) {
                handle_failure(writer, r);
                writer->retention.n_removed = n_removed;
        }
        subject_states_forget(writer->states);
        writer->next.has_more_work = has_more;
        writer->next.is_settled &= !has_more;
        writer->next.work_ns = clock_boottime_ns() + WORK_INTERVAL_NS;
        checkpoint_if_due(writer);
        note_size(writer);
}

/* At the size limit, the remaining rows are older than all rows of the database. */
static void end_salvage(Writer *writer) {
        scoped(freep) char *note = NULL;
        int r;

        r = salvage_end(&writer->salvage, &note);
        if (r < 0)
                salvage_close(&writer->salvage);
        note_salvage(writer, false, 0, note ? note : error_text(-r));
        /* The next file, if there is another. */
        (void)begin_salvage(writer);
}

/* One step of moving rows out of a damaged file. After a failure, such as a full disk, the salvage starts again. */
static void salvage_some(Writer *writer) {
        uint64_t now_ns = clock_boottime_ns(), n_before = writer->salvage.n_rows;
        bool has_more = false;
        int r = 0;

        if (!writer->database.db || !writer->salvage.path || now_ns < writer->next.salvage_ns)
                return;

        writer->next.salvage_ns = is_idle(writer) ? 0 : now_ns + SALVAGE_INTERVAL_NS;
        if (!retention_is_at_limit(&writer->database, &writer->retention, SALVAGE_BYTES))
                r = salvage_step(&writer->salvage, &writer->database, &has_more);
        subject_states_forget(writer->states);
        if (r == 0) {
                note_salvage(writer, true, writer->salvage.n_rows - n_before, NULL);
                if (!has_more)
                        end_salvage(writer);
        } else {
                handle_failure(writer, r);
                if (writer->database.db)
                        (void)begin_salvage(writer);
                writer->next.salvage_ns = now_ns + IDLE_WAIT_NS;
        }
        writer->next.has_more_work = true;
        writer->next.is_settled = false;
        checkpoint_if_due(writer);
        note_size(writer);
}

/* Answers the first order. why: why not all of it was done, or NULL. */
static void end_erasure(Writer *writer, const char *why) {
        Erasure *erasure = erasure_of(writer->erasures);
        RowSet *set = TAKE(writer->erasures);

        writer->erasures = TAKE(set->next);
        if (why)
                (void)snprintf(erasure->error, sizeof(erasure->error), "%s", why);
        erasure->n_copies = salvage_find_copies(writer->opening->path, erasure->removes_copies && !why);
        note_size(writer);
        queue_done(writer->queue, set);
}

/* Removes some rows of a user, in a transaction. */
static int erase_rows(Writer *writer, Erasure *erasure) {
        bool has_more = false;
        int r;

        r = database_begin(&writer->database);
        if (r == 0)
                r = erasure_step(erasure, &writer->database, &has_more);
        if (r == 0)
                r = database_commit(&writer->database);
        subject_states_forget(writer->states);
        if (r == 0 && !has_more)
                erasure->stage = ERASURE_REWRITE;
        return r;
}

/* Rows wait meanwhile: the time depends on the size of the file. */
static int rewrite_file(Writer *writer, Erasure *erasure) {
        int r;

        wal_checkpoint_wait(&writer->wal, &writer->database);
        r = erasure_rewrite(&writer->database, writer->opening->directory);
        erasure->stage = ERASURE_LOG;
        erasure->log_deadline_ns = clock_boottime_ns() + ERASURE_LOG_NS;
        writer->next.n_bytes_unsettled = TRIM_BYTES;
        return r;
}

/* The log has the removed rows, too, until it is cut, which needs a moment without queries. */
static void cut_log(Writer *writer, const Erasure *erasure) {
        wal_checkpoint_restart(&writer->wal, &writer->database, &writer->retention, SQLITE_CHECKPOINT_TRUNCATE);
        if (wal_checkpoint_log_bytes(writer->opening->path) == 0)
                end_erasure(writer, NULL);
        else if (clock_boottime_ns() >= erasure->log_deadline_ns)
                end_erasure(writer, "another program reads the database and keeps its log: fuser perfd.db-wal");
}

/* One step of the first order. Rows of a damaged file come back first. */
static void erase_some(Writer *writer) {
        Erasure *erasure = writer->erasures ? erasure_of(writer->erasures) : NULL;
        int r = 0;

        if (!erasure)
                return;
        if (!writer->database.db) {
                end_erasure(writer, writer->failure);
                return;
        }
        if (writer->salvage.path) {
                erasure_begin_again(erasure);
                return;
        }

        switch (erasure->stage) {
        case ERASURE_ROWS:
                r = erase_rows(writer, erasure);
                break;
        case ERASURE_REWRITE:
                r = rewrite_file(writer, erasure);
                if (r == 0 || r == DATABASE_CORRUPT)
                        break;
                keep_failure(writer, r, NULL); /* rows can be stored all the same */
                end_erasure(writer, writer->failure);
                return;
        case ERASURE_LOG:
                cut_log(writer, erasure);
                return;
        }
        if (r != 0) {
                handle_failure(writer, r);
                end_erasure(writer, writer->failure);
        } else
                checkpoint_if_due(writer);
}

static bool is_writable(Writer *writer) {
        StoreStats stats;

        writer_stats(writer, &stats);
        return stats.is_writable;
}

/*
 * Releases the page cache of SQLite, of which a first query allocates 87 KiB, and memory that the allocator kept
 * after a burst. Call after the last query. Trimming takes the allocator's locks, so it is not done for few rows.
 */
static void release_memory(Writer *writer) {
        (void)sqlite3_db_release_memory(writer->database.db);
        if (writer->next.n_bytes_unsettled >= TRIM_BYTES)
                (void)malloc_trim(0);
        writer->next.n_bytes_unsettled = 0;
}

/* Runs if no rows came for a while; also if the last query left a closed barrier, and then only checkpoints. */
static void settle(Writer *writer) {
        if (!writer->database.db)
                return;
        if (clock_boottime_ns() < writer->next.settling_ns) {
                checkpoint_if_due(writer);
                return;
        }

        /* While the store is reported as not writable, callers may put nothing: checks whether writing works again. */
        if (!is_writable(writer) && commit_batch(writer, NULL) == 0)
                note_commit(writer, 0, 0, true);

        /* Cuts a log that grew behind a reader, or while space was released, if no rows come. */
        if (writer->wal.is_barrier_closed ||
            wal_checkpoint_log_bytes(writer->opening->path) > writer->retention.n_wal_bytes_max)
                wal_checkpoint_restart(&writer->wal, &writer->database, &writer->retention, SQLITE_CHECKPOINT_TRUNCATE);
        note_size(writer);
        if (writer->database.db)
                release_memory(writer);
        writer->next.is_settled = is_writable(writer);
}

static uint64_t wait_ns(Writer *writer) {
        if (!batches_are_empty(&writer->batches))
                return 0;
        if (writer->next.has_more_to_remove || writer->next.has_more_work)
                return 0;
        if (writer->erasures && !writer->salvage.path)
                return erasure_of(writer->erasures)->stage == ERASURE_LOG ? ERASURE_POLL_NS : 0;
        if (writer->database.db && writer->salvage.path)
                return clock_boottime_ns() < writer->next.salvage_ns ? SALVAGE_INTERVAL_NS : 0;
        return writer->next.is_settled ? SETTLED_WAIT_NS : IDLE_WAIT_NS;
}

static void *on_start(void *userdata) {
        Writer *writer = userdata;
        bool is_stopping = false;

        pthread_setname_np(pthread_self(), "perfd-store");
        while (!is_stopping || !batches_are_empty(&writer->batches)) {
                RowBatch batch;

                batches_add(&writer->batches, queue_take(writer->queue, wait_ns(writer), &is_stopping),
                            clock_boottime_ns());

                take_config(writer);
                condemn_if_damaged(writer);
                open_if_due(writer);
                /* The rows of a salvage are inserted with their numbers, by which the parts of a set are found. */
                batch = batches_next(&writer->batches, writer->retention.n_batch_bytes_max, !writer->salvage.path,
                                     clock_boottime_ns());
                if (batch.sets) {
                        write_batch(writer, &batch);
                        checkpoint_if_due(writer);
                } else if (!is_stopping && wait_ns(writer) > 0)
                        settle(writer);
                if (!is_stopping) {
                        remove_some(writer);
                        salvage_some(writer);
                        work_some(writer);
                        erase_some(writer);
                }
        }
        while (writer->erasures)
                end_erasure(writer, "perfd was stopped");
        return NULL;
}

/* --- begin and end ------------------------------------------------------------------------------- */

int writer_new(Writer **ret, Queue *queue, WalBarrier *barrier, Opening *opening, const StoreConfig *config) {
        scoped(writer_freep) Writer *writer = calloc(1, sizeof(*writer));
        int r;

        if (!writer)
                return -ENOMEM;
        *writer = (Writer){ .queue = queue,
                            .opening = opening,
                            .wal.barrier = barrier,
                            .holders.shares = config->shares,
                            .retention = { .config = *config, .shares = config->shares } };
        writer->wal.checkpointer = &writer->checkpointer;
        checkpointer_init(&writer->checkpointer, opening->path, opening->is_volatile);
        pthread_mutex_init(&writer->report.mutex, NULL);
        r = subject_states_new(&writer->states, config->shares);
        if (r == 0)
                *ret = TAKE(writer);
        return r;
}

int writer_start(Writer *writer) {
        int r;

        r = checkpointer_start(&writer->checkpointer);
        if (r == 0)
                r = thread_start(&writer->thread, on_start, writer);
        writer->is_running = r == 0;
        return r;
}

Writer *writer_free(Writer *writer) {
        if (!writer)
                return NULL;

        if (writer->is_running) {
                pthread_join(writer->thread, NULL);
                assert(is_idle(writer));
                wal_checkpoint_run(&writer->wal, &writer->database, SQLITE_CHECKPOINT_TRUNCATE);
        }
        checkpointer_deinit(&writer->checkpointer);
        holders_deinit(&writer->holders);
        salvage_close(&writer->salvage);
        database_close(&writer->database);
        subject_states_free(writer->states);
        pthread_mutex_destroy(&writer->report.mutex);
        free(writer);
        return NULL;
}
