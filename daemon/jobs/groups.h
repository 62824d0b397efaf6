/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Groups: the cgroups that are jobs' own
 *
 * A job with a cgroup of its own is told from all others of its node: what the kernel counts there is the job's. The cgroup is
 * read at the job's begin and end, at marks and at each tick, from files that stay open.
 */

#include "jobs/jobs.h"
#include "node/node.h"
#include "util/log.h"

/* Size of a buffer for a JobInfo.cgroup. */
#define GROUP_NAME_MAX CGROUP_NAME_MAX

typedef struct Groups {
        CgroupTree *tree; /* owned */
        Jobs *jobs;       /* borrowed */
        LogLimit log_limit; /* of cgroups that cannot be followed */
} Groups;

/* root: directory with proc/ and sys/; peers have pids of "/". 0 or a negative errno. */
int groups_init(Groups *groups, Jobs *jobs, const char *root);
void groups_deinit(Groups *groups);

/* The cgroup of a process that was named as a member of a job's own. False: the process is gone, or in no cgroup but the node's. */
bool groups_find_place(const Groups *groups, int32_t pid, CgroupPlace *ret);

/*
 * Makes the cgroup at `place` the job's own, its first or one that follows another. is_fresh: the cgroup was made for the
 * job, so that all it counts is the job's. 0; GROUPS_REFUSED: it is gone, is the node itself, or another job's; -ENOMEM.
 */
enum {
        GROUPS_REFUSED = 1,
};
int groups_attach(Groups *groups, Job *job, const CgroupPlace *place, bool is_fresh);

/*
 * Makes the cgroup at `place` the own of a job whose usage continues from a checkpoint: the kernel counted on meanwhile. A job that
 * was detected after the last checkpoint has no usage yet, and its cgroup was made for the job. As groups_attach().
 */
int groups_resume(Groups *groups, Job *job, const CgroupPlace *place);

/*
 * Reads the job's cgroup. 0, also for a job without one, or GROUPS_GONE: the cgroup was removed and is closed; what was read before
 * stays, and counts as cut unless the cgroup was empty.
 */
enum {
        GROUPS_GONE = 1,
};
int groups_read(Job *job);
/* The same at a tick: values that are expensive to read and seldom change may be up to a minute old. */
int groups_glance(Job *job);

/* Whether a process has run in the job's cgroup since the job began. */
bool groups_has_run(const Job *job);

/* The job's own numbers. end: how it ended, or NULL while it runs. */
void groups_metrics(const Job *job, const Node *node, const JobEnd *end, UsageSet *ret);
/* The same for the job's present phase. */
void groups_phase_metrics(const Job *job, const Node *node, UsageSet *ret);
