/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Isolation: what tells a job's processes from all others
 *
 * Chosen before the command starts, best first: a scope of systemd, an own control group, or this process as the
 * subreaper of all that the command starts. Neither limits nor accounts that somebody else set are left.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/cgroup/cgroup_context.h"
#include "client/cgroup/limits.h"
#include "job/job.h"

/*
 * Child group: a control group of version 2 below the group of this process
 *
 * This process makes the group, enters it, and leaves and removes it at the end, unless processes are left in it.
 * Such a group, and the group of a killed perfctl, is removed by a later run of perfctl once the group is empty.
 */

typedef struct ChildGroup {
        int parent_fd; /* owned; -1: the group was not entered */
        char name[160];
} ChildGroup;

/* Makes and enters a group. directory: of the parent, below root_fd. 0, or a negative errno if nothing has changed. */
int isolation_enter_group(ChildGroup *ret, int root_fd, const char *directory, const char *job);
/* Returns to the parent. removes: remove the group if it is empty. Does nothing when the group was not entered. */
void isolation_leave_group(ChildGroup *group, bool removes);

/* Return why the kind of isolation cannot be tried, for users; NULL: it can. Borrowed from the context. */
const char *isolation_refuse_scope(const CgroupContext *context);
const char *isolation_refuse_group(const CgroupContext *context);

#define ISOLATED_TEXT_MAX 512U

typedef struct Isolated {
        Isolation kind;
        ChildGroup group;
        /* describes the isolation and why no stronger kind is available, for people; "" for ISOLATION_NONE */
        char text[ISOLATED_TEXT_MAX];
} Isolated;

void isolation_init(Isolated *isolated);
/*
 * Moves this process into the best available kind, from `best` on, and waits for systemd for timeout_ns at most.
 * With ISOLATION_SUBREAPER and ISOLATION_NONE the process stays in its group. limits: systemd gets them with a
 * scope, since it enables the controllers that they need; in any group the caller still has to apply them.
 */
void isolation_enter(Isolated *ret, const char *job, Isolation best, const RunLimits *limits, uint64_t timeout_ns);
/*
 * Moves this process out of the group made for the job. removes: remove the group unless a process is left in it. A
 * scope ends with its last process.
 */
void isolation_leave(Isolated *isolated, bool removes);
