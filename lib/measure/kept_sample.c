/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/kept_sample.h"

#include <math.h>

static uint32_t steps_of(bool has, double ratio) {
        return has && ratio >= 0 ? (uint32_t)lrint(fmin(ratio, 1) * KEPT_RATIO_STEPS) : KEPT_RATIO_UNKNOWN;
}

void kept_sample_make(const Observation *observation, const Totals *totals, KeptSample *ret) {
        const Observation *o = observation;

        *ret = (KeptSample){
                .end_realtime_ms = totals->realtime_ns / 1000000,
                .observed_ns = o->end_ns - o->begin_ns,
                .ratios = {
                        [KEPT_CPU_MEAN] = steps_of(o->has_cpu, o->cpu_mean),
                        [KEPT_CPU_ROUNDED_MEAN] = steps_of(o->has_cpu, o->cpu_rounded_mean),
                        [KEPT_CPU_MIN] = steps_of(o->has_cpu, o->cpu_min),
                        [KEPT_CPU_MAX] = steps_of(o->has_cpu, o->cpu_max),
                        [KEPT_MEMORY] = steps_of(o->has_memory, o->memory),
                        [KEPT_ROOT_FILESYSTEM] = steps_of(o->has_root_filesystem, o->root_filesystem),
                },
        };
        for (size_t i = 0; i < N_PERFPY_COUNTERS; i++) {
                ret->boot_bytes[i] = isnan(o->boot_mib[i]) ? KEPT_BYTES_UNKNOWN : (uint64_t)rint(o->boot_mib[i] / PER_MIB);
                ret->counted_bytes[i] = totals->value[perfpy_counters[i].total];
        }
}

static uint32_t mean_of(uint32_t a, uint64_t a_ns, uint32_t b, uint64_t b_ns) {
        if (a == KEPT_RATIO_UNKNOWN || b == KEPT_RATIO_UNKNOWN || a_ns + b_ns == 0)
                return a == KEPT_RATIO_UNKNOWN ? b : a;
        return (uint32_t)lrint((double)a + ((double)b - a) * ((double)b_ns / (double)(a_ns + b_ns)));
}

static uint32_t higher_of(uint32_t a, uint32_t b) {
        if (a == KEPT_RATIO_UNKNOWN || b == KEPT_RATIO_UNKNOWN)
                return a == KEPT_RATIO_UNKNOWN ? b : a;
        return a > b ? a : b;
}

void kept_sample_merge(KeptSample *sample, const KeptSample *next) {
        KeptSample merged = *next;

        for (KeptRatio i = 0; i < N_KEPT_RATIOS; i++) {
                uint32_t a = sample->ratios[i], b = next->ratios[i];

                merged.ratios[i] = i <= KEPT_CPU_ROUNDED_MEAN ? mean_of(a, sample->observed_ns, b, next->observed_ns) : higher_of(a, b);
        }
        for (size_t i = 0; i < N_PERFPY_COUNTERS; i++)
                if (next->boot_bytes[i] == KEPT_BYTES_UNKNOWN)
                        merged.boot_bytes[i] = sample->boot_bytes[i];
        merged.observed_ns += sample->observed_ns;
        *sample = merged;
}

static double percent_of(uint32_t steps, bool is_rounded) {
        if (steps == KEPT_RATIO_UNKNOWN)
                return NAN;
        return is_rounded ? rint(steps / (KEPT_RATIO_STEPS / 1e3)) / 10 : steps / (KEPT_RATIO_STEPS / 1e2);
}

static double mib_of(uint64_t bytes) {
        return bytes == KEPT_BYTES_UNKNOWN ? NAN : (double)bytes * PER_MIB;
}

void kept_sample_to_perfpy(const KeptSample *sample, bool is_compat, PerfpySample *ret) {
        const uint32_t *ratios = sample->ratios;

        *ret = (PerfpySample){
                .cpu_avg = percent_of(ratios[is_compat ? KEPT_CPU_ROUNDED_MEAN : KEPT_CPU_MEAN], false),
                .cpu_min = percent_of(ratios[KEPT_CPU_MIN], is_compat),
                .cpu_max = percent_of(ratios[KEPT_CPU_MAX], is_compat),
                .memory = percent_of(ratios[KEPT_MEMORY], is_compat),
                .disk_usage = percent_of(ratios[KEPT_ROOT_FILESYSTEM], is_compat),
                .timestamp_s = (double)sample->end_realtime_ms / 1e3,
        };
        for (size_t i = 0; i < N_PERFPY_COUNTERS; i++)
                ret->boot_mib[i] = mib_of(is_compat ? sample->boot_bytes[i] : sample->counted_bytes[i]);
}
