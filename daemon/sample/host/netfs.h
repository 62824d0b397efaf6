/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Network file systems: NFS (proc/self/mountstats), Lustre and CephFS
 *
 * An item is a superblock, named by the mount point at which it was first seen: a file system that is mounted several
 * times counts once. Nothing is opened or queried below a mount point, since the server may be gone. A node that had
 * one has equipment from then on, so that what it counted is not forgotten when an automounter unmounts it.
 *
 * The first NETFS_LISTED_MAX are items; what all others count is the item NETFS_OTHERS. The kernel writes three
 * kilobytes for each mount of NFS 4: the text of hundreds is not read with each sample.
 */

#include "measure/equipment.h"

#define NETFS_LISTED_MAX 64U
#define NETFS_OTHERS "(others)"
#define NETFS_PATH_MAX 160 /* of a file with the statistics of a mount */

/* File systems whose statistics are in files of their own. */
typedef struct NetfsFiles {
        const char *type;
        /* Finds the statistics of the i-th mount that its source can be. Returns 0, or the errno and the path of what
         * was tried. */
        int (*find)(int root_fd, const char *source, size_t i, char ret_path[static NETFS_PATH_MAX]);
        /* Sets the values of an item. Returns 0 or TEXT_MALFORMED. */
        int (*parse)(const char *text, SampleEquipment *item, const char **ret_fault);
        const char *leaf, *beside; /* of a file of this name; of another beside it, which is read as well */
} NetfsFiles;

extern const NetfsFiles ceph_files, lustre_files;
