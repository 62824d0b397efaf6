/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Jobs: the table of running jobs and of jobs that ended recently
 *
 * A Job stays in the table from its begin request until its end is stored; then its result stays for a while, for
 * /metrics. Hash tables find jobs by id and by the name of their own cgroup. A Job is never moved.
 */

#include "jobs/table/running_job.h"
#include "jobs/table/usage_file.h"
#include "jobs/table/user_totals.h"

typedef struct JobsConfig {
        uint64_t phases_max;                 /* limit of phases per job */
        uint64_t checkpoint_interval_ns;
        uint64_t timeline_points;            /* even */
        uint64_t linger_ns;                  /* time for which a job that is over waits for its end request */
        uint64_t metrics_jobs_max;           /* limit of jobs in /metrics */
        bool metrics_created;                /* counters in /metrics have _created */
        char metrics_totals_label[TOTAL_KEY_MAX];   /* label by whose values ended jobs are added up; "": none */
        uint64_t metrics_finished_ns;        /* time for which a finished job stays in /metrics */
} JobsConfig;

typedef struct FinishedJob FinishedJob;
struct FinishedJob {
        FinishedJob *next; /* the job that ended next */
        JobDescription info;
        JobState state;
        uint32_t n_phases;
        uint64_t begin_realtime_ms, end_realtime_ms;
        uint64_t ended_boottime_ns;
        JobResult result;
};

#define HIDDEN_JOBS_PARTS 64U /* at least one more than a time has */

/*
 * Ended jobs that /metrics would still show without the limit on their number: counted by the time of the end, in
 * parts of the time for which an ended job is shown. A job is counted for this time, or up to one part longer.
 * Initialize with zeros.
 */
typedef struct HiddenJobs {
        uint64_t part_ns;               /* length of a part */
        uint64_t number[HIDDEN_JOBS_PARTS]; /* number of the part since boot */
        uint64_t n[HIDDEN_JOBS_PARTS];
} HiddenJobs;

/* Jobs that ended recently, in the order of their ends. */
typedef struct FinishedJobs {
        FinishedJob *first, *last;
        size_t n;
        HiddenJobs hidden; /* removed because of the limit on their number */
} FinishedJobs;

/* Energy of the node that no job has a share of yet (energy_shares.h). */
typedef struct EnergyPool {
        bool is_begun;
        uint64_t total_uj, total_ticks; /* totals of the node up to which the pool was filled */
        uint64_t energy_uj, cpu_us;
} EnergyPool;

#define JOBS_BUCKETS 1024U
LIST_HEAD(JobBucket, Job);

typedef struct Jobs {
        struct JobBucket *buckets, *group_buckets; /* owned; JOBS_BUCKETS of each */
        Job *first, *last;
        size_t n;
        FinishedJobs finished;
        SampleLog samples; /* since the oldest running job began */
        JobsStats stats;
        UserTotals totals; /* of ended jobs */
        UsageFile usage_file;
        EnergyPool energy;
        struct GpuUse *gpu_use; /* borrowed; NULL: no job has GPUs */
} Jobs;

int jobs_init(Jobs *jobs);
void jobs_deinit(Jobs *jobs);

/*
 * Adds a job at stage BEGINNING. info is copied except for its cgroup. begin: totals of the node at the begin,
 * copied. 0 or -ENOMEM. *ret is owned by the table.
 */
int jobs_add(Jobs *jobs, const JobInfo *info, const Totals *begin, Job **ret);
/* Returns the running job with this id, or NULL. */
Job *jobs_find(const Jobs *jobs, const char *id);
/* Gives a running job another id. 0 or -ENOMEM. */
int jobs_rename(Jobs *jobs, Job *job, const char *id);
/* Takes a job out of the table and frees it. */
void jobs_remove(Jobs *jobs, Job *job);

/* Makes the cgroup of this name, in the form of JobInfo.cgroup, the job's own. 0, -ENOMEM, or JOBS_TAKEN: it belongs
 * to another job. */
enum {
        JOBS_TAKEN = 1,
};
int jobs_set_group(Jobs *jobs, Job *job, const char *name);
/* Returns the job whose own cgroup has exactly this name, or NULL. */
Job *jobs_find_group(const Jobs *jobs, const char *name);
/*
 * Returns the innermost job that contains a process of this user in the cgroup `name`, and makes `name` that of the
 * cgroup above the job's; NULL: there is none. A user may name a cgroup that also contains processes of other users,
 * such as root: these belong to the job only if an administrator named the cgroup, or perfd detected it.
 */
Job *jobs_next_around(const Jobs *jobs, uint32_t uid, char *name);

/* Removes a job that has final numbers and keeps its result for /metrics. Out of memory: the result is not kept. */
void jobs_retire(Jobs *jobs, Job *job, uint64_t now_boottime_ns);
/* Removes the results of jobs that ended before a point in time, and the oldest results beyond n_max, which are left
 * out for keep_ns. */
void jobs_forget_finished(Jobs *jobs, uint64_t before_boottime_ns, size_t n_max, uint64_t keep_ns);

/* Removes the results of a job whose id another job has now. */
void jobs_forget_finished_id(Jobs *jobs, const char *id);
/* Removes the results of a user's jobs that ended before a time. */
void jobs_forget_finished_user(Jobs *jobs, uint32_t uid, uint64_t before_ms);

/* Fills the jobs' part of a snapshot except for the finder's statistics. n_exposed_max: limit of jobs in /metrics. 0
 * or -ENOMEM. */
int jobs_publish(const Jobs *jobs, size_t n_exposed_max, JobsSnapshot *ret);

/* keep_ns: time for which an ended job is shown; a changed time begins a new count. */
void jobs_add_hidden(HiddenJobs *hidden, uint64_t ended_ns, uint64_t keep_ns);
uint64_t jobs_count_hidden(const HiddenJobs *hidden, uint64_t now_ns, uint64_t keep_ns);
