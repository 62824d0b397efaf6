/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Types that the callers of the store and its own files share. */

#include <stdbool.h>
#include <stdint.h>

#include "request/request.h"
#include "snapshot/stats.h"

struct Kind;

/* Tells the caller which of its puts a completion is of. The store hands the cookie back and never looks inside, except that a
 * cookie without a kind makes no completion. */
typedef struct StoreCookie {
        const struct Kind *kind; /* NULL: nobody waits */
        Ticket ticket;           /* request to answer; all zero: none */
        void *owner;             /* borrowed: object of the caller that the rows are about, or NULL */
} StoreCookie;

typedef enum StoreOutcome {
        STORE_DONE,      /* on disk */
        STORE_DUPLICATE, /* every result of the submission was stored before: nothing changed. STORE_DONE when any was new */
        STORE_CONFLICT,  /* job begin: another job has the id */
        STORE_MISSING,   /* job end, job amend: no such job; phase, identity: the job does not run */
        STORE_DENIED,    /* job amend, results: the job belongs to another uid */
        STORE_FAILED,    /* disk full, I/O error: nothing of the set was stored; see store_stats().error */
} StoreOutcome;
typedef struct RowSet RowSet;
typedef struct StoreDone {
        StoreCookie cookie;
        StoreOutcome outcome;
        const RowSet *rows; /* borrowed until the next completion; a subject's functions read more of the outcome from these */
} StoreDone;


#define STORE_DIRECTORY_MAX 256

typedef struct StoreConfig {
        char directory[STORE_DIRECTORY_MAX]; /* state directory; must exist */
        bool is_volatile;         /* no syncing: rows may survive the process, not the machine */
        uint64_t size_max_bytes;  /* of the database with its log; the oldest rows go when reached; 0: no limit */
        uint64_t keep_samples_ns, keep_jobs_ns, keep_results_ns; /* 0: for ever */
        uint64_t expiry_period_ns; /* 0: EXPIRY_PERIOD_NS; shorter in tests */
        size_t queue_rows_max;
        size_t queue_bytes_max;
} StoreConfig;

#define STORE_ERROR_MAX sizeof(((StoreStats *)NULL)->error)

/* Outcomes of every query and of each step to the next row. */
enum {
        READER_END = 1, /* no (more) rows */
        READER_TIMEOUT, /* the time limit was reached */
        READER_BROKEN,  /* the database cannot be read */
};
