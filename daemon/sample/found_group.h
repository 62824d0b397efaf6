/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Found group: a cgroup that is a job's, as its path tells
 */

#include <stdbool.h>
#include <stdint.h>

#include "sample/cgroup_tree.h"
#include "sample/finder_rules.h"
#include "snapshot/job_description.h"

typedef struct FoundGroup {
        CgroupPlace place;            /* cut to the job's own level */
        char job[JOB_ID_MAX];         /* the id that the path tells, with ".NODE" behind it when node is not this machine's name */
        char path_job[JOB_ID_MAX];    /* the same without a node */
        char node[JOB_ID_MAX];        /* of several daemons of a scheduler on this machine; "" when the path tells none */
        bool is_sluid;                /* path_job is Slurm's SLUID */
        bool has_uid;                 /* the path tells whose it is */
        uint32_t uid;
        uint32_t owner_uid;           /* of its directory: who made it, or whom it was given to */
        char pattern[32];             /* name of the setting that found it: "slurm", "kubernetes" */
} FoundGroup;

/*
 * Whether a job that was announced is the one that was found. It is when the ids are the same, or when its labels say so:
 * "sluid" for a SLUID, else "slurm_job" for the job and, if it is there, "slurm_node" for the node. Slurm's prolog sets them,
 * since a job that was requeued has an id of its own.
 */
bool found_group_is_of(const FoundGroup *found, const JobDescription *job);

/* Describes the group of a path below the mounts of the hierarchies ("/a/b") that the rule's pattern matches. 0, or an outcome. */
enum {
        FOUND_GROUP_GONE = 1, /* it is in no hierarchy any more */
        FOUND_GROUP_NAMELESS, /* what the path tells is too long for an id, or no uid */
};
int found_group_find(const CgroupTree *tree, const FinderRule *rule, const char *path, FoundGroup *ret);
