/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Types that both the callers of the store and its own files use. */

#include <stdbool.h>
#include <stdint.h>

#include "request/request.h"
#include "snapshot/stats.h"

struct Kind;
struct Shares;

/* Identifies the put to which a completion belongs. The store returns the cookie and does not interpret it, except
 * that a cookie without a kind makes no completion. */
typedef struct StoreCookie {
        const struct Kind *kind; /* NULL: no request waits */
        Ticket ticket;           /* request to answer; all zero: no request */
        void *owner;             /* borrowed: object of the caller that the rows are about, or NULL */
} StoreCookie;

typedef enum StoreOutcome {
        STORE_DONE,      /* on disk */
        /* every result of the submission was stored before: nothing changed. STORE_DONE if any result was new */
        STORE_DUPLICATE,
        STORE_CONFLICT,  /* job begin: another job has the id */
        STORE_MISSING,   /* job end, job amend: no such job; phase, identity: the job is not running */
        STORE_DENIED,    /* job amend, results: the job belongs to another uid */
        /* results: the user has no share left for more names or series; nothing of the set was stored */
        STORE_QUOTA,
        STORE_FAILED,    /* disk full, I/O error: nothing of the set was stored; see store_stats().error */
} StoreOutcome;
typedef struct RowSet RowSet;
typedef struct StoreDone {
        StoreCookie cookie;
        StoreOutcome outcome;
        /* borrowed until the next completion; functions of a subject read further data about the outcome from it */
        const RowSet *rows;
} StoreDone;


#define STORE_DIRECTORY_MAX 256

typedef struct StoreConfig {
        char directory[STORE_DIRECTORY_MAX]; /* state directory; must exist */
        bool is_volatile;         /* no syncing: rows may survive the process, not the machine */
        /* maximum size of the database with its log; then the oldest rows are removed; 0: no limit */
        uint64_t size_max_bytes;
        uint64_t keep_samples_ns, keep_minutes_ns, keep_jobs_ns, keep_results_ns; /* 0: no limit */
        uint64_t expiry_period_ns; /* 0: EXPIRY_PERIOD_NS; shorter in tests */
        size_t queue_rows_max;
        size_t queue_bytes_max;
        struct Shares *shares; /* borrowed; NULL: users are not charged for stored rows. Must not change */
} StoreConfig;

#define STORE_ERROR_MAX sizeof(((StoreStats *)NULL)->error)

/* Outcomes of every query and of each step to the next row. */
enum {
        READER_END = 1, /* no (more) rows */
        READER_TIMEOUT, /* the time limit was reached */
        READER_BROKEN,  /* the database cannot be read */
};
