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

#include <stddef.h>

#include "sample/cgroup/cgroup_tree.h"
#include "sample/detection/finder_rules.h"
#include "sample/detection/found_group.h"
#include "snapshot/stats.h"
#include "util/scoped.h"

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
 * Returns the next of the returned groups in which a subgroup was removed, which means that a step of the job has
 * ended. The resources used by the step are still counted in the job's group, which a scheduler removes soon after
 * the last step. Returns 0 or FINDER_NONE.
 */
int finder_next_step_end(Finder *finder, CgroupPlace *ret);
void finder_stats(const Finder *finder, FinderStats *ret);
