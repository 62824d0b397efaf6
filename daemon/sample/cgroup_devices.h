/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cgroup devices: which disks of a group's I/O count
 *
 * I/O to a stacked device (LVM, md, multipath) is counted for it and for the disks below. It counts once, at the
 * bottom: where any disk below has counted something for the group, the stacked one does not. Loop devices and disks
 * in memory never count: theirs is the I/O of a file, or none.
 */

#include <stddef.h>
#include <stdint.h>

#include "sample/cgroup_parse.h"

/* Devices can be taken away and their numbers given to others. */
#define CGROUP_DEVICE_RECHECK_NS (60 * UINT64_C(1000000000))
#define CGROUP_DEVICE_LOWER_MAX 32

typedef struct CgroupDevice {
        uint64_t major, minor;
        uint64_t checked_ns;
        bool is_disk;                                             /* neither a file nor memory */
        size_t n_lower;
        struct { uint64_t major, minor; } lower[CGROUP_DEVICE_LOWER_MAX]; /* all below, at any depth; more are not needed */
} CgroupDevice;

typedef struct CgroupDevices {
        CgroupDevice *items; /* owned */
        size_t n, n_allocated;
        int block_fd; /* owned: sys/dev/block; -1 where there is no sysfs: then every device counts */
} CgroupDevices;

void cgroup_devices_init(CgroupDevices *devices, int root_fd);
void cgroup_devices_deinit(CgroupDevices *devices);

/* Adds up the text of io.stat or of blkio's files into the fields that the file has. ret->boottime_ns is now. 0,
 * TEXT_MALFORMED (then *ret is untouched) or -ENOMEM. Allocates only for a device never seen before. */
int cgroup_devices_sum(CgroupDevices *devices, CgroupFile file, const char *text, CgroupSample *ret);
