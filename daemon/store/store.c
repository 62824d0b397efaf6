#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "store/database.h"
#include "store/job_rows.h"
#include "store/queue.h"
#include "store/result_rows.h"
#include "store/salvage.h"
#include "store/sample_rows.h"
#include "store/schema.h"
#include "store/writer.h"
#include "util/clock.h"

struct Store {
        char *path; /* owned */
        int lock_fd;
        Queue queue;
        Writer writer;
};

/* --- opening ------------------------------------------------------------------------------------- */

/* The lock is the kernel's and goes with the process; the file stays. */
static int take_lock(Store *store, const char *directory, char **ret_note) {
        scoped(freep) char *path = NULL;

        if (asprintf(&path, "%s/perfd.lock", directory) < 0)
                return -ENOMEM;

        store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (store->lock_fd < 0)
                return -errno;
        if (flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
                return 0;
        if (errno != EWOULDBLOCK)
                return -errno;

        if (asprintf(ret_note, "%s is held by another perfd", path) < 0)
                return -ENOMEM;
        return STORE_LOCKED;
}

/* 0 with the database set up; SCHEMA_TOO_NEW, DATABASE_CORRUPT; other outcomes are errors here. */
static int open_database(const char *path, bool is_volatile, Database *ret, int64_t *ret_version) {
        int r;

        r = database_open(ret, path);
        if (r == 0)
                r = schema_setup(ret, is_volatile, ret_version);
        return r;
}

static int say_too_new(const char *path, int64_t version, char **ret_note) {
        if (asprintf(ret_note, "%s has format %lld, written by a later perfd; this one knows up to %d", path,
                     (long long)version, schema_version()) < 0)
                return -ENOMEM;
        return STORE_TOO_NEW;
}

/* An outcome of database.h as a negative errno, where nobody can do anything about it. */
static int as_error(int r) {
        switch (r) {
        case DATABASE_FULL:
                return -ENOSPC;
        case DATABASE_CORRUPT:
                return -EUCLEAN;
        case DATABASE_REFUSED:
                return -EINVAL;
        default:
                return r;
        }
}

static void database_closep(Database *database) {
        database_close(database);
}

static int open_or_begin_anew(const StoreConfig *config, const char *path, Database *ret, char **ret_note) {
        scoped(database_closep) Database database = {};
        scoped(freep) char *reason = NULL;
        int64_t version = 0;
        int r;

        r = salvage_is_marked(path) ? DATABASE_CORRUPT : open_database(path, config->is_volatile, &database, &version);
        if (r == SCHEMA_TOO_NEW)
                return say_too_new(path, version, ret_note);
        if (r == DATABASE_CORRUPT) {
                reason = strdup(database.db ? database_error(&database) : "found while it was written to");
                if (!reason)
                        return -ENOMEM;
                database_close(&database);

                r = salvage_put_aside(path, clock_realtime_ns(), reason, ret_note);
                if (r == 0)
                        r = open_database(path, config->is_volatile, &database, &version);
        }
        if (r != 0)
                return as_error(r);

        *ret = database;
        database = (Database){};
        return 0;
}

static Limits limits_of(const StoreConfig *config) {
        return (Limits){
                .size_max_bytes = config->size_max_bytes,
                .keep_samples_ns = config->keep_samples_ns,
                .keep_jobs_ns = config->keep_jobs_ns,
                .keep_results_ns = config->keep_results_ns,
        };
}

static int start(Store *store, const StoreConfig *config, Database *database) {
        Limits limits = limits_of(config);
        int r;

        r = queue_init(&store->queue);
        if (r < 0)
                return r;
        queue_configure(&store->queue, config->queue_rows_max, config->queue_bytes_max);

        r = writer_init(&store->writer, &store->queue, store->path, database, &limits);
        return r != 0 ? as_error(r) : writer_start(&store->writer);
}

static int open_in(Store *store, const StoreConfig *config, char **ret_note) {
        scoped(database_closep) Database database = {};
        int r;

        if (asprintf(&store->path, "%s/perfd.db", config->directory) < 0)
                return -ENOMEM;

        r = take_lock(store, config->directory, ret_note);
        if (r != 0)
                return r;

        r = open_or_begin_anew(config, store->path, &database, ret_note);
        if (r != 0)
                return r;

        return start(store, config, &database);
}

int store_open(Store **ret, const StoreConfig *config, char **ret_note) {
        scoped(store_freep) Store *store = NULL;
        int r;

        *ret_note = NULL;
        store = calloc(1, sizeof(*store));
        if (!store)
                return -ENOMEM;
        store->lock_fd = -1;

        /* Counting every allocation takes a lock all threads share. Refused once SQLite is in use, which is fine. */
        (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);

        r = open_in(store, config, ret_note);
        if (r != 0) {
                if (r < 0)
                        free(TAKE(*ret_note));
                return r;
        }

        *ret = TAKE(store);
        return 0;
}

Store *store_free(Store *store) {
        if (!store)
                return NULL;

        if (store->queue.is_initialised)
                queue_stop(&store->queue);
        writer_deinit(&store->writer);
        queue_deinit(&store->queue);
        if (store->lock_fd >= 0)
                close(store->lock_fd);
        free(store->path);
        free(store);
        return NULL;
}

void store_configure(Store *store, const StoreConfig *config) {
        Limits limits = limits_of(config);

        queue_configure(&store->queue, config->queue_rows_max, config->queue_bytes_max);
        writer_configure(&store->writer, &limits);
        queue_poke(&store->queue);
}

const char *store_path(const Store *store) {
        return store->path;
}

/* --- rows in ------------------------------------------------------------------------------------- */

/* `r` is of the packing, which made `set` when it is 0. */
static int push(Store *store, int r, RowSet *packed) {
        scoped(rowset_freep) RowSet *set = packed;

        if (r < 0)
                return r;
        if (queue_push(&store->queue, set) == QUEUE_FULL)
                return STORE_QUEUE_FULL;

        (void)TAKE(set);
        return 0;
}

int store_put_results(Store *store, const Submission *items, size_t n_items, uint32_t uid, uint64_t arrived_ms,
                      StoreCookie cookie) {
        RowSet *set = NULL;
        int r;

        if (!queue_has_room(&store->queue, n_items))
                return STORE_QUEUE_FULL;

        r = result_rows_pack(items, n_items, uid, arrived_ms, cookie, &set);
        return push(store, r, set);
}

int store_put_job_begin(Store *store, const JobInfo *info, uint64_t begin_realtime_ms, const char *boot_id,
                        const char *window, const char *meter, StoreCookie cookie) {
        JobBeginRow row = {
                .info = info, .begin_ms = begin_realtime_ms, .boot_id = boot_id, .window = window, .meter = meter,
        };
        RowSet *set = NULL;
        int r;

        r = job_begin_pack(&row, cookie, &set);
        return push(store, r, set);
}

int store_put_job_end(Store *store, const char *job, JobState state, uint64_t end_realtime_ms, const JobEnd *end,
                      const char *note, const MetricSet *metrics, const char *timeline, StoreCookie cookie) {
        JobEndRow row = {
                .job = job, .state = state, .end_ms = end_realtime_ms, .end = end, .note = note,
                .metrics = metrics, .timeline = timeline,
        };
        RowSet *set = NULL;
        int r;

        r = job_end_pack(&row, cookie, &set);
        return push(store, r, set);
}

int store_put_job_amend(Store *store, const char *job, uint32_t uid, const JobEnd *end, StoreCookie cookie) {
        RowSet *set = NULL;
        int r;

        r = job_amend_pack(job, uid, end, cookie, &set);
        return push(store, r, set);
}

int store_put_checkpoints(Store *store, const StoreCheckpoint *items, size_t n_items, const char *boot_id,
                          const char *meter, uint64_t realtime_ms) {
        RowSet *set = NULL;
        int r;

        if (!queue_has_room(&store->queue, n_items + 1))
                return STORE_QUEUE_FULL;

        r = checkpoints_pack(items, n_items, boot_id, meter, realtime_ms, &set);
        return push(store, r, set);
}

int store_put_node_sample(Store *store, uint64_t begin_realtime_ms, uint64_t interval_ms, const char *timeline) {
        RowSet *set = NULL;
        int r;

        r = sample_rows_pack(begin_realtime_ms, interval_ms, timeline, &set);
        return push(store, r, set);
}

/* --- completions --------------------------------------------------------------------------------- */

int store_fd(const Store *store) {
        return store->queue.done_fd;
}

int store_next_done(Store *store, StoreDone *ret) {
        scoped(rowset_freep) RowSet *set = queue_next_done(&store->queue);

        if (!set)
                return STORE_NONE;

        *ret = (StoreDone){ .cookie = set->cookie, .outcome = set->outcome, .n_new = set->n_new };
        return 0;
}

void store_stats(Store *store, StoreStats *ret) {
        size_t n_rows, n_bytes, n_rows_max;

        writer_stats(&store->writer, ret);
        queue_count(&store->queue, &n_rows, &n_bytes, &n_rows_max);
        ret->queue_rows = n_rows;
        ret->queue_bytes = n_bytes;
        ret->queue_rows_max = n_rows_max;
}
