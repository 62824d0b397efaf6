/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CephFS: statistics of a mount of the kernel's client, below sys/kernel/debug/ceph/FSID.clientN
 *
 * They count requests to the servers, and their bytes since Linux 5.14. Of the times there is only the mean since the
 * mount, of which none of a job can be made. The kernel takes locks for a moment and asks no server. Only root can
 * read the files, unless their group is changed.
 */

#include "measure/equipment.h"
#include "sample/host/mountstats.h"

/*
 * Finds the statistics of the i-th mount that its source can be: "admin@FSID.name=/dir", or "10.0.0.1:6789:/dir", which
 * can be any. Returns 0, or the errno and the path of what was tried.
 */
int ceph_find(int root_fd, const char *source, size_t i, char ret_path[static NETFS_PATH_MAX]);

/* Sets the values of an item from the tables of a file. Returns 0 or TEXT_MALFORMED. */
int ceph_parse(const char *text, SampleEquipment *item, const char **ret_fault);
