/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cgroup limits: what a group may use
 *
 * A limit holds for all groups below it: the least on the way up to the root counts. There are many such files, and they
 * seldom change, so none of them stays open: only the group's directories do. CPU sets need no way up, the kernel's file says
 * what remains.
 */

#include "measure/cgroup_sample.h"
#include "sample/cgroup_tree.h"

typedef struct CgroupLimits {
        struct {
                int fd;           /* owned: the group's directory, with O_PATH; -1 where it has none */
                unsigned n_above; /* groups above it that can be seen */
        } directories[N_HIERARCHIES];
} CgroupLimits;

void cgroup_limits_init(CgroupLimits *limits);
void cgroup_limits_deinit(CgroupLimits *limits);

/* The parts that limits are. */
#define CGROUP_LIMIT_PARTS (1U << CGROUP_CPU_LIMIT | 1U << CGROUP_CPUSET | 1U << CGROUP_MEMORY_LIMIT)

/* Whether a hierarchy has any: if so, the directory is to be kept. */
bool cgroup_limits_are_in(Hierarchy hierarchy);
/* Takes the descriptor. */
void cgroup_limits_add(CgroupLimits *limits, Hierarchy hierarchy, int fd, unsigned n_above);

/* Reads them into the fields and parts that are limits, and nothing else. What was read before stays when the group is gone. */
void cgroup_limits_read(const CgroupLimits *limits, CgroupSample *ret);
