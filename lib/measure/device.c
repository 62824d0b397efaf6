/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void device_table_deinit(DeviceTable *table) {
        free(table->devices);
        *table = (DeviceTable){};
}

void device_table_resume(DeviceTable *table) {
        for (size_t i = 0; i < table->n; i++) {
                table->devices[i].seen_ns = table->read_ns;
                for (size_t k = 0; k < DEVICE_COUNTERS_MAX; k++)
                        counter_resume(&table->devices[i].counters[k], table->read_ns);
        }
}

static bool is_same(const Device *device, const DeviceLine *line) {
        return device->id != 0 && line->id != 0 ? device->id == line->id : strcmp(device->name, line->name) == 0;
}

/* is_name: finds a device that had this name, whatever it was. */
static Device *device_find(DeviceTable *table, const DeviceLine *line, bool is_name) {
        for (size_t i = 0; i < table->n; i++) {
                size_t at = (table->next + i) % table->n;
                Device *device = &table->devices[at];

                if (is_name ? device->is_present || strcmp(device->name, line->name) != 0 : !is_same(device, line))
                        continue;
                table->next = at + 1;
                return device;
        }

        return NULL;
}

static void device_count_from(const DeviceReading *reading, Device *device, const DeviceLine *line) {
        for (size_t i = 0; i < reading->n_counters; i++)
                counter_begin(&device->counters[i], line->began_idle ? 0 : line->values[i], reading->boottime_ns);
}

void device_reading_begin(const DeviceReading *reading) {
        for (size_t i = 0; i < reading->table->n; i++)
                reading->table->devices[i].is_present = false;
        reading->table->next = 0;
}

Device *device_reading_add(const DeviceReading *reading, const DeviceLine *line) {
        DeviceTable *table = reading->table;
        Device *device = device_find(table, line, false);
        bool is_known = device && device->class == line->class;

        assert(reading->n_counters <= DEVICE_COUNTERS_MAX);
        if (!device)
                device = device_find(table, line, true);
        if (!device) {
                assert(table->n < table->n_allocated); /* reserved by the caller */
                device = &table->devices[table->n++];
                *device = (Device){};
        }

        if (!is_known)
                device_count_from(reading, device, line);
        memcpy(device->name, line->name, sizeof(device->name));
        device->id = line->id > 0 || !is_known ? line->id : device->id;
        device->class = line->class;
        device->is_present = true;
        device->seen_ns = reading->boottime_ns;
        return device;
}

static bool is_kept(const DeviceReading *reading, const Device *device, size_t *n_gone) {
        if (device->is_present)
                return true;
        if (device->class != reading->remembered_class && reading->boottime_ns - device->seen_ns > COUNTER_DOUBT_NS)
                return false;
        return ++*n_gone <= DEVICES_GONE_MAX;
}

void device_reading_end(const DeviceReading *reading) {
        DeviceTable *table = reading->table;
        size_t n_gone = 0, n_kept = 0;

        for (size_t i = 0; i < table->n; i++) {
                if (!is_kept(reading, &table->devices[i], &n_gone))
                        continue;
                if (n_kept != i)
                        table->devices[n_kept] = table->devices[i];
                n_kept++;
        }

        table->n = n_kept;
        table->read_ns = reading->boottime_ns;
}
