/* SPDX-License-Identifier: Apache-2.0 */
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

#include "measure/sample.h"
#include "measure/totals.h"
#include "util/scoped.h"

#define METER_OBSERVATION_MIN_NS (95 * UINT64_C(1000000))

/* Tolerance of "at 100 %": perf.py rounds to 0.1 %, so that 99.95 % counts. */
#define METER_AT100_RATIO 0.9995

/* Utilization during one interval; shares are 0…1. */
typedef struct Observation {
        uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
        bool has_cpu, has_memory, has_root_filesystem;
        double cpu_mean, cpu_min, cpu_max; /* over CPUs online at both ends */
        double cpu_rounded_mean;           /* of each CPU's share rounded to 0.001, as perf.py averaged them */
        double memory;                     /* share not available */
        double root_filesystem;            /* used share of / */
        /* Rates over the interval, for timelines; bytes/s, physical devices. NaN where not read at both ends. */
        double disk_read_rate, disk_write_rate, net_sent_rate, net_received_rate;
        /* Counters as perf.py reads them, since boot, over every device, in MiB: disk read, write; lo sent, recv; ext sent, recv.
         * NaN where not read. */
        double boot_mib[6];
} Observation;

typedef struct MeterEvents {
        uint64_t n_counter_resets; /* a counter, or all counters of a device, restarted; a wrap is not a reset */
        uint64_t n_cpu_changes;    /* CPUs were added or removed */
        uint64_t n_gaps;           /* suspend or restart: samples further apart than three times the interval */
        uint64_t n_clock_steps;    /* REALTIME moved against BOOTTIME by more than a second */
} MeterEvents;

typedef struct Meter Meter;

/* interval_ns: planned time between two samples; three times that, or a suspend, is a gap. Caller frees. */
int meter_new(Meter **ret, uint64_t interval_ns);
Meter *meter_free(Meter *meter);
DEFINE_SCOPED(Meter, meter_free);
void meter_set_interval(Meter *meter, uint64_t interval_ns);

/*
 * Takes the next sample (copied; nothing is allocated while devices stay the same).
 * 0: totals advanced, *ret_observation untouched. METER_OBSERVED: totals advanced and *ret_observation filled in.
 * -ENOMEM. Samples that are not newer than the last are ignored.
 */
enum {
        METER_OBSERVED = 1,
};
int meter_advance(Meter *meter, const Sample *sample, Observation *ret_observation);

/* Returns the current totals, borrowed until the next meter_advance(). boottime_ns is 0 before the first sample. */
const Totals *meter_totals(const Meter *meter);
const MeterEvents *meter_events(const Meter *meter);

/*
 * The account as lines of text: totals by name, and the raw counters of the last sample
 * (per device), with its boot id. A meter restored in the same boot continues as if it had
 * never stopped: the next meter_advance() adds the kernel's counts of the meantime as a gap.
 * In another boot (or when a boot id is "", which proves nothing) meter_totals() returns the
 * old reading until the next meter_advance(), which then takes a first sample; the totals are
 * kept and continue to grow. Malformed text leaves the meter unchanged. Caller frees *ret.
 */
int meter_save(const Meter *meter, const char *boot_id, char **ret);
enum {
        METER_OTHER_BOOT = 1, /* totals restored for reading; the kernel's counters restarted */
        METER_MALFORMED,
};
int meter_restore(Meter *meter, const char *text, const char *boot_id);
