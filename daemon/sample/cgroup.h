#pragma once

/*
 * Cgroup: reads control groups
 *
 * A CgroupTree knows where the hierarchies are mounted (v2, v1, or both beside each other). A Cgroup is one group
 * with its files kept open, one pread(2) each and sample. Paths come from the kernel (proc/PID/cgroup), are resolved beneath
 * the mount, and never through symbolic links.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/cgroup.h"
#include "util/scoped.h"

#define CGROUP_PATH_MAX 512

typedef struct CgroupTree CgroupTree;
typedef struct Cgroup Cgroup;

/* root: as for the sampler. A machine without any hierarchy has an empty tree: then nothing is found in it. 0 or < 0. */
int cgroup_tree_new(CgroupTree **ret, const char *root);
CgroupTree *cgroup_tree_free(CgroupTree *tree);
DEFINE_SCOPED(CgroupTree, cgroup_tree_free);

typedef enum CgroupLayout {
        CGROUP_LAYOUT_NONE,
        CGROUP_LAYOUT_V1,
        CGROUP_LAYOUT_MIXED, /* v1 controllers, v2 beside them without */
        CGROUP_LAYOUT_V2,
} CgroupLayout;
CgroupLayout cgroup_tree_layout(const CgroupTree *tree);

/* Where a process is, by hierarchy. "" where a hierarchy does not exist. */
typedef struct CgroupPlace {
        char v2[CGROUP_PATH_MAX];
        char cpu[CGROUP_PATH_MAX], cpuacct[CGROUP_PATH_MAX], cpuset[CGROUP_PATH_MAX], memory[CGROUP_PATH_MAX],
                blkio[CGROUP_PATH_MAX], pids[CGROUP_PATH_MAX]; /* v1 */
} CgroupPlace;

/* Outcomes. */
enum {
        CGROUP_GONE = 1,   /* no such process, or no such group (any more), or none but the root, which is the node */
        CGROUP_MALFORMED,  /* a path that is not beneath the mount, too long, or through a symbolic link */
};

/* Reads proc/PID/cgroup. */
int cgroup_place_of(const CgroupTree *tree, int32_t pid, CgroupPlace *ret);
/* The same group in both: not a group of the job's own then. */
bool cgroup_place_equal(const CgroupPlace *a, const CgroupPlace *b);
/* Empties the hierarchies in which `place` is in the same group as `other`: those are not the job's own. */
void cgroup_place_without(CgroupPlace *place, const CgroupPlace *other);

/*
 * Opens the group's files. What a controller does not offer is absent from samples, and so are hierarchies in which
 * the place is "" or the root. Of a place in v2 and, elsewhere, in v1's cpuacct, only one can be the job's own:
 * it is v2's, unless that is the root or cpuacct's is not at or above it; then nothing of v2 is read.
 * 0, an outcome, or a negative errno: -EMFILE, -ENFILE, -ENOMEM. The tree must outlive the group.
 */
int cgroup_open(Cgroup **ret, CgroupTree *tree, const CgroupPlace *place);
Cgroup *cgroup_free(Cgroup *cgroup);
DEFINE_SCOPED(Cgroup, cgroup_free);

/* Reads all of it at `boottime_ns`. 0, or CGROUP_GONE when the group was removed (then *ret is untouched). No allocation
 * but for a disk never seen before. */
int cgroup_read(Cgroup *cgroup, uint64_t boottime_ns, CgroupSample *ret);

/* cgroup.events of v2, to be watched for POLLPRI; -1 where there is none. Borrowed. cgroup_is_populated() reads it, which
 * is what takes the event; without it, a group counts as populated until it is removed. */
int cgroup_events_fd(const Cgroup *cgroup);
bool cgroup_is_populated(const Cgroup *cgroup);

/* The path for people: the v2 path, else the memory or cpu one. Borrowed. */
const char *cgroup_path(const Cgroup *cgroup);
