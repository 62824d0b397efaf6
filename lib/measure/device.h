/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Devices: counters of disks and interfaces, tracked by identity
 *
 * A device is known by its number (disks) or index (interfaces), and by its name only where that is unknown. It
 * counts from its first reading, which may include what it counted elsewhere: an interface that leaves a container,
 * a disk that was plugged in. Only a disk that was listed before, unused, counts from 0. Another device of the same
 * name, or one whose class changed, is a new device, whose series on /metrics continues. A device that disappears is
 * kept for COUNTER_DOUBT_NS, and one backed by hardware as long as there is
 * room: an interface lent to a container returns with its counters.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/counter.h"
#include "measure/sample.h"

#define DEVICE_COUNTERS_MAX                                                                                            \
        ((size_t)N_DISK_COUNTERS > (size_t)N_NET_COUNTERS ? (size_t)N_DISK_COUNTERS : (size_t)N_NET_COUNTERS)

typedef struct Device {
        char name[DEVICE_NAME_MAX];
        uint64_t id;        /* of SampleDisk or SampleNet; 0: unknown */
        uint8_t class;      /* DiskClass or NetClass */
        bool is_present;    /* listed in the current reading */
        uint64_t seen_ns;   /* time of its last reading */
        Counter counters[DEVICE_COUNTERS_MAX];
} Device;

/* Initialize with zeros. */
typedef struct DeviceTable {
        Device *devices; /* owned */
        size_t n, n_allocated;
        size_t next;      /* expected index of the next device: the order rarely changes */
        uint64_t read_ns; /* time of the last reading, CLOCK_BOOTTIME */
} DeviceTable;

/* Maximum number of disappeared devices to keep. */
#define DEVICES_GONE_MAX 256U

void device_table_deinit(DeviceTable *table);
/* Continues a table of which only identities and counters are known. */
void device_table_resume(DeviceTable *table);

/* A line of the kernel's list of devices. */
typedef struct DeviceLine {
        const char *name; /* DEVICE_NAME_MAX bytes */
        uint64_t id;
        uint8_t class;
        bool began_idle; /* listed before with counters of 0 */
        double scale;    /* of the limits' max_per_s */
        uint64_t values[DEVICE_COUNTERS_MAX];
} DeviceLine;

typedef struct DeviceReading {
        DeviceTable *table;
        const CounterLimit *limits; /* one per counter */
        size_t n_counters;
        uint8_t remembered_class; /* devices of this class are kept after they disappear */
        uint64_t boottime_ns;
} DeviceReading;

/*
 * One reading: begin, add each device, end. device_reading_add() returns the device, borrowed until the next call;
 * the caller advances its counters, which have begun. The table must have been reserved.
 */
void device_reading_begin(const DeviceReading *reading);
Device *device_reading_add(const DeviceReading *reading, const DeviceLine *line);
void device_reading_end(const DeviceReading *reading);
