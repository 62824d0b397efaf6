/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Account: adds kernel counters to totals
 *
 * The exact part of a Meter. Each counter is compared with its value when its file was last read, however long ago:
 * what the kernel counted while a file could not be read is added at the next successful read. Totals never decrease.
 *
 * CPU time is taken from the kernel's sum over all possible CPUs. Idle, iowait and steal may decrease slightly
 * (proc_pid_stat(5)): nothing is added until the old value is exceeded. A decrease of 3 s or more means that a CPU
 * was plugged in again; counting continues from the new value.
 */

#include <stdint.h>

#include "json/record.h"
#include "measure/device.h"
#include "measure/sample.h"
#include "measure/totals.h"

/* Maximum decrease of CPU time that is not a counter reset. */
#define ACCOUNT_CPU_RESET_TICKS (3 * TICKS_PER_S)

/* Number of totals that follow a single kernel counter: KERNEL_COUNTERS, then the CPU modes. */
#define ACCOUNT_N_RAW (TOTAL_CPU_GUEST_NICE + 1)

/* Initialize with zeros. */
typedef struct Account {
        Totals totals;
        uint32_t known;         /* bit per Source that was read since boot: the counters below are valid */
        uint64_t raw[ACCOUNT_N_RAW]; /* latest kernel counter of each of the first totals */
        DeviceTable disks, nets;
        uint32_t n_online; /* number of CPUs at the last read */
        uint64_t n_counter_resets;
} Account;

void account_deinit(Account *account);
/* Allocates entries for all devices of the sample. Returns 0 or -ENOMEM. */
int account_reserve(Account *account, const Sample *sample);
/* Adds the counts since the last sample. Call account_reserve() first. */
void account_advance(Account *account, const Sample *sample);

/* Record for checkpoints; without n_counter_resets. */
extern const Record account_record;
