/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Found group: a cgroup that belongs to a job according to its path
 */

#include <stdbool.h>
#include <stdint.h>

#include "sample/cgroup/cgroup_tree.h"
#include "sample/detection/finder_rules.h"
#include "snapshot/job_description.h"

typedef struct FoundGroup {
        CgroupPlace place;            /* truncated to the level of the job's group */
        char job[JOB_ID_MAX];         /* job id from the path, with ".NODE" appended if node is not the name of this
                                       * machine */
        char path_job[JOB_ID_MAX];    /* job id without the node */
        char node[JOB_ID_MAX];        /* one of several scheduler daemons on this machine; "" if the path has none */
        bool is_sluid;                /* path_job is Slurm's SLUID */
        bool has_uid;                 /* the path contains the owner's uid */
        uint32_t uid;
        uint32_t owner_uid;           /* owner of the directory: its creator, or the user it was delegated to */
        char pattern[32];             /* name of the setting with the pattern: "slurm", "kubernetes" */
} FoundGroup;

/*
 * Returns true if a begun job is the found one: the ids are equal, or its labels match: "sluid" for a SLUID, else
 * "slurm_job" for the job and, if present, "slurm_node" for the node. Slurm's prolog sets these labels, since a
 * requeued job has an id of its own.
 */
bool found_group_is_of(const FoundGroup *found, const JobDescription *job);

/*
 * Describes the group with a path below the mount points ("/a/b") that matches the rule's pattern. Returns 0, or an
 * outcome.
 */
enum {
        FOUND_GROUP_GONE = 1, /* the group no longer exists in any hierarchy */
        FOUND_GROUP_NAMELESS, /* the captured text is too long for an id, or not a uid */
};
int found_group_find(const CgroupTree *tree, const FinderRule *rule, const char *path, FoundGroup *ret);
