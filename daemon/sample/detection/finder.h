/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finder: finds the cgroups of jobs
 *
 * Watches the cgroup tree for groups whose path matches a configured pattern: jobs of a scheduler, pods, units. New
 * groups are reported by inotify, without polling. A directory next to jobs with an unknown name is counted, since it
 * may belong to an unknown layout.
 *
 * Watches every hierarchy of v1 and v2, and returns a group with all hierarchies that contain it. v1 hierarchies are
 * created one after the other: a group that is not yet in all of them is returned after a limited time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/cgroup/cgroup_tree.h"
#include "sample/detection/finder_rules.h"
#include "snapshot/job_description.h"
#include "snapshot/stats.h"
#include "util/scoped.h"

/* A cgroup that belongs to a job according to its path. */
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
bool finder_group_is_of(const FoundGroup *found, const JobDescription *job);

/*
 * Limits of the memory that other users can make the finder use. Directories beyond the limits are ignored, and
 * counted in n_not_watched.
 */
#define FINDER_WATCHES_MAX 4096U
#define FINDER_GROUPS_MAX 32768U

/*
 * Minimum time to wait for a group in more hierarchies; the maximum is twice this. No data is lost, since the group's
 * counters start at 0.
 */
#define FINDER_WAIT_MS 500U

typedef struct Finder Finder;

/*
 * Patterns are copied and must be valid, see pattern_check(). The tree must outlive the finder. Returns 0 or a
 * negative errno.
 */
int finder_new(Finder **ret, CgroupTree *tree, const FinderPattern *patterns, size_t n_patterns);
Finder *finder_free(Finder *finder);
DEFINE_SCOPED(Finder, finder_free);

/* Readable after changes, or when the wait for a group has ended. Borrowed. */
int finder_fd(const Finder *finder);
/*
 * Processes the changes; the first call scans all directories. After very many changes, processes a part, and the
 * descriptor stays readable. finder_next() returns the groups found. Returns 0 or a negative errno.
 */
int finder_scan(Finder *finder);
/*
 * Returns the next new group, each group once; a group that was removed and created again is new. Returns 0 or
 * FINDER_NONE.
 */
enum {
        FINDER_NONE = 1,
};
int finder_next(Finder *finder, FoundGroup *ret);
/*
 * Returns the next of the returned groups in which a subgroup was made or removed, which means that a step of the job
 * has begun or ended. The resources used by a step that has ended are still counted in the job's group, which a
 * scheduler removes soon after the last step. Returns 0 or FINDER_NONE.
 */
int finder_next_step(Finder *finder, CgroupPlace *ret);
void finder_stats(const Finder *finder, FinderStats *ret);
