#pragma once

/*
 * Cgroup tree: the mounted hierarchies, and places in them
 *
 * What of cgroup.h has to do with mounts and paths; for cgroup.c alone.
 */

#include "sample/cgroup.h"
#include "sample/cgroup_devices.h"

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

/* More than any file of a group needs; a longer one (io.stat with thousands of disks) is not taken. */
#define CGROUP_TEXT_MAX ((size_t)256 << 10)

typedef struct CgroupMount {
        int fd;                     /* owned; -1: not mounted */
        char root[CGROUP_PATH_MAX]; /* the group that is seen at the mount: "/" unless a container has a part only */
} CgroupMount;

struct CgroupTree {
        int root_fd;
        CgroupMount mounts[N_HIERARCHIES];
        CgroupDevices devices;
        char *text; /* owned; CGROUP_TEXT_MAX bytes, what was read last */
};

const char *cgroup_place_path(const CgroupPlace *place, Hierarchy hierarchy);

/* The group's directory. 0, CGROUP_GONE, CGROUP_MALFORMED, or a negative errno. */
int cgroup_tree_open(const CgroupTree *tree, Hierarchy hierarchy, const char *path, int *ret_fd);
