#pragma once

/*
 * Meter: the node's running account
 *
 * Each new Sample is compared with the one before, once, here: resets, wraps,
 * hot-plug, suspend and gaps are dealt with, and what remains is added to totals
 * that only ever grow. A window over any span is then the difference of two
 * readings of these totals, however many windows there are and however long.
 *
 * Two kinds of number come out. Totals follow the kernel's counters and are exact
 * between any two samples. Observations (utilization, threshold time, peaks) need an
 * interval long enough for the kernel's 10 ms ticks to mean something: an interval
 * shorter than METER_OBSERVATION_MIN_NS is joined to the next.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/sample.h"

#define METER_OBSERVATION_MIN_NS (95 * UINT64_C(1000000))

/* Tolerance of "at 100 %": perf.py rounds to 0.1 %, so 99.95 % counted. */
#define METER_AT100_RATIO 0.9995

/* Totals that only grow. Integers in the kernel's own unit, so that no precision is lost. */
#define TOTALS(X)                                                                  \
        X(CPU_USER) X(CPU_NICE) X(CPU_SYSTEM) X(CPU_IDLE) X(CPU_IOWAIT) X(CPU_IRQ) /* ticks */ \
        X(CPU_SOFTIRQ) X(CPU_STEAL) X(CPU_GUEST) X(CPU_GUEST_NICE)                 \
        X(CAPACITY_NS)           /* ∫ online CPUs dt */                            \
        X(DISK_READ_BYTES) X(DISK_WRITE_BYTES) X(DISK_READS) X(DISK_WRITES)        \
        X(VIRT_DISK_READ_BYTES) X(VIRT_DISK_WRITE_BYTES)                           \
        X(NET_LO_SENT_BYTES) X(NET_LO_RECV_BYTES)                                  \
        X(NET_SENT_BYTES) X(NET_RECV_BYTES)                                        \
        X(NET_VIRT_SENT_BYTES) X(NET_VIRT_RECV_BYTES)                              \
        X(CONTEXT_SWITCHES) X(MAJOR_FAULTS) X(OOM_KILLS) X(SWAP_IN) X(SWAP_OUT)    \
        X(PSI_CPU_SOME_US) X(PSI_MEMORY_SOME_US) X(PSI_MEMORY_FULL_US)             \
        X(PSI_IO_SOME_US) X(PSI_IO_FULL_US)                                        \
        X(OBSERVED_NS)           /* time covered by observations */                \
        X(UNOBSERVED_NS)         /* gaps: down, asleep */                          \
        X(MEAN_AT100_NS) X(MEAN_OVER80_NS) X(MEAN_OVER40_NS) X(MEAN_OVER20_NS)     \
        X(ALL_AT100_NS) X(ALL_OVER80_NS) X(ALL_OVER40_NS) X(ALL_OVER20_NS)         \
        X(ANY_AT100_NS) X(ANY_OVER80_NS) X(ANY_OVER40_NS) X(ANY_OVER20_NS)

typedef enum Total {
#define X(id) TOTAL_##id,
        TOTALS(X)
#undef X
        N_TOTALS,
} Total;

const char *total_name(Total total); /* "CPU_USER": names in the stored checkpoint */

typedef struct Totals {
        uint64_t boottime_ns; /* when this reading was taken */
        uint64_t realtime_ns;
        uint32_t have; /* sources read at this instant, bit per Source */
        uint64_t value[N_TOTALS];
} Totals;

/* One interval's worth of utilization, all 0…1. */
typedef struct Observation {
        uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
        bool has_cpu, has_memory, has_root_filesystem;
        double cpu_mean, cpu_min, cpu_max; /* over CPUs online at both ends */
        double memory;                     /* share not available */
        double root_filesystem;            /* used share of / */
        /* Rates over the interval, for timelines; bytes/s. */
        double disk_read_rate, disk_write_rate, net_sent_rate, net_received_rate;
        /* What perf.py's counters would show: since boot, every device, MiB: disk read, write; lo sent, recv; ext sent, recv. */
        double boot_mib[6];
} Observation;

typedef struct MeterEvents {
        uint64_t n_counter_resets; /* a counter went back and was taken up from its new value */
        uint64_t n_cpu_changes;    /* CPUs came or went */
        uint64_t n_gaps;           /* suspend, or samples further apart than twice the interval */
        uint64_t n_clock_steps;    /* REALTIME moved against BOOTTIME by more than a second */
} MeterEvents;

typedef struct Meter Meter;

/* interval_ns: the distance of two ticks as planned; three times as far apart, or a suspend, is a gap. Caller frees. */
int meter_new(Meter **ret, uint64_t interval_ns);
Meter *meter_free(Meter *meter);
DEFINE_SCOPED(Meter, meter_free);
void meter_set_interval(Meter *meter, uint64_t interval_ns);

/*
 * Takes the next sample (copied; nothing is allocated while devices stay the same).
 * 0: totals advanced, *ret_observation untouched. METER_OBSERVED: and an observation
 * is complete. -ENOMEM. Samples that are not newer than the last are ignored.
 */
enum {
        METER_OBSERVED = 1,
};
int meter_advance(Meter *meter, const Sample *sample, Observation *ret_observation);

/* The totals now; borrowed until the next meter_advance(). boottime_ns is 0 before the first sample. */
const Totals *meter_totals(const Meter *meter);
const Sample *meter_last_sample(const Meter *meter);
const MeterEvents *meter_events(const Meter *meter);

/*
 * The account as JSON text: totals by name, and the raw counters of the last sample
 * (per device), with its boot id. A meter restored from it in the same boot goes on as if
 * it had never stopped: the next meter_advance() adds what the kernel counted meanwhile,
 * as a gap. Caller frees *ret.
 */
int meter_save(const Meter *meter, const char *boot_id, char **ret);
enum {
        METER_OTHER_BOOT = 1, /* totals restored for reading; the kernel's counters began anew */
        METER_MALFORMED,
};
int meter_restore(Meter *meter, const char *text, const char *boot_id);

/* As stored inside a job's window: one line of "NAME=value " words. Unknown names are skipped, missing ones are 0. */
#define TOTALS_TEXT_MAX 4096
int totals_format(const Totals *totals, char *ret, size_t n_max);
int totals_parse(const char *text, Totals *ret);
