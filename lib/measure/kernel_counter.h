/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counters that the kernel keeps for the whole node since boot, one number each
 *
 * A row defines all properties of a counter except its position in the kernel's text. Each row becomes a value of
 * Sample, a total of the meter, a metric of a window and a family of /metrics. To add a counter: add a row here and
 * read the value in daemon/sample/.
 *
 *   X(ID, source, decimals, key, key_unit, family, unit, help)
 *
 * The kernel counts in units of 10^-decimals of the base unit. `key` is the MLflow key of the metric; `family` is the
 * OpenMetrics family, without prefix and _total. tests/unit/test_sampler.c fails for a counter that is not read.
 */

#define KERNEL_COUNTERS(X) \
        X(CONTEXT_SWITCHES, STAT,       0, "context_switches",        "1", "context_switches",                "",        "Context switches") \
        X(MAJOR_FAULTS,     VMSTAT,     0, "major_page_faults",       "1", "major_page_faults",               "",        "Page faults that required I/O (pgmajfault)") \
        X(OOM_KILLS,        VMSTAT,     0, "oom_kills",               "1", "oom_kills",                       "",        "Processes killed because memory ran out (oom_kill)") \
        X(SWAP_IN,          VMSTAT,     0, "swap_in_pages",           "1", "swap_in_pages",                   "",        "Pages read from swap (pswpin)") \
        X(SWAP_OUT,         VMSTAT,     0, "swap_out_pages",          "1", "swap_out_pages",                  "",        "Pages written to swap (pswpout)") \
        X(PSI_CPU_SOME,     PSI_CPU,    6, "psi_cpu_some_seconds",    "s", "pressure_cpu_waiting_seconds",    "seconds", "Time in which at least one task waited for a CPU") \
        X(PSI_MEMORY_SOME,  PSI_MEMORY, 6, "psi_memory_some_seconds", "s", "pressure_memory_waiting_seconds", "seconds", "Time in which at least one task waited for memory") \
        X(PSI_MEMORY_FULL,  PSI_MEMORY, 6, "psi_memory_full_seconds", "s", "pressure_memory_stalled_seconds", "seconds", "Time in which all tasks waited for memory") \
        X(PSI_IO_SOME,      PSI_IO,     6, "psi_io_some_seconds",     "s", "pressure_io_waiting_seconds",     "seconds", "Time in which at least one task waited for I/O") \
        X(PSI_IO_FULL,      PSI_IO,     6, "psi_io_full_seconds",     "s", "pressure_io_stalled_seconds",     "seconds", "Time in which all tasks waited for I/O")

/* Shares of time over an observation: X(member, series, id, source). */
#define PRESSURE_RATES(X) \
        X(pressure_cpu,    PRESSURE_CPU,    PSI_CPU_SOME,    PSI_CPU)    \
        X(pressure_memory, PRESSURE_MEMORY, PSI_MEMORY_SOME, PSI_MEMORY) \
        X(pressure_io,     PRESSURE_IO,     PSI_IO_SOME,     PSI_IO)

typedef enum KernelCounter {
#define X(id, ...) KERNEL_##id,
        KERNEL_COUNTERS(X)
#undef X
        N_KERNEL_COUNTERS,
} KernelCounter;
