/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Devices: counters of disks and interfaces, tracked by name
 *
 * Counters of a device start at 0 when it is plugged in. The amount counted between two readings is not always their
 * difference:
 *
 *   increased            the difference
 *   wrapped              a 32-bit counter (of sectors, for a disk's bytes) was in its upper half and is
 *                        now in its lower half, at a rate such hardware can reach: the difference
 *                        modulo 2^32
 *   decreased slightly   by less than 1 %, as sums of some drivers do: nothing, until the old value is
 *                        exceeded
 *   reset                all other decreases: the device and all its counters started at 0 again, so
 *                        the new values are counted
 *   appeared             as a reset, if the list could be read last time; otherwise the device may have
 *                        existed before, and counting starts at its present values
 *
 * If a value is too large to have been counted since the last reading (an interface that leaves a container),
 * counting starts at the present values. The same applies if the class changes. A physical device that disappears is
 * kept, since an interface lent to a container returns with its counters; a virtual one is dropped, since the number
 * of virtual names is unbounded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/sample.h"

#define DEVICE_COUNTERS_MAX ((size_t)N_DISK_COUNTED > (size_t)N_NET_COUNTED ? (size_t)N_DISK_COUNTED : (size_t)N_NET_COUNTED)

typedef struct Device {
        char name[DEVICE_NAME_MAX];
        uint8_t class; /* DiskClass or NetClass */
        bool is_present;    /* listed in the current reading */
        uint64_t counters[DEVICE_COUNTERS_MAX];
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

typedef struct DeviceUnit {
        uint64_t unit;      /* size of the hardware's unit in units of the value: 512 for bytes counted in sectors */
        uint64_t max_per_s; /* maximum rate of hardware with 32-bit counters */
} DeviceUnit;

typedef struct DeviceReading {
        DeviceTable *table;
        const DeviceUnit *units; /* one per counter */
        size_t n_counters;
        uint8_t remembered_class; /* devices of this class are kept after they disappear */
        uint64_t boottime_ns;
        bool was_read; /* the list could be read the last time as well */
} DeviceReading;

/*
 * One reading: begin, add each device, end. device_reading_add() writes what the device counted since the last
 * reading, and returns true if its counters were reset. The table must have been reserved.
 */
void device_reading_begin(const DeviceReading *reading);
bool device_reading_add(const DeviceReading *reading, const Device *now, uint64_t ret[static DEVICE_COUNTERS_MAX]);
void device_reading_end(const DeviceReading *reading);
