/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define HALF_OF_32_BITS (UINT64_C(1) << 31)
#define ALL_OF_32_BITS (UINT64_C(1) << 32)

/* upper limit of a plausible rate: 128 GiB/s is more than any interface or disk reaches */
#define MAX_PER_S (UINT64_C(1) << 37)

typedef enum Step {
        STEP_UP,
        STEP_WRAP,
        STEP_DECREASE,
        STEP_RESET,
} Step;

void device_table_deinit(DeviceTable *table) {
        free(table->devices);
        *table = (DeviceTable){};
}

static Device *device_find(DeviceTable *table, const char *name) {
        for (size_t i = 0; i < table->n; i++) {
                size_t at = (table->next + i) % table->n;

                if (strcmp(table->devices[at].name, name) != 0)
                        continue;
                table->next = at + 1;
                return &table->devices[at];
        }

        return NULL;
}

/* Returns true if `amount` can be counted at max_per_s since the last reading. */
static bool is_plausible(const DeviceReading *reading, uint64_t amount, uint64_t max_per_s) {
        double seconds = (double)(reading->boottime_ns - reading->table->read_ns) / (double)NS_PER_S;

        return (double)amount <= seconds * (double)max_per_s;
}

static bool is_wrap(const DeviceReading *reading, const DeviceUnit *unit, uint64_t before, uint64_t now) {
        uint64_t old = before / unit->unit, new = now / unit->unit;

        return old >= HALF_OF_32_BITS && old < ALL_OF_32_BITS && new < HALF_OF_32_BITS &&
               is_plausible(reading, now + ALL_OF_32_BITS * unit->unit - before, unit->max_per_s);
}

static Step step_of(const DeviceReading *reading, size_t counter, uint64_t before, uint64_t now) {
        if (now >= before)
                return STEP_UP;
        if (is_wrap(reading, &reading->units[counter], before, now))
                return STEP_WRAP;
        if (before - now < before / 100)
                return STEP_DECREASE;
        return STEP_RESET;
}

/* Counts everything since the device appeared, unless the amount is implausible. */
static void count_all(const DeviceReading *reading, const Device *now, uint64_t ret[static DEVICE_COUNTERS_MAX]) {
        for (size_t i = 0; i < reading->n_counters; i++)
                if (!is_plausible(reading, now->counters[i], MAX_PER_S))
                        return;
        memcpy(ret, now->counters, reading->n_counters * sizeof(*ret));
}

static bool was_reset(const DeviceReading *reading, const Device *before, const Device *now) {
        for (size_t i = 0; i < reading->n_counters; i++)
                if (step_of(reading, i, before->counters[i], now->counters[i]) == STEP_RESET)
                        return true;
        return false;
}

/* Counts the differences of counters that continued, and stores the new values in `device`. */
static void count_steps(const DeviceReading *reading, Device *device, const Device *now,
                        uint64_t ret[static DEVICE_COUNTERS_MAX]) {
        for (size_t i = 0; i < reading->n_counters; i++) {
                uint64_t before = device->counters[i], after = now->counters[i];

                switch (step_of(reading, i, before, after)) {
                case STEP_UP:
                        ret[i] = after - before;
                        break;
                case STEP_WRAP:
                        ret[i] = after + ALL_OF_32_BITS * reading->units[i].unit - before;
                        break;
                case STEP_DECREASE:
                case STEP_RESET:
                        continue;
                }
                device->counters[i] = after;
        }
}

static void device_replace(Device *device, const Device *now) {
        *device = *now;
        device->is_present = true;
}

void device_reading_begin(const DeviceReading *reading) {
        for (size_t i = 0; i < reading->table->n; i++)
                reading->table->devices[i].is_present = false;
        reading->table->next = 0;
}

bool device_reading_add(const DeviceReading *reading, const Device *now, uint64_t ret[static DEVICE_COUNTERS_MAX]) {
        DeviceTable *table = reading->table;
        Device *device = device_find(table, now->name);

        assert(reading->n_counters <= DEVICE_COUNTERS_MAX);
        memset(ret, 0, DEVICE_COUNTERS_MAX * sizeof(*ret));

        if (!device) {
                assert(table->n < table->n_allocated); /* reserved by the caller */
                if (reading->was_read)
                        count_all(reading, now, ret);
                device_replace(&table->devices[table->n++], now);
                return false;
        }

        if (device->class != now->class) {
                device_replace(device, now);
                return false;
        }

        if (was_reset(reading, device, now)) {
                count_all(reading, now, ret);
                device_replace(device, now);
                return true;
        }

        count_steps(reading, device, now, ret);
        device->is_present = true;
        return false;
}

void device_reading_end(const DeviceReading *reading) {
        DeviceTable *table = reading->table;
        size_t n_gone = 0, n_kept = 0;

        for (size_t i = 0; i < table->n; i++) {
                const Device *device = &table->devices[i];

                if (!device->is_present && (device->class != reading->remembered_class || ++n_gone > DEVICES_GONE_MAX))
                        continue;
                if (n_kept != i)
                        table->devices[n_kept] = *device;
                n_kept++;
        }

        table->n = n_kept;
        table->read_ns = reading->boottime_ns;
}
