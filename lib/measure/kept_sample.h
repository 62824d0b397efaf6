/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kept sample: an observation of the node that is kept for an export
 *
 * Has what the twelve fields of perf.py's sample need, both as perfd computes them and as perf.py did. Integers, so that a
 * thousand samples are small in memory and as text, and so that a text restores them exactly.
 */

#include <stddef.h>
#include <stdint.h>

#include "measure/compat.h"
#include "measure/meter.h"
#include "measure/totals.h"

typedef enum KeptRatio {
        KEPT_CPU_MEAN,
        KEPT_CPU_ROUNDED_MEAN, /* mean of the CPUs' shares, each rounded as perf.py does */
        KEPT_CPU_MIN,
        KEPT_CPU_MAX,
        KEPT_MEMORY,
        KEPT_ROOT_FILESYSTEM,
        N_KEPT_RATIOS,
} KeptRatio;

#define KEPT_RATIO_STEPS 10000000U /* steps of a ratio: 1 is 100 % */
#define KEPT_RATIO_UNKNOWN UINT32_MAX
#define KEPT_BYTES_UNKNOWN UINT64_MAX

typedef struct KeptSample {
        uint64_t end_realtime_ms;
        uint64_t observed_ns;                   /* length of the observation; 0 in a list that was stored */
        uint32_t ratios[N_KEPT_RATIOS];         /* KEPT_RATIO_UNKNOWN: could not be read */
        uint64_t boot_bytes[N_PERFPY_COUNTERS]; /* since boot, of all devices; KEPT_BYTES_UNKNOWN: could not be read */
        uint64_t counted_bytes[N_PERFPY_COUNTERS]; /* of physical devices and the loopback interface: a reading of the meter's totals, or
                                                    * in a list the amount since its start */
} KeptSample;

/* totals: the meter's totals at the end of the observation. */
void kept_sample_make(const Observation *observation, const Totals *totals, KeptSample *ret);
/*
 * Merges the sample that follows *sample into it: means are weighted by time, the other shares become the higher of the two, because
 * only their maxima have a meaning, and the counters and the time are those of the later sample.
 */
void kept_sample_merge(KeptSample *sample, const KeptSample *next);
/* is_compat: counters since boot, and shares rounded as perf.py rounds them. */
void kept_sample_to_perfpy(const KeptSample *sample, bool is_compat, PerfpySample *ret);
