/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cgroup limits: the effective limits of a group
 *
 * A limit also applies to all groups below it: the effective limit is the minimum on the path to the root. There are
 * many such files, which rarely change, so only the group's directories stay open, not the files. CPU sets need no
 * minimum: the kernel's file contains the effective set.
 */

#include "measure/cgroup_sample.h"
#include "sample/cgroup/cgroup_tree.h"

typedef struct CgroupLimits {
        struct {
                int fd;           /* owned: directory of the group, opened with O_PATH; -1 if there is none */
                unsigned n_above; /* number of visible groups above */
        } directories[N_HIERARCHIES];
} CgroupLimits;

void cgroup_limits_init(CgroupLimits *limits);
void cgroup_limits_deinit(CgroupLimits *limits);

/* The parts of a sample that are limits. */
#define CGROUP_LIMIT_PARTS (1U << CGROUP_CPU_LIMIT | 1U << CGROUP_CPUSET | 1U << CGROUP_MEMORY_LIMIT)

/* Returns true if a hierarchy has limits: its directory must stay open. */
bool cgroup_limits_are_in(Hierarchy hierarchy);
/* Takes ownership of the descriptor. */
void cgroup_limits_add(CgroupLimits *limits, Hierarchy hierarchy, int fd, unsigned n_above);

/*
 * Reads the limits into their fields and parts, and changes nothing else. If the group is gone, old values are kept.
 */
void cgroup_limits_read(const CgroupLimits *limits, CgroupSample *ret);
