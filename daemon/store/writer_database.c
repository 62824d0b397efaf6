/* SPDX-License-Identifier: Apache-2.0 */
#include "store/writer_database.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/table/schema.h"
#include "util/clock.h"
#include "util/scoped.h"

#define OPENING_INTERVAL_NS (2 * NS_PER_S)
#define REPLACEMENT_INTERVAL_NS (60 * NS_PER_S) /* minimum time between two replaced files, for a disk that damages each new file */

/* --- reports ------------------------------------------------------------------------------------- */

void writer_database_note_size(Writer *writer) {
        const char *path = writer->opening->path;
        struct stat st;
        uint64_t n = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;

        holders_charge(&writer->holders, &writer->database);
        report_checkpoints(&writer->report, writer->wal.n_failures, writer->wal.error);
        report_size(&writer->report, n + wal_checkpoint_log_bytes(path), writer->retention.config.size_max_bytes,
                    writer->retention.n_removed);
}

void writer_database_keep_failure(Writer *writer, int r, const char *explanation) {
        const char *message = database_error(&writer->database);

        if (explanation)
                (void)snprintf(writer->failure, sizeof(writer->failure), "%s", explanation);
        else if (r < 0 && r != -EIO)
                (void)snprintf(writer->failure, sizeof(writer->failure), "%s: %s", message, strerror(-r));
        else
                (void)snprintf(writer->failure, sizeof(writer->failure), "%s", message);
}

void writer_database_note_failure(Writer *writer, int r) {
        report_failure(&writer->report, writer->failure, r == DATABASE_REFUSED);
}

static void note_closed(Writer *writer, const char *why) {
        (void)snprintf(writer->failure, sizeof(writer->failure), "%s", why);
        report_closed(&writer->report, writer->failure);
}

/* The size is set first: a caller that sees an open database sees its size, too. */
static void note_open(Writer *writer) {
        writer->was_open = true;
        writer_database_note_size(writer);
        report_open(&writer->report);
}

/* --- opening ------------------------------------------------------------------------------------- */

int writer_database_begin_salvage(Writer *writer) {
        int r;

        salvage_close(&writer->salvage);
        r = salvage_find(&writer->salvage, writer->opening->path);
        if (r < 0 || !writer->salvage.path)
                return r == -ENOMEM ? r : 0; /* a damaged file that cannot be opened stays where it is */
        r = salvage_begin(&writer->salvage, &writer->database);
        if (r == 0)
                report_salvage(&writer->report, true, writer->salvage.n_rows, NULL);
        else
                salvage_close(&writer->salvage);
        return r;
}

/* Counts and reports a file that was moved aside. */
static void note_damage(Writer *writer, const char *note) {
        writer->is_condemned = false;
        if (note)
                report_damage(&writer->report, note, false);
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
                note_damage(writer, *ret_note);
                free(TAKE(*ret_note));
        }
        r = opening_open(writer->opening, &writer->database, ret_note);
        if (r != 0)
                return r;
        if (writer->opening->has_found_damage)
                note_damage(writer, *ret_note);

        writer->next.has_more_work = true; /* the first step reports the failure */
        writer->next.n_bytes_unsettled = WRITER_TRIM_BYTES; /* opening and starting free as much memory as a burst */
        database_watch(&writer->database);
        /* First the rows of a damaged file, because retention judges the clock by the newest row. */
        r = writer_database_begin_salvage(writer);
        if (r == 0)
                r = retention_configure(&writer->retention, &writer->database, &config);
        if (r == 0)
                return 0;

        free(TAKE(*ret_note));
        salvage_close(&writer->salvage);
        database_close(&writer->database);
        return r < 0 ? r : -EIO;
}

int writer_database_open(Writer *writer, char **ret_note) {
        int r = open_database(writer, ret_note);

        if (r == 0)
                note_open(writer);
        else
                note_closed(writer, *ret_note ? *ret_note : strerror(-r));
        return r;
}

/* If the database is opened late, running jobs of the former perfd were not resumed, and the database has no rows of this start
 * yet. Writes in any case, to check whether writing works. */
static int interrupt(Writer *writer) {
        int r;

        r = database_begin(&writer->database);
        if (r == 0 && !writer->was_open)
                r = subject_states_interrupt(&writer->database);
        if (r == 0)
                r = schema_touch(&writer->database);
        return r != 0 ? r : database_commit(&writer->database);
}

void writer_database_open_if_due(Writer *writer) {
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

void writer_database_condemn(Writer *writer) {
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
        report_damage(&writer->report, writer->failure, true);
        report_closed(&writer->report, writer->failure);

        writer->next.opening_ns = writer->next.replacement_ns;
        writer->next.replacement_ns = now_ns + REPLACEMENT_INTERVAL_NS;
        writer_database_open_if_due(writer);
        wal_barrier_replace(writer->wal.barrier);
}

void writer_database_handle_failure(Writer *writer, int r) {
        writer_database_keep_failure(writer, r, NULL);
        writer_database_note_failure(writer, r);
        if (r == DATABASE_CORRUPT)
                writer_database_condemn(writer);
        else
                database_rollback(&writer->database);
}

void writer_database_condemn_if_damaged(Writer *writer) {
        if (!writer->database.db || !wal_barrier_is_damaged(writer->wal.barrier))
                return;

        (void)snprintf(writer->failure, sizeof(writer->failure), "a query found a damaged page");
        writer_database_condemn(writer);
}
