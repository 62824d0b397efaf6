/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Totals: a reading of the node's running account
 *
 * Everything here only grows, from sample to sample and through restarts. What happened
 * in a span of time is the difference of the readings at its two ends. Differences are
 * taken modulo 2^64, so that even a counter that has gone round (CAPACITY_NS of 1024 CPUs
 * does after seven months) gives a right one.
 */

#include <stdint.h>

#include "measure/sample.h"
#include "util/record.h"

/* Integers in the kernel's own unit, so that no precision is lost. The kernel's counters come first: Total has their numbers. */
#define TOTALS(X)                                                                  \
        KERNEL_COUNTERS(X)                                                         \
        X(CPU_USER) X(CPU_NICE) X(CPU_SYSTEM) X(CPU_IDLE) X(CPU_IOWAIT) X(CPU_IRQ) /* ticks */ \
        X(CPU_SOFTIRQ) X(CPU_STEAL) X(CPU_GUEST) X(CPU_GUEST_NICE)                 \
        X(CAPACITY_NS)           /* ∫ online CPUs dt */                            \
        X(DISK_READ_BYTES) X(DISK_WRITE_BYTES) X(DISK_READS) X(DISK_WRITES)        \
        X(VIRT_DISK_READ_BYTES) X(VIRT_DISK_WRITE_BYTES)                           \
        X(NET_LO_SENT_BYTES) X(NET_LO_RECV_BYTES)                                  \
        X(NET_SENT_BYTES) X(NET_RECV_BYTES)                                        \
        X(NET_VIRT_SENT_BYTES) X(NET_VIRT_RECV_BYTES)                              \
        X(OBSERVED_NS)           /* time covered by observations of the CPUs */    \
        X(UNOBSERVED_NS)         /* gaps: down, asleep */                          \
        X(MEAN_AT100_NS) X(MEAN_OVER80_NS) X(MEAN_OVER40_NS) X(MEAN_OVER20_NS)     \
        X(ALL_AT100_NS) X(ALL_OVER80_NS) X(ALL_OVER40_NS) X(ALL_OVER20_NS)         \
        X(ANY_AT100_NS) X(ANY_OVER80_NS) X(ANY_OVER40_NS) X(ANY_OVER20_NS)

typedef enum Total {
#define X(id, ...) TOTAL_##id,
        TOTALS(X)
#undef X
        N_TOTALS,
} Total;

_Static_assert(TOTAL_CPU_USER == (Total)N_KERNEL_COUNTERS, "the total of a kernel counter has the counter's number");

typedef struct Totals {
        uint64_t boottime_ns; /* when this reading was taken */
        uint64_t realtime_ns;
        uint32_t have; /* sources read at this instant, bit per Source */
        uint64_t value[N_TOTALS];
} Totals;

extern const char *const total_names[N_TOTALS]; /* "CPU_USER", …: as stored */
extern const Record totals_record;
