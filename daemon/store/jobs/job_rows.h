/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job rows: row sets of jobs, their phases, their checkpoints and the meter's account
 *
 * Each packer copies everything and returns a row set for store_put(); NULL: out of memory.
 */

#include "job/job.h"
#include "job/job_gpus.h"
#include "job/job_steps.h"
#include "request/request.h"
#include "store/database/pack.h"
#include "store/table/rowset.h"
#include "store/table/store_subject.h"
#include "store/table/store_types.h"

/* A timeline is stored compressed, in parts of the same size; schema.c has the reason. */
#define N_TIMELINE_PARTS 3

/* The job's begin, with the progress that the job starts from and the meter's account (meter_save). */
typedef struct StoreJobBegin {
        const JobInfo *info;
        uint64_t begin_realtime_ms;
        const char *boot_id, *progress, *meter;
        uint32_t begun_by; /* uid */
        bool is_by_admin;  /* an administrator's request began the job */
} StoreJobBegin;
/*
 * An id that is taken: STORE_CONFLICT, unless the job is begun by an administrator and an earlier job with this id,
 * which has ended, was
 * not: the earlier job gets another id.
 */
RowSet *job_rows_pack_begin(const StoreJobBegin *row, StoreCookie cookie);
/* Gives a running job another id; no request waits for the outcome. */
RowSet *job_rows_pack_rename(const char *id, const char *other);

/* Final state of a job. */
typedef struct StoreJobEnd {
        const char *job;
        JobState state;
        uint64_t end_realtime_ms;
        const JobEnd *end;
        const char *note;         /* or NULL */
        const MetricSet *metrics; /* or NULL */
        const UsageSet *usage;    /* or NULL */
        const PhaseView *phase;   /* the phase that ends with the job, or NULL */
        const JobSteps *steps;    /* or NULL */
        const JobGpus *gpus;
        const Buffer *timeline;   /* timeline_write(), then export_samples_write() if samples were kept; or NULL */
} StoreJobEnd;
/* Stores the end of a job. STORE_MISSING: the job was never begun here. */
RowSet *job_rows_pack_end(const StoreJobEnd *end, StoreCookie cookie);
/* Returns the id of the job whose end the set has stored, or completed; null: the set is another, or stored nothing.
 * Borrowed. */
Field job_rows_ended(const RowSet *set);

/* A phase that has ended, and the job's progress, boot and meter's account at that moment. */
typedef struct StorePhase {
        const char *job;
        const PhaseView *phase;
        const char *progress, *boot_id, *meter;
} StorePhase;
/* Stores the end of a phase and the begin of the next. The meter's account is stored, too, because the progress may
 * refer to it. STORE_MISSING: the job is not running. Replaces a phase with the same index. */
RowSet *job_rows_pack_phase(const StorePhase *row, StoreCookie cookie);

/* Cgroup and owner of a running job, if they became known after its begin. */
typedef struct StoreJobIdentity {
        const char *job, *name, *user;
        Isolation isolation;
        const char *cgroup; /* or NULL */
        uint32_t uid, gid;
} StoreJobIdentity;
/* Stores all. STORE_MISSING: the job is not running. */
RowSet *job_rows_pack_identity(const StoreJobIdentity *identity, StoreCookie cookie);

/* Progress of a running job at a checkpoint. */
typedef struct StoreCheckpoint {
        const char *job;
        const char *progress; /* text of the caller's own format */
} StoreCheckpoint;
/* The progress of running jobs at one instant with the meter's account. Few jobs at a time: the whole set stays in
 * memory until written. */
RowSet *job_rows_pack_checkpoints(const StoreCheckpoint *items, size_t n_items, const char *boot_id, const char *meter,
                                  uint64_t realtime_ms);

/* Replaces the totals of ended jobs; text of the caller's own format. */
RowSet *job_rows_pack_totals(const char *text);

/*
 * Adds exit status and rusage of an end that is reported for a job which was closed without a report, makes the job
 * finished, and removes a note that no end was reported. If perfd has not observed the end, its time and the numbers
 * that depend on it are those of the report (job.h); other metrics stay. A job that a reboot has ended is
 * not changed by an end after start_ms, when perfd started. now_ms: present time; both since the epoch. n_cpus: CPUs of
 * the node. A sender who is neither an administrator nor the job's owner: STORE_DENIED. A finished job:
 * STORE_DUPLICATE.
 */
RowSet *job_rows_pack_amend(const char *job, const Peer *sender, const JobEnd *end, uint64_t start_ms, uint64_t now_ms,
                            uint32_t n_cpus, StoreCookie cookie);

/* Owner of a job. */
typedef struct JobOwner {
        int64_t row; /* 0: the job was never begun here */
        bool is_running, is_finished;
        uint32_t uid;
} JobOwner;
/* Finds the owner inside a transaction of the writer; *ret is unchanged if there is no such job. 0 or an outcome of
 * database.h. */
int job_rows_find_owner(struct Database *database, Field job, JobOwner *ret);

/* The subject: jobs, their phases, timelines and progress, and the meter's account. */
extern const StoreSubject store_jobs;
