/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finder: cgroups that are jobs
 *
 * Watches the cgroup tree for groups whose path matches a pattern of the configuration: jobs of a scheduler, pods,
 * units. The kernel tells of new groups through inotify; nothing is polled. What lies where a pattern expects a job
 * but has another name is counted, since it may be a layout nobody knew of.
 *
 * Every hierarchy is watched, v1's and v2's. A group is handed out with all the hierarchies it is in. v1's come one after
 * the other, so one that is not yet where others like it are is waited for, but not for ever.
 */

#include <stddef.h>

#include "sample/cgroup_tree.h"
#include "sample/finder_rules.h"
#include "sample/found_group.h"
#include "snapshot/stats.h"
#include "util/scoped.h"

/* Limits of what other users can make the finder hold. Directories beyond the limits are not found, and counted in n_not_watched. */
#define FINDER_WATCHES_MAX 4096U
#define FINDER_GROUPS_MAX 32768U

/* How long a group is waited for in more hierarchies, at least; at most it is twice that. Nothing is lost meanwhile: its counters
 * begin with it. */
#define FINDER_WAIT_MS 500U

typedef struct Finder Finder;

/* Patterns are copied and have been checked by pattern_check(). The tree must outlive it. 0 or < 0. */
int finder_new(Finder **ret, CgroupTree *tree, const FinderPattern *patterns, size_t n_patterns);
Finder *finder_free(Finder *finder);
DEFINE_SCOPED(Finder, finder_free);

/* Readable when something has changed, or a group was waited for long enough. Borrowed. */
int finder_fd(const Finder *finder);
/* Takes what has changed since; the first call looks at everything. When very much has changed it takes a part, and the
 * descriptor stays readable. 0 or < 0. What it found is handed out by finder_next(). */
int finder_scan(Finder *finder);
/* The next group that is new, each once; one that was removed and made anew is new. 0 or FINDER_NONE. */
enum {
        FINDER_NONE = 1,
};
int finder_next(Finder *finder, FoundGroup *ret);
/*
 * The next group that was handed out and in which, since, a group was removed: a step of the job has ended. What the step used
 * is counted in the job's group still, which a scheduler removes soon after the last of them. 0 or FINDER_NONE.
 */
int finder_next_step_end(Finder *finder, CgroupPlace *ret);
void finder_stats(const Finder *finder, FinderStats *ret);
