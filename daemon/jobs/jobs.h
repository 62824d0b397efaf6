/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Jobs: the ones that run, and the ones that just ended
 *
 * A Job lives here from its begin request until its numbers are in the store; after that
 * its result stays a while for /metrics. Found by id, and by the name of its own cgroup, in hash tables that
 * never move a Job.
 */

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "ingest/ingest.h"
#include "measure/usage.h"
#include "measure/window.h"
#include "sample/cgroup.h"
#include "series/recording.h"
#include "snapshot/jobs_snapshot.h"
#include "util/scoped.h"

typedef struct JobsConfig {
        uint64_t jobs_max, jobs_per_uid_max; /* running at the same time */
        uint64_t phases_max;                 /* of one job */
        uint64_t checkpoint_interval_ns;
        uint64_t timeline_points;            /* even */
        uint64_t linger_ns;                  /* for which a job that is over waits for its end request */
        uint64_t metrics_jobs_max;           /* in /metrics */
        uint64_t metrics_finished_ns;        /* for which a finished job stays in /metrics */
} JobsConfig;

typedef enum JobPhase {
        JOB_PHASE_BEGINNING, /* queued for the store, or about to be, not acked */
        JOB_PHASE_ACTIVE,
        JOB_PHASE_ENDING,    /* end queued for the store, not acked */
} JobPhase;

/* How a job ended: made when nothing more can happen in it, which may be before anybody says so. */
typedef struct Ending {
        JobState state;
        uint64_t realtime_ms;
        uint64_t boottime_ns;
        JobResult result;
        PhaseView *phase; /* owned; the last one, NULL when there is none */
} Ending;

typedef struct Job Job;
struct Job {
        Job *next_in_bucket;
        Job *next_in_group_bucket;
        Job *previous, *next; /* in order of begin */
        JobDescription info;
        JobPhase phase;
        Window window;
        Recording recording;
        uint64_t begin_realtime_ms;
        sd_event_source *process; /* watches info.pid; NULL when nobody is watched */
        bool is_process_gone;     /* it was watched, or looked for, and is not there any more */
        bool is_begin_due;        /* nobody waits for its begin, which the store could not take: queued at the next tick */
        bool is_announced;        /* somebody began it, who may say how it ended */
        bool is_group_vouched;    /* its group was named by an administrator or found: whoever is in it is in the job */
        bool is_learned_due;      /* the store has not been told of its group or owner yet */
        bool is_empty;            /* nothing runs in its own group, or that was removed */
        bool is_usage_cut;        /* its group was removed before its last counters were read */

        Cgroup *cgroup;           /* owned; its own group, open; NULL: none, or it was removed */
        uint64_t group_id;        /* cgroup_id() of that, or of the last it had; 0: it never had one */
        sd_event_source *events;  /* watches whether that is empty */
        Usage *usage;             /* owned; NULL: it never had a group of its own */
        Phase *mark;              /* owned; NULL: it was never marked */
        uint32_t n_phases;        /* begun; 0 likewise */
        uint32_t checkpoint_round; /* the last that put its progress */

        const char *unsaid;       /* what is noted of its ending unless somebody says how it ended; static */
        Ending *ending;           /* owned; NULL while something can happen in it */
        Ticket ticket;            /* of the request under way */
        bool has_ticket;
};

typedef struct FinishedJob FinishedJob;
struct FinishedJob {
        FinishedJob *next; /* older first */
        JobDescription info;
        JobState state;
        uint32_t n_phases;
        uint64_t begin_realtime_ms, end_realtime_ms;
        JobResult result;
        uint64_t ended_boottime_ns;
};

typedef struct Jobs {
        Job **buckets;       /* owned */
        Job **group_buckets; /* owned */
        size_t n_buckets;
        Job *first, *last;
        size_t n;
        FinishedJob *first_finished, *last_finished;
        size_t n_finished;
        JobsStats stats;
} Jobs;

int jobs_init(Jobs *jobs);
void jobs_deinit(Jobs *jobs);

/* A new job, in the table, phase BEGINNING. info is copied but for its cgroup. 0 or -ENOMEM. *ret is owned by the table. */
int jobs_add(Jobs *jobs, const JobInfo *info, Job **ret);
Job *jobs_find(const Jobs *jobs, const char *id);
size_t jobs_count_uid(const Jobs *jobs, uint32_t uid);
/* Out of the table and freed. */
void jobs_remove(Jobs *jobs, Job *job);

/* `name`, a JobInfo.cgroup, is the job's own group from now on. -ENOMEM, or JOBS_TAKEN: another job has it. */
enum {
        JOBS_TAKEN = 1,
};
int jobs_set_group(Jobs *jobs, Job *job, const char *name);
/* The job whose own group has that very name. */
Job *jobs_find_group(const Jobs *jobs, const char *name);

/* Nothing more can happen in it, or it can again: then the ending is dropped. */
void job_drop_ending(Job *job);

/* Out of the table; its final view is kept for exposition. Out of memory: it is just not exposed. It has an ending. */
void jobs_retire(Jobs *jobs, Job *job, uint64_t now_boottime_ns);
/* Forgets the ones that ended before; and the oldest beyond n_max. */
void jobs_forget_finished(Jobs *jobs, uint64_t before_boottime_ns, size_t n_max);

/* Fills the jobs' part of a snapshot, except for the finder's statistics. n_exposed_max: how many jobs /metrics shows. 0 or -ENOMEM. */
int jobs_publish(const Jobs *jobs, size_t n_exposed_max, JobsSnapshot *ret);
