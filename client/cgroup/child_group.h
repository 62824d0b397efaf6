/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Child group: a control group of version 2 below the group of this process
 *
 * This process makes the group, enters it, and leaves and removes it at the end, unless processes are left in it.
 * Such a group, and the group of a killed perfctl, is removed by a later run of perfctl once the group is empty.
 */

#include <stdbool.h>

#include "client/cgroup/cgroup_context.h"

typedef struct ChildGroup {
        int parent_fd; /* owned; -1: the group was not entered */
        char name[160];
} ChildGroup;

/* Makes and enters a group. directory: of the parent, below root_fd. 0, or a negative errno if nothing has changed. */
int child_group_enter(ChildGroup *ret, int root_fd, const char *directory, const char *job);
/* Returns to the parent. removes: remove the group if it is empty. Does nothing when the group was not entered. */
void child_group_leave(ChildGroup *group, bool removes);
