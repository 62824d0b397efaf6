/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/account.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/clock.h"

static const Source kernel_sources[N_KERNEL_COUNTERS] = {
#define X(id, source, ...) [KERNEL_##id] = SOURCE_##source,
        KERNEL_COUNTERS(X)
#undef X
};

/* The total of a counter of a class; NO_TOTAL if there is none. The first total is a counter of the kernel. */
#define NO_TOTAL ((Total)0)

static const Total disk_totals[N_DISK_CLASSES][N_DISK_COUNTERS] = {
#define X(id, class, member) [DISK_##class][DISK_COUNTER_##member] = TOTAL_##id,
        DISK_TOTALS(X)
#undef X
};

static const Total equipment_totals[N_EQUIPMENT_KINDS][EQUIPMENT_VALUES_MAX] = {
#define X(id, kind, member) [EQUIPMENT_##kind][kind##_##member] = TOTAL_##id,
        EQUIPMENT_TOTALS(X)
#undef X
};

static const Total net_totals[N_NET_CLASSES][N_NET_COUNTERS] = {
#define X(id, class, member) [NET_##class][NET_COUNTER_##member] = TOTAL_##id,
        NET_TOTALS(X)
#undef X
};

/* Events of the kernel, and pages moved, for each CPU. */
#define EVENTS_MAX_PER_S 1e7

/* Drivers read the counters of their hardware once a second. */
#define DEVICE_LAG_S 1
/* The kernel sums up pressure every two seconds. */
#define PRESSURE_LAG_S 3
/* CPUs without ticks, and those of a virtual machine that was paused, are late. */
#define CPU_LAG_S 10

#define X(member, decimals, family, family_unit, help, max, unit, wrap_max) \
        { .kind = COUNTER_DEVICE, .max_per_s = max, .lag_s = DEVICE_LAG_S, .wrap_unit = unit, .wrap_max_per_s = wrap_max },
static const CounterLimit disk_limits[] = { DISK_COUNTERS(X) }, net_limits[] = { NET_COUNTERS(X) };
#undef X

_Static_assert(TOTAL_CPU_GUEST_NICE - TOTAL_CPU_USER == CPU_GUEST_NICE - CPU_USER,
               "CPU totals are in the order of the modes");

_Static_assert(TOTAL_CPU_USER + N_CPU_MODES == ACCOUNT_N_RAW, "the kernel's counters and the CPU modes come first");

/* --- devices --------------------------------------------------------------------------------------- */

/*
 * A device is known by its number (disks) or index (interfaces), and by its name only where that is unknown. It
 * counts from its first reading, which may include what it counted elsewhere: an interface that leaves a container,
 * a disk that was plugged in. Only a disk that was listed before, unused, counts from 0. Another device of the same
 * name, or one whose class changed, is a new device, whose series on /metrics continues. A device that disappears is
 * kept for COUNTER_DOUBT_NS, and one backed by hardware as long as there is
 * room: an interface lent to a container returns with its counters.
 */

/* Maximum number of disappeared devices to keep. */
#define DEVICES_GONE_MAX 256U

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

static void device_table_deinit(DeviceTable *table) {
        free(table->devices);
        *table = (DeviceTable){};
}

