/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/account.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "util/array.h"

static const Source kernel_sources[N_KERNEL_COUNTERS] = {
#define X(id, source, ...) [KERNEL_##id] = SOURCE_##source,
        KERNEL_COUNTERS(X)
#undef X
};

/* The total of a counter of a class; NO_TOTAL if there is none. The first total is a counter of the kernel. */
#define NO_TOTAL ((Total)0)

static const Total disk_totals[N_DISK_CLASSES][N_DISK_COUNTED] = {
#define X(id, class, member) [DISK_##class][DISK_COUNTED_##member] = TOTAL_##id,
        DISK_TOTALS(X)
#undef X
};

static const Total net_totals[N_NET_CLASSES][N_NET_COUNTED] = {
#define X(id, class, member) [NET_##class][NET_COUNTED_##member] = TOTAL_##id,
        NET_TOTALS(X)
#undef X
};

#define X(member, decimals, family, family_unit, help, ...) { __VA_ARGS__ },
static const DeviceUnit disk_units[] = { DISK_COUNTED(X) }, net_units[] = { NET_COUNTED(X) };
#undef X

_Static_assert(TOTAL_CPU_GUEST_NICE - TOTAL_CPU_USER == CPU_GUEST_NICE - CPU_USER, "CPU totals are in the order of the modes");

_Static_assert(TOTAL_CPU_USER + N_CPU_MODES == ACCOUNT_N_RAW, "the kernel's counters and the CPU modes come first");

void account_deinit(Account *account) {
        device_table_deinit(&account->disks);
        device_table_deinit(&account->nets);
        *account = (Account){};
}

/* A sample usually has the same devices as the last one, but all of them can be new. */
int account_reserve(Account *account, const Sample *sample) {
        size_t n_disks = sample_has(sample, SOURCE_DISKSTATS) ? sample->n_disks : 0;
        size_t n_nets = sample_has(sample, SOURCE_NETDEV) ? sample->n_nets : 0;
        int r;

        r = ARRAY_RESERVE(account->disks.devices, account->disks.n_allocated, account->disks.n + n_disks);
        return r < 0 ? r : ARRAY_RESERVE(account->nets.devices, account->nets.n_allocated, account->nets.n + n_nets);
}

static bool has_read(const Account *account, Source source) {
        return account->known & (1U << source);
}

static void advance_cpu(Account *account, const Sample *sample) {
        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++) {
                Total total = (Total)(TOTAL_CPU_USER + mode);
                uint64_t *raw = &account->raw[total], now = sample->cpu.ticks[mode];

                if (!has_read(account, SOURCE_STAT) || now >= *raw) {
                        account->totals.value[total] += has_read(account, SOURCE_STAT) ? now - *raw : 0;
                        *raw = now;
                } else if (*raw - now >= ACCOUNT_CPU_RESET_TICKS) {
                        account->n_counter_resets++;
                        *raw = now;
                }
        }
}

static void advance_counters(Account *account, const Sample *sample) {
        for (KernelCounter counter = 0; counter < N_KERNEL_COUNTERS; counter++) {
                uint64_t *raw = &account->raw[counter], now = sample->counter[counter];

                if (!sample_has(sample, kernel_sources[counter]))
                        continue;
                if (has_read(account, kernel_sources[counter])) {
                        account->totals.value[counter] += now >= *raw ? now - *raw : 0;
                        account->n_counter_resets += now < *raw;
                }
                *raw = now;
        }
}

static void add_device(Account *account, const DeviceReading *reading, const Device *now, const Total *totals) {
        uint64_t counted[DEVICE_COUNTERS_MAX];

        account->n_counter_resets += device_reading_add(reading, now, counted);
        for (size_t i = 0; i < reading->n_counters; i++)
                if (totals[i] != NO_TOTAL)
                        account->totals.value[totals[i]] += counted[i];
}

static void advance_disks(Account *account, const Sample *sample, bool was_read) {
        const DeviceReading reading = {
                .table = &account->disks,
                .units = disk_units,
                .n_counters = N_ELEMENTS(disk_units),
                .remembered_class = DISK_PHYSICAL,
                .boottime_ns = sample->boottime_ns,
                .was_read = was_read,
        };

        device_reading_begin(&reading);
        for (size_t i = 0; i < sample->n_disks; i++) {
                const SampleDisk *disk = &sample->disks[i];
                Device now = {
                        .class = (uint8_t)disk->class,
#define X(member, ...) .counters[DISK_COUNTED_##member] = disk->member,
                        DISK_COUNTED(X)
#undef X
                };

                assert(disk->class < N_DISK_CLASSES);
                memcpy(now.name, disk->name, sizeof(now.name));
                add_device(account, &reading, &now, disk_totals[disk->class]);
        }
        device_reading_end(&reading);
}

