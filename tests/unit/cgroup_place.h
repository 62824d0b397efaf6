/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Places of a job that has cgroups in only some of the hierarchies
 */

#include <string.h>

#include "sample/cgroup/cgroup_tree.h"
#include "util/scoped.h"

/* Clears the paths of the hierarchies in which both processes are in the same group. */
static inline void place_without(CgroupPlace *place, const CgroupPlace *other) {
        char *const paths[] = { place->v2,     place->cpu,   place->cpuacct, place->cpuset,
                                place->memory, place->blkio, place->pids };
        const char *const others[] = { other->v2,     other->cpu,   other->cpuacct, other->cpuset,
                                       other->memory, other->blkio, other->pids };
        bool is_same[N_ELEMENTS(paths)];

        for (size_t i = 0; i < N_ELEMENTS(paths); i++)
                is_same[i] = strcmp(paths[i], others[i]) == 0;
        for (size_t i = 0; i < N_ELEMENTS(paths); i++)
                if (is_same[i])
                        paths[i][0] = '\0';
}