/* Continues a table of which only identities and counters are known. */
static void device_table_resume(DeviceTable *table) {
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

/*
 * One reading: begin, add each device, end. device_reading_add() returns the device, borrowed until the next call;
 * the caller advances its counters, which have begun. The table must have been reserved.
 */
static void device_reading_begin(const DeviceReading *reading) {
        for (size_t i = 0; i < reading->table->n; i++)
                reading->table->devices[i].is_present = false;
        reading->table->next = 0;
}

static Device *device_reading_add(const DeviceReading *reading, const DeviceLine *line) {
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

static void device_reading_end(const DeviceReading *reading) {
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

/* --------------------------------------------------------------------------------------------------- */

void account_deinit(Account *account) {
        device_table_deinit(&account->disks);
        device_table_deinit(&account->nets);
        for (EquipmentKind kind = 0; kind < N_EQUIPMENT_KINDS; kind++)
                equipment_table_deinit(&account->equipment[kind]);
        free(account->cpus);
        *account = (Account){};
}

static int reserve_equipment(Account *account, const Sample *sample) {
        size_t n[N_EQUIPMENT_KINDS] = {};
        int r = 0;

        for (size_t i = 0; i < sample->equipment.n; i++)
                n[sample->equipment.items[i].kind]++;
        for (EquipmentKind kind = 0; kind < N_EQUIPMENT_KINDS && r == 0; kind++)
                if (n[kind] > 0)
                        r = equipment_table_reserve(&account->equipment[kind], kind, n[kind]);
        return r;
}

/* A sample usually has the same devices as the last one, but all of them can be new. */
int account_reserve(Account *account, const Sample *sample) {
        size_t n_disks = sample_has(sample, SOURCE_DISKSTATS) ? sample->n_disks : 0;
        size_t n_nets = sample_has(sample, SOURCE_NETDEV) ? sample->n_nets : 0;
        Counter (*cpus)[N_CPU_MODES];
        int r;

        r = ARRAY_RESERVE(account->disks.devices, account->disks.n_allocated, account->disks.n + n_disks);
        if (r == 0)
                r = ARRAY_RESERVE(account->nets.devices, account->nets.n_allocated, account->nets.n + n_nets);
        if (r == 0)
                r = reserve_equipment(account, sample);
        if (r < 0 || sample->n_cpus <= account->n_cpus_allocated)
                return r;

        cpus = reallocarray(account->cpus, sample->n_cpus, sizeof(*cpus));
        if (!cpus)
                return -ENOMEM;
        memset(cpus + account->n_cpus_allocated, 0, (sample->n_cpus - account->n_cpus_allocated) * sizeof(*cpus));
        account->cpus = cpus;
        account->n_cpus_allocated = sample->n_cpus;
        return 0;
}

static bool has_read(const Account *account, Source source) {
        return account->known & (1U << source);
}

/* Advances a counter of a source, which shows the new value in *value. Returns the amount counted. */
static uint64_t advance(Account *account, Source source, Counter *counter, uint64_t *value, uint64_t now_ns,
                        const CounterLimit *limit) {
        bool was_uncertain = counter->is_uncertain;
        uint64_t amount;
        CounterStep step = counter_advance(counter, *value, now_ns, limit, &amount);

        *value = counter->shown;
        account->n_counter_resets += step == COUNTER_FELL;
        account->totals.doubts[source] += (!was_uncertain && counter->is_uncertain) || step == COUNTER_LOST;
        account->totals.doubts[source] -= was_uncertain && !counter->is_uncertain && step == COUNTER_COUNTED;
        return amount;
}

static CounterLimit limit_of_cpus(uint32_t n_cpus) {
        return (CounterLimit){ .kind = COUNTER_TIME, .max_per_s = TICKS_PER_S * (double)n_cpus, .lag_s = CPU_LAG_S,
                               .slight = ACCOUNT_CPU_RESET_TICKS };
}

static void advance_cpu_sum(Account *account, Sample *sample, uint32_t n_cpus) {
        const CounterLimit limit = limit_of_cpus(n_cpus);

        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++) {
                Total total = (Total)(TOTAL_CPU_USER + mode);

                account->totals.value[total] += advance(account, SOURCE_STAT, &account->counters[total],
                                                        &sample->cpu.ticks[mode], sample->boottime_ns, &limit);
        }
}

/* The times of a CPU are unknown if they grew too far, or if they fell, and the others do not account for most of
 * the time since. */
static void advance_one_cpu(Counter counters[static N_CPU_MODES], SampleCpu *cpu, uint64_t now_ns) {
        const CounterLimit limit = limit_of_cpus(1);
        uint64_t since_ns = counters[0].last_ns, sum = 0;
        bool fell = false, leapt = false;

        for (CpuMode mode = 0; mode < N_CPU_MODES; mode++) {
                uint64_t amount;
                CounterStep step = counter_advance(&counters[mode], cpu->times.ticks[mode], now_ns, &limit, &amount);

                cpu->times.ticks[mode] = counters[mode].shown;
                fell |= step != COUNTER_COUNTED;
                leapt |= step == COUNTER_LEAPT;
                sum += amount;
        }
        cpu->is_doubtful = leapt ||
                           (fell && (double)sum < (double)(now_ns - since_ns) / (double)NS_PER_S * TICKS_PER_S / 2);
}

void account_advance_cpus(Account *account, Sample *sample) {
        for (size_t i = 0; i < sample->n_cpus; i++)
                if (sample->cpus[i].online)
                        advance_one_cpu(account->cpus[i], &sample->cpus[i], sample->boottime_ns);
}

static void advance_counters(Account *account, Sample *sample, uint32_t n_cpus) {
        const CounterLimit number = { .kind = COUNTER_NUMBER,
                                      .max_per_s = EVENTS_MAX_PER_S * (double)n_cpus,
                                      .lag_s = 1 };
        const CounterLimit pressure = { .kind = COUNTER_TIME,
                                        .max_per_s = 1e6 * (double)n_cpus,
                                        .lag_s = PRESSURE_LAG_S };

        for (KernelCounter counter = 0; counter < N_KERNEL_COUNTERS; counter++)
                if (sample_has(sample, kernel_sources[counter]))
                        account->totals.value[counter] += advance(
                                account, kernel_sources[counter], &account->counters[counter],
                                &sample->counter[counter], sample->boottime_ns,
                                kernel_sources[counter] >= SOURCE_PSI_CPU ? &pressure : &number);
}

/* Adds a device, and replaces the values of its line. */
static void add_device(Account *account, Source source, const DeviceReading *reading, DeviceLine *line,
                       const Total *totals) {
        Device *device = device_reading_add(reading, line);

        for (size_t i = 0; i < reading->n_counters; i++) {
                CounterLimit limit = reading->limits[i];
                uint64_t amount;

                limit.max_per_s *= line->scale;
                amount = advance(account, source, &device->counters[i], &line->values[i], reading->boottime_ns, &limit);
                if (totals[i] != NO_TOTAL)
                        account->totals.value[totals[i]] += amount;
        }
}

static void advance_disks(Account *account, Sample *sample) {
        const DeviceReading reading = {
                .table = &account->disks,
                .limits = disk_limits,
                .n_counters = N_ELEMENTS(disk_limits),
                .remembered_class = DISK_PHYSICAL,
                .boottime_ns = sample->boottime_ns,
        };

        device_reading_begin(&reading);
        for (size_t i = 0; i < sample->n_disks; i++) {
                SampleDisk *disk = &sample->disks[i];
                DeviceLine line = { .name = disk->name,
                                    .id = disk->id,
                                    .class = (uint8_t)disk->class,
                                    .began_idle = disk->began_idle,
                                    .scale = 1,
#define X(member, ...) .values[DISK_COUNTER_##member] = disk->member,
                                    DISK_COUNTERS(X)
#undef X
                };

                assert(disk->class < N_DISK_CLASSES);
                add_device(account, SOURCE_DISKSTATS, &reading, &line, disk_totals[disk->class]);
#define X(member, ...) disk->member = line.values[DISK_COUNTER_##member];
                DISK_COUNTERS(X)
#undef X
        }
        device_reading_end(&reading);
}

/* The speed of virtual interfaces is an invention of their drivers. */
static double speed_of(const SampleNet *net) {
        return net->class == NET_PHYSICAL && net->bytes_per_s > 0 ? (double)net->bytes_per_s : NET_MAX_PER_S;
}

static void advance_nets(Account *account, Sample *sample) {
        const DeviceReading reading = {
                .table = &account->nets,
                .limits = net_limits,
                .n_counters = N_ELEMENTS(net_limits),
                .remembered_class = NET_PHYSICAL,
                .boottime_ns = sample->boottime_ns,
        };

        device_reading_begin(&reading);
        for (size_t i = 0; i < sample->n_nets; i++) {
                SampleNet *net = &sample->nets[i];
                DeviceLine line = {
                        .name = net->name, .id = net->id, .class = (uint8_t)net->class, .scale = speed_of(net),
#define X(member, ...) .values[NET_COUNTER_##member] = net->member,
                        NET_COUNTERS(X)
#undef X
                };

                assert(net->class < N_NET_CLASSES);
                add_device(account, SOURCE_NETDEV, &reading, &line, net_totals[net->class]);
#define X(member, ...) net->member = line.values[NET_COUNTER_##member];
                NET_COUNTERS(X)
#undef X
        }
        device_reading_end(&reading);
}

/* Drivers refresh their counters at least this often: those of energy each ten seconds. */
#define EQUIPMENT_LAG_S 15

/* Notes in *lacking or *known whether the item has each value that is summed up. */
static void advance_item(Account *account, Sample *sample, SampleEquipment *item, uint32_t *lacking, uint32_t *known) {
        const EquipmentKindInfo *info = &equipment_kinds[item->kind];
        uint64_t read_ns = sample_read_ns(sample, info->source);
        EquipmentItem *entry = equipment_table_take(&account->equipment[item->kind], item->name, read_ns);

        for (size_t i = 0; i < info->n_values; i++) {
                double max_per_s = item->max_per_s > 0 ? item->max_per_s : info->values[i].max_per_s;
                const CounterLimit limit = { .kind = COUNTER_DEVICE,
                                             .max_per_s = max_per_s,
                                             .lag_s = item->width > 0 ? DEVICE_LAG_S : EQUIPMENT_LAG_S,
                                             .width = item->width };
                Total total = equipment_totals[item->kind][i];
                uint64_t amount;

                if (total != NO_TOTAL && item->is_counted) {
                        *known |= equipment_has(item, i) ? totals_bit(total) : 0;
                        *lacking |= !equipment_has(item, i) || read_ns < sample->boottime_ns ? totals_bit(total) : 0;
                }
                if (info->values[i].type != EQUIPMENT_COUNTER || !equipment_has(item, i))
                        continue;
                if (item->is_new)
                        counter_begin(&entry->counters[i], 0, account->totals.boottime_ns);
                amount = advance(account, info->source, &entry->counters[i], &item->values[i], read_ns, &limit);
                if (total != NO_TOTAL && item->is_counted)
                        account->totals.value[total] += amount;
        }
}

static void advance_equipment(Account *account, Sample *sample) {
        uint32_t lacking = 0, known = 0;

        for (size_t i = 0; i < sample->equipment.n; i++)
                advance_item(account, sample, &sample->equipment.items[i], &lacking, &known);
        account->totals.unknown = lacking & ~known;
        account->totals.partial = lacking & known;
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

void account_advance(Account *account, Sample *sample) {
        Totals *totals = &account->totals;
        uint32_t n_cpus = account->n_online;

        advance_capacity(account, sample);
        n_cpus = n_cpus > account->n_online ? n_cpus : account->n_online > 0 ? account->n_online : 1;
        if (sample_has(sample, SOURCE_STAT)) {
                advance_cpu_sum(account, sample, n_cpus);
                account_advance_cpus(account, sample);
        }
        advance_counters(account, sample, n_cpus);
        if (sample_has(sample, SOURCE_DISKSTATS))
                advance_disks(account, sample);
        if (sample_has(sample, SOURCE_NETDEV))
                advance_nets(account, sample);
        advance_equipment(account, sample);

        totals->boottime_ns = sample->boottime_ns;
        totals->realtime_ns = sample->realtime_ns;
        totals->have = sample->have;
        totals->none = sample->equipment.none;
        account->known |= sample->have;
}

void account_resume(Account *account) {
        for (size_t i = 0; i < ACCOUNT_N_RAW; i++) {
                Source source = i < N_KERNEL_COUNTERS ? kernel_sources[i] : SOURCE_STAT;

                if (has_read(account, source))
                        counter_resume(&account->counters[i], account->totals.boottime_ns);
        }
        device_table_resume(&account->disks);
        device_table_resume(&account->nets);
        for (EquipmentKind kind = 0; kind < N_EQUIPMENT_KINDS; kind++)
                equipment_table_resume(&account->equipment[kind]);
}

/* --- record ----------------------------------------------------------------------------------- */

#define DEVICES_STORED_MAX 65536U

/* Doubts are not kept. */
#define DEVICE_COUNTER(name, at) \
        RECORD_VALUE_AS(name, Device, counters[at].believed), RECORD_VALUE_AS(name "_shown", Device, counters[at].shown)

static const RecordField disk_fields[] = {
        RECORD_TEXT_OF(Device, name),
        RECORD_VALUE(Device, id),
        RECORD_NAME_OF(Device, class, N_DISK_CLASSES, sample_disk_class_names),
#define X(member, ...) DEVICE_COUNTER(#member, DISK_COUNTER_##member),
        DISK_COUNTERS(X)
#undef X
};

static const RecordField net_fields[] = {
        RECORD_TEXT_OF(Device, name),
        RECORD_VALUE(Device, id),
        RECORD_NAME_OF(Device, class, N_NET_CLASSES, sample_net_class_names),
#define X(member, ...) DEVICE_COUNTER(#member, NET_COUNTER_##member),
        NET_COUNTERS(X)
#undef X
};

static const Record disk_record = RECORD_OF(Device, disk_fields), net_record = RECORD_OF(Device, net_fields);

static const Record disks_record = RECORD(DeviceTable,
        RECORD_VALUE(DeviceTable, read_ns),
        RECORD_LIST_OF(DeviceTable, devices, n, DEVICES_STORED_MAX, &disk_record));

static const Record nets_record = RECORD(DeviceTable,
        RECORD_VALUE(DeviceTable, read_ns),
        RECORD_LIST_OF(DeviceTable, devices, n, DEVICES_STORED_MAX, &net_record));

typedef struct AccountCounters {
        Counter of[ACCOUNT_N_RAW];
} AccountCounters;

#define X(id, ...) RECORD_VALUE_AS(#id, AccountCounters, of[TOTAL_##id].believed),
static const Record raw_record = RECORD(AccountCounters, KERNEL_COUNTERS(X) CPU_TOTALS(X));
#undef X
#define X(id, ...) RECORD_VALUE_AS(#id, AccountCounters, of[TOTAL_##id].shown),
static const Record shown_record = RECORD(AccountCounters, KERNEL_COUNTERS(X) CPU_TOTALS(X));
#undef X

static const RecordField fields[] = {
        RECORD_STRUCT(Account, totals, &totals_record),
        RECORD_BITS_OF(Account, known, N_SOURCES, sample_source_names),
        RECORD_VALUE(Account, n_online),
        RECORD_STRUCT_AS("raw", Account, counters, &raw_record),
        RECORD_STRUCT_AS("shown", Account, counters, &shown_record),
        RECORD_STRUCT(Account, disks, &disks_record),
        RECORD_STRUCT(Account, nets, &nets_record),
#define X(id, source, max, list, ...) \
        RECORD_STRUCT_AS(list, Account, equipment[EQUIPMENT_##id], &equipment_table_records[EQUIPMENT_##id]),
        EQUIPMENT_KINDS(X)
#undef X
};

const Record account_record = RECORD_OF(Account, fields);
