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

#define NETFS_LISTED_MAX 64U
#define NETFS_OTHERS "(others)"
