/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Device list: properties of devices found in sysfs
 *
 * Contains one entry per line of proc/diskstats or proc/net/dev, in the order of the file. Reading sysfs costs more
 * than all other work of a tick, and the properties of a device never change: a parser compares each line with the
 * entry at the same index, and rebuilds the list only if a name differs.
 */

#include <stdbool.h>
#include <stddef.h>

#include "measure/sample.h"

typedef struct DeviceListEntry {
        char name[DEVICE_NAME_MAX];
        size_t n_name;
        bool is_skipped; /* the line is skipped: a partition, or a path hidden by multipath */
        bool without_medium; /* size 0: skipped until the device has done I/O */
        bool was_idle;       /* skipped before, because of this */
        uint64_t ifindex, bytes_per_s; /* of an interface; 0: unknown */
        uint64_t received_bytes, sent_bytes, read_ns; /* of an interface: at the last reading */
        union {
                DiskClass disk;
                NetClass net;
        } class;
} DeviceListEntry;

typedef struct DeviceList {
        DeviceListEntry *items; /* owned */
        size_t n, n_allocated;
} DeviceList;

/* Releases a list; an empty list is all zeros. */
void device_list_deinit(DeviceList *list);
/*
 * Returns the device at index i; n_name < DEVICE_NAME_MAX. is_new: replaces the entry with an empty one of this
 * name, and truncates the list after it. Returns 0, DEVICE_LIST_OTHER of kernel_text.h if the entry is another
 * device, or -ENOMEM. *ret is borrowed until the next device.
 */
int device_list_take(DeviceList *list, size_t i, const char *name, size_t n_name, bool is_new, DeviceListEntry **ret);

/*
 * Queries for a sysfs directory, sys/block or sys/class/net. Only the existence of a device's leaf matters, not the
 * target if it is a link.
 */
bool device_has(int dir_fd, const char *name, const char *leaf);
bool device_has_entries(int dir_fd, const char *name, const char *leaf);
/* Returns the number in a file; 0 if there is none. */
uint64_t device_number(int dir_fd, const char *name, const char *leaf);
