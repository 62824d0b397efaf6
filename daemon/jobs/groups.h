/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Groups: cgroups that belong to jobs
 *
 * The kernel's counters of a cgroup that belongs to a job measure this job alone. The cgroup is read at the job's
 * begin and end, at marks and at each tick, from files that stay open.
 */

#include "base/log.h"
#include "jobs/table/jobs.h"
#include "node/node.h"

/* Size of a buffer for a JobInfo.cgroup. */
#define GROUP_NAME_MAX CGROUP_NAME_MAX

typedef struct Groups {
        CgroupTree *tree; /* owned */
        Jobs *jobs;       /* borrowed */
        LogUserLimits log_limits; /* for messages about cgroups that cannot be read */
} Groups;

/*
 * root: directory with proc/ and sys/. If cgroups are mounted there, they are those of the jobs, and the pids of
 * peers are valid for its
 * proc/: a container with the host's root and PID namespace. Otherwise, cgroups are those of "/". 0 or a negative
 * errno.
 */
int groups_init(Groups *groups, Jobs *jobs, const char *root);
void groups_deinit(Groups *groups);

/* Finds the cgroup of a process that a client named as a member. False: the process has ended, or is in the root
 * cgroup. */
bool groups_find_place(const Groups *groups, int32_t pid, CgroupPlace *ret);

/*
 * Makes the cgroup at `place` the job's own; it may replace a former cgroup. is_fresh: the cgroup was created for
 * the job, so that all its counters belong to the job. 0; GROUPS_REFUSED: the cgroup was removed, is the root, or
 * belongs to another job; -ENOMEM.
 */
enum {
        GROUPS_REFUSED = 1,
};
int groups_attach(Groups *groups, Job *job, const CgroupPlace *place, bool is_fresh);

/*
 * As groups_attach(), for a job whose usage continues from a checkpoint: the kernel kept counting meanwhile. A job
 * that was detected after the last checkpoint has no usage yet, and its cgroup was created for the job.
 */
int groups_resume(Groups *groups, Job *job, const CgroupPlace *place);

/*
 * Reads the job's cgroup. 0, also for a job without a cgroup, or GROUPS_GONE: the cgroup was removed and is closed;
 * the counters read before stay, and are marked as cut unless the cgroup was empty.
 */
enum {
        GROUPS_GONE = 1,
};
int groups_read(Job *job);
/* As groups_read(), at a tick: values that are expensive to read and seldom change may be up to a minute old. */
int groups_refresh(Job *job);

/* True if a process has run in the job's cgroup since the job began. */
bool groups_has_run(const Job *job);

/* Excludes CPU time of the client from the job and from its last phase. */
void groups_exclude(Job *job, const ClientCpu *cpu);

/* Computes the job's own metrics. end: the end that was reported, or NULL while the job runs. */
void groups_metrics(const Job *job, const Node *node, const JobEnd *end, UsageSet *ret);
/* Computes the metrics of the job's current phase. */
void groups_phase_metrics(const Job *job, const Node *node, UsageSet *ret);
