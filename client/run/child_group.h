/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Child group: a control group of version 2 below the one that this process is in
 *
 * Made where one may, entered by this process alone, and left and removed at the end, unless what was
 * started in it still lives there. Such a one, and that of a killed perfctl, is removed by a later one, once it is empty.
 */

#include <stdbool.h>

#include "client/run/cgroup_context.h"

typedef struct ChildGroup {
        int parent_fd; /* owned; -1: it was not entered */
        char name[160];
} ChildGroup;

/* directory: of the parent, below root_fd. 0, or a negative errno: then nothing has changed. */
int child_group_enter(ChildGroup *ret, int root_fd, const char *directory, const char *job);
/* Back to where one was. removes: the group as well, if it is empty. Nothing happens when it was not entered. */
void child_group_leave(ChildGroup *group, bool removes);