static void advance_nets(Account *account, const Sample *sample, bool was_read) {
        const DeviceReading reading = {
                .table = &account->nets,
                .units = net_units,
                .n_counters = N_ELEMENTS(net_units),
                .remembered_class = NET_PHYSICAL,
                .boottime_ns = sample->boottime_ns,
                .was_read = was_read,
        };

        device_reading_begin(&reading);
        for (size_t i = 0; i < sample->n_nets; i++) {
                const SampleNet *net = &sample->nets[i];
                Device now = {
                        .class = (uint8_t)net->class,
#define X(member, ...) .counters[NET_COUNTED_##member] = net->member,
                        NET_COUNTED(X)
#undef X
                };

                assert(net->class < N_NET_CLASSES);
                memcpy(now.name, net->name, sizeof(now.name));
                add_device(account, &reading, &now, net_totals[net->class]);
        }
        device_reading_end(&reading);
}

/* Adds the mean number of CPUs online at both ends of the interval, times the interval. */
static void advance_capacity(Account *account, const Sample *sample) {
        uint32_t n_now = sample_has(sample, SOURCE_STAT) ? sample->n_online : account->n_online;
        uint32_t n_both = n_now + (has_read(account, SOURCE_STAT) ? account->n_online : n_now);
        uint64_t elapsed_ns = sample->boottime_ns - account->totals.boottime_ns;

        if (account->totals.boottime_ns > 0)
                account->totals.value[TOTAL_CAPACITY_NS] += elapsed_ns * (n_both / 2) + elapsed_ns / 2 * (n_both % 2);
        account->n_online = n_now;
}

void account_advance(Account *account, const Sample *sample) {
        Totals *totals = &account->totals;

        advance_capacity(account, sample);
        if (sample_has(sample, SOURCE_STAT))
                advance_cpu(account, sample);
        advance_counters(account, sample);
        if (sample_has(sample, SOURCE_DISKSTATS))
                advance_disks(account, sample, totals->have & (1U << SOURCE_DISKSTATS));
        if (sample_has(sample, SOURCE_NETDEV))
                advance_nets(account, sample, totals->have & (1U << SOURCE_NETDEV));

        totals->boottime_ns = sample->boottime_ns;
        totals->realtime_ns = sample->realtime_ns;
        totals->have = sample->have;
        account->known |= sample->have;
}

/* --- record ----------------------------------------------------------------------------------- */

#define DEVICES_STORED_MAX 65536U

static const RecordField disk_fields[] = {
        RECORD_TEXT_OF(Device, name),
        RECORD_NAME_OF(Device, class, N_DISK_CLASSES, sample_disk_class_names),
#define X(member, ...) RECORD_VALUE_AS(#member, Device, counters[DISK_COUNTED_##member]),
        DISK_COUNTED(X)
#undef X
};

static const RecordField net_fields[] = {
        RECORD_TEXT_OF(Device, name),
        RECORD_NAME_OF(Device, class, N_NET_CLASSES, sample_net_class_names),
#define X(member, ...) RECORD_VALUE_AS(#member, Device, counters[NET_COUNTED_##member]),
        NET_COUNTED(X)
#undef X
};

static const Record disk_record = RECORD(Device, disk_fields), net_record = RECORD(Device, net_fields);

static const RecordField disks_fields[] = {
        RECORD_VALUE(DeviceTable, read_ns),
        RECORD_LIST_OF(DeviceTable, devices, n, DEVICES_STORED_MAX, &disk_record),
};

static const RecordField nets_fields[] = {
        RECORD_VALUE(DeviceTable, read_ns),
        RECORD_LIST_OF(DeviceTable, devices, n, DEVICES_STORED_MAX, &net_record),
};

static const Record disks_record = RECORD(DeviceTable, disks_fields), nets_record = RECORD(DeviceTable, nets_fields);

static const RecordField fields[] = {
        RECORD_STRUCT(Account, totals, &totals_record),
        RECORD_BITS_OF(Account, known, N_SOURCES, sample_source_names),
        RECORD_VALUE(Account, n_online),
        RECORD_COUNTS_OF(Account, raw, total_names),
        RECORD_STRUCT(Account, disks, &disks_record),
        RECORD_STRUCT(Account, nets, &nets_record),
};

const Record account_record = RECORD(Account, fields);
