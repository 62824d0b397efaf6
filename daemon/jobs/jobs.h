/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Jobs: the table of running jobs and of those that ended recently
 *
 * A Job stays here from its begin request until its end is stored; then its result stays for a while, for /metrics. Jobs are found by
 * id and by the name of their own cgroup, in hash tables that never move a Job.
 */

#include "jobs/job.h"

typedef struct JobsConfig {
        uint64_t jobs_max, jobs_per_uid_max; /* running at the same time */
        uint64_t phases_max;                 /* of one job */
        uint64_t checkpoint_interval_ns;
        uint64_t timeline_points;            /* even */
        uint64_t linger_ns;                  /* for which a job that is over waits for its end request */
        uint64_t metrics_jobs_max;           /* in /metrics */
        uint64_t metrics_finished_ns;        /* for which a finished job stays in /metrics */
} JobsConfig;

typedef struct FinishedJob FinishedJob;
struct FinishedJob {
        FinishedJob *next; /* older first */
        JobDescription info;
        JobState state;
        uint32_t n_phases;
        uint64_t begin_realtime_ms, end_realtime_ms;
        uint64_t ended_boottime_ns;
        JobResult result;
};

/* Jobs that ended recently, in the order of their ends. */
typedef struct FinishedJobs {
        FinishedJob *first, *last;
        size_t n;
} FinishedJobs;

typedef struct Jobs {
        Job **buckets;       /* owned */
        Job **group_buckets; /* owned */
        size_t n_buckets;
        Job *first, *last;
        size_t n;
        FinishedJobs finished;
        JobsStats stats;
} Jobs;

int jobs_init(Jobs *jobs);
void jobs_deinit(Jobs *jobs);

/* Adds a job at stage BEGINNING. info is copied except for its cgroup. 0 or -ENOMEM. *ret is owned by the table. */
int jobs_add(Jobs *jobs, const JobInfo *info, Job **ret);
/* The running job of this id, or NULL. */
Job *jobs_find(const Jobs *jobs, const char *id);
/* Number of running jobs of a user. */
size_t jobs_count_uid(const Jobs *jobs, uint32_t uid);
/* Takes a job out of the table and frees it. */
void jobs_remove(Jobs *jobs, Job *job);

/* Makes the cgroup of this name, in the form of JobInfo.cgroup, the job's own. 0, -ENOMEM, or JOBS_TAKEN: another job has it. */
enum {
        JOBS_TAKEN = 1,
};
int jobs_set_group(Jobs *jobs, Job *job, const char *name);
/* The job whose own cgroup has exactly this name, or NULL. */
Job *jobs_find_group(const Jobs *jobs, const char *name);

/* Removes a job that has final numbers and keeps its result for /metrics. Out of memory: the result is not kept. */
void jobs_retire(Jobs *jobs, Job *job, uint64_t now_boottime_ns);
/* Drops the results of jobs that ended before a moment, and the oldest beyond n_max. */
void jobs_forget_finished(Jobs *jobs, uint64_t before_boottime_ns, size_t n_max);

/* Fills the jobs' part of a snapshot but for the finder's statistics. n_exposed_max: number of jobs in /metrics. 0 or -ENOMEM. */
int jobs_publish(const Jobs *jobs, size_t n_exposed_max, JobsSnapshot *ret);
