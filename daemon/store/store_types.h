/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What callers of the store and its insides both speak. */

#include <stdbool.h>
#include <stdint.h>

#include "document/indicator_model.h"
#include "job/job.h"
#include "request/request.h"

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
        STORE_DUPLICATE, /* every id of the submission was there already: nothing changed. Part new, part old: STORE_DONE,
                            and the new ones are stored */
        STORE_CONFLICT,  /* job begin: the id is taken by another job */
        STORE_MISSING,   /* job end, job amend: there is no such job; phase: it does not run */
        STORE_DENIED,    /* job amend, results: the job belongs to another uid */
        STORE_FAILED,    /* disk full, I/O error: nothing of it was kept; see store_stats().error */
} StoreOutcome;
typedef struct StoreDone {
        StoreCookie cookie;
        StoreOutcome outcome;
        size_t n_new; /* results: how many were not there before */
        bool has_left_job; /* results: a job that was inherited has ended, and they are of none */
        const uint8_t *old; /* results: a bit for each, the lowest of the first byte first, set where it was. Borrowed until the next one */
} StoreDone;

/* A running job at the instant of a checkpoint: its id, and how far it is, in the caller's own words. */
typedef struct StoreCheckpoint {
        const char *job;
        const char *progress;
} StoreCheckpoint;

/* What is found out of a running job after its begin. */
typedef struct StoreLearned {
        const char *job;
        Enclosure enclosure;
        const char *cgroup; /* or NULL */
        uint32_t uid, gid;
} StoreLearned;

/* A phase that has ended, and how far its job is then: the progress, the boot and the meter's account as at a checkpoint. */
typedef struct StorePhase {
        const char *job;
        const PhaseView *phase;
        const char *progress, *boot_id, *meter;
} StorePhase;

/* Final state of a job. */
typedef struct StoreJobEnd {
        const char *job;
        JobState state;
        uint64_t end_realtime_ms;
        const JobEnd *end;
        const char *note;         /* or NULL */
        const MetricSet *metrics; /* or NULL */
        const UsageSet *usage;    /* or NULL */
        const PhaseView *phase;   /* the one that ends with the job, or NULL */
        const char *timeline;     /* timeline_format() text, or NULL */
} StoreJobEnd;

/* A model that was registered. */
typedef struct StoreModel {
        const IndicatorModel *model;
        uint32_t uid; /* who registered it */
        bool by_admin;
} StoreModel;

/* Of a reader's questions, and of each step to the next row. */
enum {
        READER_END = 1, /* no (more) rows */
        READER_TIMEOUT, /* the limit was reached */
        READER_BROKEN,  /* the database cannot be read */
};

typedef struct StoreStats {
        uint64_t queue_rows, queue_bytes, queue_rows_max;
        uint64_t n_commits, n_commit_failures, commit_ns_sum, commit_ns_last, n_rows_committed, n_rows_removed;
        uint64_t size_bytes, size_max_bytes;
        bool is_writable;
        char error[160];
        char notice[256]; /* what had to be done to open the database late; "" */
} StoreStats;
