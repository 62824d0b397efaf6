/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Meter: the node's running totals and observations
 *
 * Each new Sample is compared with the previous one, exactly once, here: counter resets, wraps, hot-plug, suspend and
 * gaps are handled, and the differences are added to totals that never decrease. A window over any span is then the
 * difference of two readings of these totals, independent of the number and length of windows.
 *
 * The meter produces two kinds of numbers. Totals follow the kernel's counters and are exact between any two samples.
 * Observations (utilization, threshold time, peaks) need an interval that is long compared with the kernel's 10 ms
 * ticks: an interval shorter than METER_OBSERVATION_MIN_NS is merged with the next one. Readings of the CPUs in between
 * (meter_add_cpus()) refine the threshold times and the peaks of an observation, see cpu_levels.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "measure/cpu_levels.h"
#include "measure/sample.h"
#include "measure/totals.h"
#include "util/buffer.h"
#include "util/scoped.h"

#define METER_OBSERVATION_MIN_NS (95 * UINT64_C(1000000))

/* Utilization during one interval; shares are 0…1. */
typedef struct Observation {
        uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
        bool has_cpu, has_memory, has_root_filesystem;
        double cpu_mean, cpu_min, cpu_max; /* over CPUs online at both ends */
        /* highest levels within the interval; without readings in between, the three above */
        double cpu_peak[N_CPU_ACROSS];
        double cpu_rounded_mean;           /* mean of the CPUs' shares rounded to 0.001, as perf.py averages them */
        double memory;                     /* share of memory that is not available */
        double root_filesystem;            /* used share of / */
        /* Rates over the interval for timelines, in bytes/s, of physical devices. NaN if not read at both ends. */
#define X(name, ...) double name##_rate;
        IO_RATES(X)
        PRESSURE_RATES(X) /* shares of time */
        EQUIPMENT_RATES(X)
#undef X
        double gpus[N_GPU_SUMS]; /* of those that know it; NaN: none */
        double boot_mib[N_PERFPY_COUNTERS]; /* sums since boot. NaN if not read */
} Observation;

typedef struct MeterEvents {
        uint64_t n_counter_resets; /* resets of a counter or of all counters of a device, without wraps */
        uint64_t n_cpu_changes;    /* CPUs were added or removed */
        uint64_t n_gaps;           /* suspend or restart: samples further apart than three times the interval */
        uint64_t n_clock_steps;    /* REALTIME changed against BOOTTIME by more than a second */
} MeterEvents;

typedef struct Meter Meter;

/* interval_ns: planned time between samples; a suspend or three times the interval is a gap. Caller frees. */
int meter_new(Meter **ret, uint64_t interval_ns);
Meter *meter_free(Meter *meter);
DEFINE_SCOPED(Meter, meter_free);
void meter_set_interval(Meter *meter, uint64_t interval_ns);

/*
 * Adds the next sample, and replaces its counters by what is believed of them (account.h): they never decrease
 * within a boot. Allocates nothing while devices stay the same. Returns 0 if the totals advanced (*ret_observation
 * is unchanged), METER_OBSERVED if an observation was completed as well, or -ENOMEM. Samples that are not newer than
 * the last are ignored.
 */
enum {
        METER_OBSERVED = 1,
};
int meter_advance(Meter *meter, Sample *sample, Observation *ret_observation);

/*
 * Adds a reading of the CPUs alone between two samples, and replaces its times. Copied; allocates nothing while the
 * CPUs stay the same. Returns 0 or -ENOMEM.
 */
int meter_add_cpus(Meter *meter, Sample *sample);

/* Returns the current totals, borrowed until the next meter_advance(). boottime_ns is 0 before the first sample. */
const Totals *meter_totals(const Meter *meter);
const MeterEvents *meter_events(const Meter *meter);

/*
 * Formats the meter as text: totals by name, and the raw counters of the last sample (per device), with its boot id.
 * A meter restored in the same boot continues as if it had never stopped: the next meter_advance() adds the counts of
 * the time between as a gap. In another boot (or if a boot id is "", which matches none), meter_totals() returns the
 * old reading until the next meter_advance(), which takes a first sample; the totals are preserved and continue to
 * grow. Malformed text leaves the meter unchanged. Caller frees *ret.
 */
int meter_save(const Meter *meter, const char *boot_id, char **ret);
enum {
        METER_OTHER_BOOT = 1, /* totals were restored, counters of the kernel restarted */
        METER_MALFORMED,
        METER_OTHER_PROGRAM,
};
int meter_restore(Meter *meter, const char *text, const char *boot_id);

/*
 * As meter_save() and meter_restore(), as an image (record.h): cheap enough for each sample. METER_OTHER_PROGRAM:
 * the image is of a program with another layout, and the meter is unchanged.
 */
void meter_put_image(const Meter *meter, const char *boot_id, Buffer *out);
int meter_restore_image(Meter *meter, const char *bytes, size_t n, const char *boot_id);
