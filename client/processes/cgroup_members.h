/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Cgroup members: the processes in a control group and in those below it */

#include <stddef.h>
#include <sys/types.h>

typedef struct CgroupMembers {
        pid_t *pids; /* owned */
        size_t n, n_allocated;
} CgroupMembers;

void cgroup_members_deinit(CgroupMembers *members);

/*
 * Opens the directory of a job's group below the usual mount points. name: as perfd tells it, "/a/b" for version 2 or "cpuacct:/a/b".
 * Returns a descriptor or a negative errno; -ENOENT if the group is not visible here.
 */
int cgroup_members_open(int root_fd, const char *name);

/* Reads the pids; those from the group's directory `fd`. Returns 0, or a negative errno; -ENOENT if the group was removed. */
int cgroup_members_read(int fd, CgroupMembers *ret);
