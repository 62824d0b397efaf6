/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Account: kernel counters into totals
 *
 * The exact half of a Meter. Every counter is compared with its value when its file was
 * last read, however long ago that is: what the kernel counted while a file could not
 * be read is added when it can be again. No counter ever takes anything off a total.
 *
 * CPU time goes by the kernel's own sum over all possible CPUs. Idle, iowait and steal
 * may go back a little (proc_pid_stat(5)): that adds nothing until the old value
 * is passed. Back by 3 s or more is a CPU that was plugged in again, and the counter is
 * taken up from its new value.
 */

#include <stdint.h>

#include "measure/device.h"
#include "measure/sample.h"
#include "measure/totals.h"
#include "util/record.h"

/* How far CPU time may go back and be the same counter. */
#define ACCOUNT_CPU_RESET_TICKS (3 * TICKS_PER_S)

/* Totals that follow one counter of the kernel: those of the kernel's counters, then those of the CPU modes. */
#define ACCOUNT_N_RAW (TOTAL_CPU_GUEST_NICE + 1)

/* A zeroed one is empty. */
typedef struct Account {
        Totals totals;
        uint32_t known;         /* bit per Source that has been read in this boot: its counters below mean something */
        uint64_t raw[ACCOUNT_N_RAW]; /* latest value of the kernel's counter behind each of the first totals */
        DeviceTable disks, nets;
        uint32_t n_online; /* CPUs, when last read */
        uint64_t n_counter_resets;
} Account;

void account_deinit(Account *account);
/* Room for all of the sample's devices. 0 or -ENOMEM. */
int account_reserve(Account *account, const Sample *sample);
/* Adds what was counted since the last sample. Room must have been reserved. */
void account_advance(Account *account, const Sample *sample);

/* A checkpoint of everything but n_counter_resets. */
extern const Record account_record;
