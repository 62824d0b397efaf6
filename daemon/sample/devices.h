/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Device list: what sysfs says about the devices of a kernel file
 *
 * One entry per line of proc/diskstats or proc/net/dev, in the order of the file. Looking into sysfs
 * costs more than everything else in a tick, and the answer never changes for a device: so a parser
 * compares each line with the entry at its place, and only other names make the list be built again.
 */

#include <stdbool.h>
#include <stddef.h>

#include "measure/sample.h"

typedef struct DeviceListEntry {
        char name[DEVICE_NAME_MAX];
        size_t n_name;
        bool left_out; /* its line is stepped over: a partition, a hidden path */
        bool without_medium; /* has no size: left out until it has done I/O */
        union {
                DiskClass disk;
                NetClass net;
        } class;
} DeviceListEntry;

typedef struct DeviceList {
        DeviceListEntry *items; /* owned */
        size_t n, n_allocated;
} DeviceList;

/* A zeroed list is valid and empty. */
void device_list_deinit(DeviceList *list);
/*
 * The device at place i, n_name < DEVICE_NAME_MAX. `is_new`: puts a device there with nothing but its name, and ends the list with
 * it. 0, DEVICE_LIST_OTHER when another device is there, or -ENOMEM. *ret is borrowed until the next device.
 */
enum {
        DEVICE_LIST_OTHER = 100, /* clear of the outcomes of texts */
};
int device_list_take(DeviceList *list, size_t i, const char *name, size_t n_name, bool is_new, DeviceListEntry **ret);

/*
 * Questions to a sysfs directory, sys/block or sys/class/net. A device's leaf may be a link
 * to somewhere: that it is there is what counts, not where it leads.
 */
bool device_has(int dir_fd, const char *name, const char *leaf);
bool device_has_entries(int dir_fd, const char *name, const char *leaf);
/* The number in a file; 0 when there is none. */
uint64_t device_number(int dir_fd, const char *name, const char *leaf);
