/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Devices: counters of disks and interfaces, followed by name
 *
 * Each device counts from 0 since it was plugged in. What it counted between two
 * readings is not always the difference:
 *
 *   went up              the difference
 *   went round           a counter of 32 bits (of sectors, for a disk's bytes) that was in its upper
 *                        half and is in its lower now, at a rate such hardware can reach: the
 *                        difference modulo 2^32
 *   went back a little   by less than 1 %, which some drivers' sums do: nothing, until it passes
 *                        its old value
 *   began anew           anything else: the device counts from 0, all its counters do, so the new
 *                        values are what it counted
 *   appeared             likewise, if the list could be read last time; else it may have been there
 *                        before, and starts at its present values
 *
 * A value that no device can have reached since the last reading (an interface that comes out of a
 * container) was not counted from 0: the device starts at its present values. So does one whose
 * class changed. A physical device that is gone is remembered, since interfaces lent to a container
 * come back with their counters; a virtual one is forgotten, since their names do not end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/sample.h"

#define DEVICE_COUNTERS_MAX 4

typedef struct Device {
        char name[DEVICE_NAME_MAX];
        uint8_t class; /* DiskClass or NetClass */
        bool is_present;    /* in the reading that is going on */
        uint64_t counters[DEVICE_COUNTERS_MAX];
} Device;

/* A zeroed one is empty. */
typedef struct DeviceTable {
        Device *devices; /* owned */
        size_t n, n_allocated;
        size_t next;      /* where the next device probably is: they come in the same order each time */
        uint64_t read_ns; /* of the last reading, CLOCK_BOOTTIME */
} DeviceTable;

/* Gone devices kept in the hope that they come back. */
#define DEVICES_GONE_MAX 256U

void device_table_deinit(DeviceTable *table);

typedef struct DeviceUnit {
        uint64_t unit;      /* what the hardware counts in, in that of our value: 512 for bytes counted in sectors */
        uint64_t max_per_s; /* which hardware with counters of 32 bits cannot exceed */
} DeviceUnit;

typedef struct DeviceReading {
        DeviceTable *table;
        const DeviceUnit *units; /* one for each counter */
        size_t n_counters;
        uint8_t remembered_class; /* devices of this class are kept when they are gone */
        uint64_t boottime_ns;
        bool was_read; /* the list could be read last time as well */
} DeviceReading;

/*
 * One reading: begin, add each device, end. device_reading_add() gives what the device counted since
 * the last reading; true when its counters began anew. Room must have been reserved.
 */
void device_reading_begin(const DeviceReading *reading);
bool device_reading_add(const DeviceReading *reading, const Device *now, uint64_t ret[static DEVICE_COUNTERS_MAX]);
void device_reading_end(const DeviceReading *reading);
