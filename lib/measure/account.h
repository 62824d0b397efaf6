/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Account: adds kernel counters to totals
 *
 * The exact part of a Meter. Each counter is compared with its value when its file was last read, however long ago:
 * what the kernel counted while a file could not be read is added at the next successful read. Readings that cannot be
 * are not believed, see counter.h. Totals never decrease, and neither do the counters in the samples that were added:
 * they are replaced by the first reading and what was counted since.
 *
 * CPU time is taken from the kernel's sum over all possible CPUs. Idle, iowait and steal may decrease slightly
 * (proc_pid_stat(5)); a decrease of 3 s or more means that a CPU was plugged in again.
 */

#include <stdint.h>

#include "json/record.h"
#include "measure/counter.h"
#include "measure/equipment.h"
#include "measure/sample.h"
#include "measure/totals.h"

/* Maximum decrease of CPU time that is not a counter reset. */
#define ACCOUNT_CPU_RESET_TICKS (3 * TICKS_PER_S)

/* Number of totals that follow a single kernel counter: KERNEL_COUNTERS, then the CPU modes. */
#define ACCOUNT_N_RAW (TOTAL_CPU_GUEST_NICE + 1)

#define DEVICE_COUNTERS_MAX                                                                                            \
        ((size_t)N_DISK_COUNTERS > (size_t)N_NET_COUNTERS ? (size_t)N_DISK_COUNTERS : (size_t)N_NET_COUNTERS)

/* Counters of a disk or an interface, tracked by identity, see account.c. */
typedef struct Device {
        char name[DEVICE_NAME_MAX];
        uint64_t id;        /* of SampleDisk or SampleNet; 0: unknown */
        uint8_t class;      /* DiskClass or NetClass */
        bool is_present;    /* listed in the current reading */
        uint64_t seen_ns;   /* time of its last reading */
        Counter counters[DEVICE_COUNTERS_MAX];
} Device;

/* Initialize with zeros, as the next. */
typedef struct DeviceTable {
        Device *devices; /* owned */
        size_t n, n_allocated;
        size_t next;      /* expected index of the next device: the order rarely changes */
        uint64_t read_ns; /* time of the last reading, CLOCK_BOOTTIME */
} DeviceTable;

typedef struct Account {
        Totals totals;
        uint32_t known;         /* bit per Source that was read since boot: the counters below are valid */
        Counter counters[ACCOUNT_N_RAW]; /* of each of the first totals */
        DeviceTable disks, nets;
        EquipmentTable equipment[N_EQUIPMENT_KINDS];
        uint32_t n_online; /* number of CPUs at the last read */
        Counter (*cpus)[N_CPU_MODES]; /* owned; per CPU, not kept across restarts */
        size_t n_cpus_allocated;
        uint64_t n_counter_resets;
} Account;

void account_deinit(Account *account);
/* Allocates entries for all devices and CPUs of the sample. Returns 0 or -ENOMEM. */
int account_reserve(Account *account, const Sample *sample);
/* Adds the counts since the last sample, and replaces the counters of the sample. Call account_reserve() first. */
void account_advance(Account *account, Sample *sample);
/* Replaces the times of each CPU in a reading of the CPUs alone. Call account_reserve() first. */
void account_advance_cpus(Account *account, Sample *sample);
/* Continues an account from its record. */
void account_resume(Account *account);

/* Record for checkpoints; without n_counter_resets. */
extern const Record account_record;
