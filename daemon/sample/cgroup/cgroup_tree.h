/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cgroup tree: the mounted hierarchies, and the groups of processes in them
 *
 * Each module that tracks groups needs one tree to find the place of a process. cgroup.c opens the files of groups;
 * the tree also owns the buffer and the device list that all groups share for reading.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/cgroup/cgroup_devices.h"
#include "util/scoped.h"

#define CGROUP_PATH_MAX 512

typedef struct CgroupTree CgroupTree;

/*
 * root: as for the sampler. On a machine without any hierarchy, the tree is empty and nothing is found. Returns 0 or
 * a negative errno.
 */
int cgroup_tree_new(CgroupTree **ret, const char *root);
CgroupTree *cgroup_tree_free(CgroupTree *tree);
DEFINE_SCOPED(CgroupTree, cgroup_tree_free);

/* Paths of a process in each hierarchy; "" if the hierarchy does not exist. */
typedef struct CgroupPlace {
        char v2[CGROUP_PATH_MAX];
        char cpu[CGROUP_PATH_MAX], cpuacct[CGROUP_PATH_MAX], cpuset[CGROUP_PATH_MAX], memory[CGROUP_PATH_MAX],
                blkio[CGROUP_PATH_MAX], pids[CGROUP_PATH_MAX]; /* v1 hierarchies */
} CgroupPlace;

/* Outcomes. */
enum {
        CGROUP_GONE = 1,   /* the process or group does not exist (any more), or is in the root group only, which is
                            * the node */
        CGROUP_MALFORMED,  /* the path is not beneath the mount point, too long, or contains a symbolic link */
};

/* Reads proc/PID/cgroup of a process. */
int cgroup_tree_find_process(const CgroupTree *tree, int32_t pid, CgroupPlace *ret);

/*
 * The name of a job's own group: "/a/b" in v2, "cpuacct:/a/b" in v1. As in cgroup_open(), the job's own group is the
 * one in v2, unless that is the root or the group in v1's cpuacct is not at or above it; then the one in cpuacct. If
 * both are the root, it is the first other v1 controller in which the process has a group, "memory:/a/b".
 */
#define CGROUP_NAME_MAX (CGROUP_PATH_MAX + sizeof("cpuacct:"))

/* Returns 0, or CGROUP_GONE if all groups are the root, which is the node. */
int cgroup_tree_place_name(const CgroupPlace *place, char ret[static CGROUP_NAME_MAX]);
/*
 * Converts a name back to paths: the path is assumed to be the same in all hierarchies, except in those that would
 * have determined the name; cgroup_open() skips hierarchies without such a group. Returns 0, or CGROUP_MALFORMED if
 * the name is invalid or the root.
 */
int cgroup_tree_place_from_name(const char *name, CgroupPlace *ret);
/* Changes the name to that of the parent group. Returns false without a change for the root. */
bool cgroup_tree_name_parent(char *name);

/* --- functions for cgroup.c --------------------------------------------------------------------- */

typedef enum Hierarchy {
        HIERARCHY_V2,
        HIERARCHY_CPU, /* v1 from here on; several v1 controllers may share a mount */
        HIERARCHY_CPUACCT,
        HIERARCHY_CPUSET,
        HIERARCHY_MEMORY,
        HIERARCHY_BLKIO,
        HIERARCHY_PIDS,
        N_HIERARCHIES,
} Hierarchy;

const char *cgroup_tree_place_path(const CgroupPlace *place, Hierarchy hierarchy);
/* Sets the path in a hierarchy. Returns 0, or CGROUP_MALFORMED if the path is too long. */
int cgroup_tree_place_set(CgroupPlace *place, Hierarchy hierarchy, const char *path);
/* Returns true if the job has a group of its own in the hierarchy. */
bool cgroup_tree_place_is_own(const CgroupPlace *place, Hierarchy hierarchy);
/* Returns the hierarchy that determines the name of the job's group; N_HIERARCHIES if the job has none. */
Hierarchy cgroup_tree_place_main(const CgroupPlace *place);

/*
 * Makes the kernel's path from a path below the mount point, "/a/b" or "". Returns 0, or CGROUP_MALFORMED if the path
 * is too long or the hierarchy is not mounted.
 */
int cgroup_tree_path(const CgroupTree *tree, Hierarchy hierarchy, const char *below, char ret[static CGROUP_PATH_MAX]);

/* Opens the group's directory. Returns 0, CGROUP_GONE, CGROUP_MALFORMED, or a negative errno. */
int cgroup_tree_open(const CgroupTree *tree, Hierarchy hierarchy, const char *path, int *ret_fd);
/*
 * Returns the number of groups above, up to and including the mount point. 0 if the path is not beneath the mount
 * point.
 */
unsigned cgroup_tree_n_above(const CgroupTree *tree, Hierarchy hierarchy, const char *path);

/* Larger than any usual file of a group; a longer one (io.stat with thousands of disks) is not read. */
#define CGROUP_TEXT_MAX ((size_t)256 << 10)

/* Returns false if the root has no cgroups. */
bool cgroup_tree_is_mounted(const CgroupTree *tree);
/* Returns a different number for each group that is opened, used to spread expensive reads over time. */
unsigned cgroup_tree_count(CgroupTree *tree);
/* Returns the buffer for the text of one file. Borrowed. */
char *cgroup_tree_text(CgroupTree *tree);
CgroupDevices *cgroup_tree_devices(CgroupTree *tree);
