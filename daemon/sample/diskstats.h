/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/diskstats: disk traffic
 *
 * Whole devices only: what has a directory of its own in sys/block. Partitions are left out (their
 * traffic is the disk's), and so are hidden paths below a multipath NVMe device.
 *
 * A device is virtual when it lies on others (it has entries in slaves/) or has no hardware behind it
 * (no device link, and sysfs keeps it under devices/virtual): dm, md, loop, zram, nbd, drbd. Their traffic
 * is counted on the disks below as well, or reaches none. A virtual device without size and I/O, such as an
 * unused loop device, is left out.
 *
 * Without a sys/block, as in some containers, names decide: partitions are sda1, nvme0n1p1 and the like;
 * virtual are dm-*, md*, loop*, ram*, zram*, nbd*, drbd*, bcache* and zd*; nvme0c0n1 is a hidden path.
 */

#include "sample/devices.h"

/*
 * Fills disks and n_disks, which is 0 unless 0 is returned. The list is built anew from sys/block under root_fd when the text has
 * other devices. 0, TEXT_MALFORMED or -ENOMEM.
 */
int diskstats_parse(const char *text, int root_fd, DeviceList *list, Sample *sample, const char **ret_fault);
