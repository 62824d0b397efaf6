/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Totals: a reading of the node's running totals
 *
 * Totals never decrease, across samples and restarts. The amount within a time span is the difference of the readings
 * at its two ends. Differences are computed modulo 2^64, so that they are correct even if a total wraps (CAPACITY_NS
 * of 1024 CPUs wraps after seven months).
 */

#include <stdint.h>

#include "json/record.h"
#include "measure/sample.h"

/*
 * Integers in the kernel's own units, to preserve precision. The kernel's counters come first: a Total has the number
 * of its KernelCounter.
 */
#define CPU_TOTALS(X) /* in ticks */                                               \
        X(CPU_USER) X(CPU_NICE) X(CPU_SYSTEM) X(CPU_IDLE) X(CPU_IOWAIT) X(CPU_IRQ) \
        X(CPU_SOFTIRQ) X(CPU_STEAL) X(CPU_GUEST) X(CPU_GUEST_NICE)

#define TOTALS(X)                                                                  \
        KERNEL_COUNTERS(X)                                                         \
        CPU_TOTALS(X)                                                              \
        X(CAPACITY_NS)           /* ∫ online CPUs dt */                            \
        DISK_TOTALS(X) NET_TOTALS(X) EQUIPMENT_TOTALS(X)                           \
        X(OBSERVED_NS)           /* time covered by observations of the CPUs */    \
        X(CPU_READINGS)          /* readings of the CPUs in this time */           \
        X(UNOBSERVED_NS)         /* gaps: daemon not running, or system suspended */ \
        X(MEAN_AT100_NS) X(MEAN_OVER80_NS) X(MEAN_OVER40_NS) X(MEAN_OVER20_NS)     \
        X(ALL_AT100_NS) X(ALL_OVER80_NS) X(ALL_OVER40_NS) X(ALL_OVER20_NS)         \
        X(ANY_AT100_NS) X(ANY_OVER80_NS) X(ANY_OVER40_NS) X(ANY_OVER20_NS)

typedef enum Total {
#define X(id, ...) TOTAL_##id,
        TOTALS(X)
#undef X
        N_TOTALS,
        TOTAL_FIRST_EQUIPMENT = TOTAL_NET_VIRT_RECV_BYTES + 1,
} Total;

_Static_assert(TOTAL_CPU_USER == (Total)N_KERNEL_COUNTERS, "the total of a kernel counter has the counter's number");

#define N_EQUIPMENT_TOTALS (TOTAL_OBSERVED_NS - TOTAL_FIRST_EQUIPMENT)
_Static_assert(N_EQUIPMENT_TOTALS <= 32, "a bit of `unknown` for each total of equipment");

typedef struct Totals {
        uint64_t boottime_ns; /* time of this reading */
        uint64_t realtime_ns;
        uint32_t have; /* bit per Source read at this time */
        uint32_t none; /* bit per Source of equipment of which the node has none */
        /* bit per total of equipment, see totals_bit(): no item has the value, or not each that is counted, at
         * this time */
        uint32_t unknown, partial;
        /* counters in doubt, and doubts that did not end (counter.h): exact between equal numbers */
        uint64_t doubts[N_SOURCES];
        uint64_t value[N_TOTALS];
} Totals;

/* The bit of a total of equipment; 0 for others. */
static inline uint32_t totals_bit(Total total) {
        bool has_bit = total >= TOTAL_FIRST_EQUIPMENT && total < TOTAL_OBSERVED_NS;

        return has_bit ? UINT32_C(1) << (total - TOTAL_FIRST_EQUIPMENT) : 0;
}

extern const char *const total_names[N_TOTALS]; /* names as stored: "CPU_USER", … */
extern const Record totals_record;
