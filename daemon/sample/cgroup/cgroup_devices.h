/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cgroup devices: selects the disks whose I/O counts for a group
 *
 * The kernel counts I/O to a stacked device (LVM, md, multipath) for the device and for the disks below. It is
 * included once, at the lowest level: a stacked device is excluded if any disk below has counted I/O of the group.
 * Loop devices and memory disks are always excluded: their I/O is that of a file, or none.
 */

#include <stddef.h>
#include <stdint.h>

#include "sample/cgroup/cgroup_parse.h"

/* Interval between checks of a device: a device number may be reused for another device. */
#define CGROUP_DEVICE_RECHECK_NS (60 * UINT64_C(1000000000))
#define CGROUP_DEVICE_LOWER_MAX 32

typedef struct CgroupDevice {
        uint64_t major, minor;
        uint64_t checked_ns;
        bool is_disk;                                             /* not a loop device or a memory disk */
        size_t n_lower;
        /* all devices below, at any depth; further ones are ignored */
        struct { uint64_t major, minor; } lower[CGROUP_DEVICE_LOWER_MAX];
} CgroupDevice;

typedef struct CgroupDevices {
        CgroupDevice *items; /* owned */
        size_t n, n_allocated;
        uint64_t n_skipped; /* lines of no device, such as "(unknown)", or cut short */
        int block_fd; /* owned: sys/dev/block; -1 without sysfs: all devices are included */
} CgroupDevices;

void cgroup_devices_init(CgroupDevices *devices, int root_fd);
void cgroup_devices_deinit(CgroupDevices *devices);

/*
 * Sums up the text of io.stat or of blkio's files into the fields of the file. ret->boottime_ns must be the current
 * time. Lines that are malformed are skipped. Returns 0, TEXT_MALFORMED (no line is valid; *ret is unchanged) or
 * -ENOMEM. Allocates only for a new device.
 */
int cgroup_devices_sum(CgroupDevices *devices, CgroupFile file, const char *text, CgroupSample *ret);
