/* SPDX-License-Identifier: Apache-2.0 */
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

/* Paths of a process by hierarchy; "" where a hierarchy does not exist. */
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
int cgroup_tree_find_process(const CgroupTree *tree, int32_t pid, CgroupPlace *ret);

/*
 * A job's own group by one name: "/a/b" is v2's, "cpuacct:/a/b" is v1's. Which of a place's groups is the job's own is
 * cgroup_open()'s rule: v2's, unless that is the root or v1's cpuacct is not at or above it; then cpuacct's. Where both are the
 * root, it is the first other controller of v1 in which the process is in a group, "memory:/a/b".
 */
#define CGROUP_NAME_MAX (CGROUP_PATH_MAX + sizeof("cpuacct:"))

/* 0, or CGROUP_GONE: the root everywhere, which is the node. */
int cgroup_tree_place_name(const CgroupPlace *place, char ret[static CGROUP_NAME_MAX]);
/* And back: the path is taken to be the same in all hierarchies but those that would have named it first; cgroup_open() leaves
 * out the ones in which there is no such group. 0, or CGROUP_MALFORMED: no name of a group, or the root. */
int cgroup_tree_place_from_name(const char *name, CgroupPlace *ret);
/* Makes it the name of the group above. False at the root, where it stays. */
bool cgroup_tree_name_parent(char *name);

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

const char *cgroup_tree_place_path(const CgroupPlace *place, Hierarchy hierarchy);
/* Puts a path into the place. 0, or CGROUP_MALFORMED when it is too long. */
int cgroup_tree_place_set(CgroupPlace *place, Hierarchy hierarchy, const char *path);
/* Whether the job has a group of its own there. */
bool cgroup_tree_place_is_own(const CgroupPlace *place, Hierarchy hierarchy);
/* The one whose group the job is known by; N_HIERARCHIES when it has none. */
Hierarchy cgroup_tree_place_main(const CgroupPlace *place);

/* A path below the mount, "/a/b" or "", as the kernel writes it. 0, or CGROUP_MALFORMED: too long, or nothing is mounted. */
int cgroup_tree_path(const CgroupTree *tree, Hierarchy hierarchy, const char *below, char ret[static CGROUP_PATH_MAX]);

/* The group's directory. 0, CGROUP_GONE, CGROUP_MALFORMED, or a negative errno. */
int cgroup_tree_open(const CgroupTree *tree, Hierarchy hierarchy, const char *path, int *ret_fd);
/* How many groups are above it, the one that is mounted included. 0 where the path is not beneath the mount. */
unsigned cgroup_tree_n_above(const CgroupTree *tree, Hierarchy hierarchy, const char *path);

/* More than any file of a group needs; a longer one (io.stat with thousands of disks) is not taken. */
#define CGROUP_TEXT_MAX ((size_t)256 << 10)

/* A number for each group that is opened, so that those opened together can take turns. */
unsigned cgroup_tree_count(CgroupTree *tree);
/* Room for the text of one file at a time. Borrowed. */
char *cgroup_tree_text(CgroupTree *tree);
CgroupDevices *cgroup_tree_devices(CgroupTree *tree);
