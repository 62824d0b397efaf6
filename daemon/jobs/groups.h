/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Groups: the cgroups that are jobs' own
 *
 * A job that has one is told from all others of its node: what the kernel counts there is the job's. The group is
 * read at the job's begin and end and at marks, and looked at at each tick, from files that stay open.
 */

#include "state.h"

/* Room for a JobInfo.cgroup. */
#define GROUP_NAME_MAX CGROUP_NAME_MAX

/* The group of a process that was named as a member of a job's own. False: it is gone, or in none but the node's. */
bool groups_find_place(const Service *service, int32_t pid, CgroupPlace *ret);

/*
 * The group at `place` is the job's own from now on, the first or one that follows another. is_fresh: it was made for the
 * job, so that all it counts is the job's. 0; GROUPS_REFUSED: it is gone, is the node itself, or another job's; -ENOMEM.
 */
enum {
        GROUPS_REFUSED = 1,
};
int groups_attach(Service *service, Job *job, const CgroupPlace *place, bool is_fresh);

/*
 * The same for a job whose usage goes on where a checkpoint left it: the kernel counted on meanwhile. One that was found after
 * the last checkpoint has no usage yet, and was made for the job.
 */
int groups_resume(Service *service, Job *job, const CgroupPlace *place);

/*
 * Takes in what the job's group says now. 0, or GROUPS_GONE: it was removed, then or earlier, and is closed; what was read before
 * stays, and is cut unless the group was empty. Nothing, and 0, for a job that has none.
 */
enum {
        GROUPS_GONE = 1,
};
int groups_read(Service *service, Job *job);
/* The same at a tick: what is dear to read, and changes seldom, may be of a minute ago. */
int groups_glance(Service *service, Job *job);

/* The job's own numbers. end: how it ended, or NULL while it runs. */
void groups_metrics(const Service *service, const Job *job, const JobEnd *end, UsageSet *ret);
/* The same of its present phase. */
void groups_phase_metrics(const Service *service, const Job *job, UsageSet *ret);
