/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/diskstats: disk traffic
 *
 * Covers whole devices, which have a directory of their own in sys/block. Partitions are skipped (their traffic is
 * included in the disk's), and so are paths hidden by NVMe multipath.
 *
 * A device is virtual if it is stacked on others (has entries in slaves/) or is not backed by hardware (has no device
 * link, and is below devices/virtual in sysfs): dm, md, loop, zram, nbd, drbd. Traffic of virtual devices is also
 * counted on the disks below, or reaches no disk. A virtual device without size and I/O, such as an unused loop
 * device, is skipped.
 *
 * Without sys/block, as in some containers, devices are classified by name: partitions are sda1, nvme0n1p1 and the
 * like; virtual devices are dm-*, md*, loop*, ram*, zram*, nbd*, drbd*, bcache* and zd*; nvme0c0n1 is a hidden path.
 */

#include "sample/devices.h"

/*
 * Fills disks and n_disks, which is 0 on failure. Rebuilds the list from sys/block under root_fd if the text has
 * other devices. Returns 0, TEXT_MALFORMED or -ENOMEM.
 */
int diskstats_parse(const char *text, int root_fd, DeviceList *list, Sample *sample, const char **ret_fault);
