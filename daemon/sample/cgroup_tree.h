#pragma once

/*
 * Cgroup tree: the mounted hierarchies, and places in them
 *
 * Whoever follows groups needs one tree, and gets the place of a process from it. Opening a group in it, and what all
 * groups share while they are read, is for cgroup.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/cgroup_devices.h"
#include "util/scoped.h"

#define CGROUP_PATH_MAX 512

typedef struct CgroupTree CgroupTree;

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

/* --- for cgroup.c ------------------------------------------------------------------------------- */

typedef enum Hierarchy {
        HIERARCHY_V2,
        HIERARCHY_CPU, /* v1 from here on; several of them can be one mount */
        HIERARCHY_CPUACCT,
        HIERARCHY_CPUSET,
        HIERARCHY_MEMORY,
        HIERARCHY_BLKIO,
        HIERARCHY_PIDS,
        N_HIERARCHIES,
} Hierarchy;

const char *cgroup_place_path(const CgroupPlace *place, Hierarchy hierarchy);
/* Puts a path into the place. 0, or CGROUP_MALFORMED when it is too long. */
int cgroup_place_set(CgroupPlace *place, Hierarchy hierarchy, const char *path);

/* The group that is seen where the hierarchy is mounted: "/", unless a container has a part of it only. NULL: it is not mounted. */
const char *cgroup_tree_root(const CgroupTree *tree, Hierarchy hierarchy);

/* The group's directory. 0, CGROUP_GONE, CGROUP_MALFORMED, or a negative errno. */
int cgroup_tree_open(const CgroupTree *tree, Hierarchy hierarchy, const char *path, int *ret_fd);

/* More than any file of a group needs; a longer one (io.stat with thousands of disks) is not taken. */
#define CGROUP_TEXT_MAX ((size_t)256 << 10)

/* Room for the text of one file at a time. Borrowed. */
char *cgroup_tree_text(CgroupTree *tree);
CgroupDevices *cgroup_tree_devices(CgroupTree *tree);
