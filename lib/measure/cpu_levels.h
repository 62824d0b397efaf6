/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CPU levels: utilization within an observation, from readings of proc/stat that are closer together
 *
 * The kernel counts CPU time in ticks of 10 ms, on most kernels by looking at each tick which task runs. The share
 * of a short window is thus a proportion of few trials: a steady load of 40 % reads 20 to 67 % in windows of 50 ms.
 * Thresholds and peaks of single windows would be wrong. Therefore the windows of each CPU are joined to segments of
 * one level, which end only where the load has changed significantly: adjacent segments are merged while their
 * proportions differ by less than CPU_LEVELS_SIGNIFICANCE standard errors (as in a test of two proportions), and
 * while a segment is shorter than 95 ms. A steady load is one segment, whose level is that of a reading per
 * observation; a load that is on and off has a level for each. A window in which the level changes is divided in
 * proportion.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/sample.h"

/* Windows of a series; a longer observation consists of several series. */
#define CPU_LEVELS_WINDOWS_MAX 64U
/*
 * Standard errors between two levels of one CPU; slightly more if there are many CPUs. A tenth of a second at 0 %
 * and one at 100 % differ by 4.5.
 */
#define CPU_LEVELS_SIGNIFICANCE 4.0

/* Thresholds of utilization, highest first; the first is "at 100 %" as perf.py rounds. */
#define N_CPU_THRESHOLDS 4U
extern const double cpu_thresholds[N_CPU_THRESHOLDS];

typedef enum CpuAcross {
        CPU_ACROSS_MEAN,
        CPU_ACROSS_ALL, /* the least utilized CPU */
        CPU_ACROSS_ANY, /* the most utilized CPU */
        N_CPU_ACROSS,
} CpuAcross;

/* Sums over the windows since cpu_levels_begin(). */
typedef struct CpuLevelSums {
        uint64_t n_windows;
        uint64_t over_ns[N_CPU_ACROSS][N_CPU_THRESHOLDS]; /* time at or above each threshold */
        double peak[N_CPU_ACROSS];                        /* highest level, 0…1 */
} CpuLevelSums;

/* Ticks of one CPU in one window. */
typedef struct CpuWindow {
        uint16_t busy, total;
} CpuWindow;

typedef struct CpuLevels {
        CpuTimes *last;     /* owned; per CPU: at the last reading */
        bool *is_usable;    /* owned; per CPU: online at all readings of the series */
        CpuWindow *windows; /* owned; per CPU CPU_LEVELS_WINDOWS_MAX */
        size_t n_cpus, n_allocated;
        uint64_t last_ns;                           /* time of the last reading; 0: no series */
        uint64_t window_ns[CPU_LEVELS_WINDOWS_MAX]; /* lengths */
        size_t n_windows;
        CpuLevelSums sums;
} CpuLevels;

/* Releases the arrays; a zeroed struct is valid. */
void cpu_levels_deinit(CpuLevels *levels);
/* Provides space for n CPUs, and drops the series if there was not enough. Returns 0 or -ENOMEM. */
int cpu_levels_reserve(CpuLevels *levels, size_t n_cpus);
/* Begins a series, and sets the sums to zero. Requires space for the CPUs of the sample. */
void cpu_levels_begin(CpuLevels *levels, const Sample *sample);
/* Ends a window at the sample, if a series has begun and the sample is newer. */
void cpu_levels_add(CpuLevels *levels, const Sample *sample);
/* Ends the series and returns its sums, which are zero if no series has begun; cpu_levels_begin() begins the next. */
const CpuLevelSums *cpu_levels_finish(CpuLevels *levels);
/* Drops the series. */
void cpu_levels_drop(CpuLevels *levels);

/* Adds one level of each kind, which lasted for length_ns. */
void cpu_level_sums_add(CpuLevelSums *sums, const double across[static N_CPU_ACROSS], uint64_t length_ns);
