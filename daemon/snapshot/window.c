/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/window.h"

#include <assert.h>
#include <string.h>
#include <sys/param.h>

#include "util/clock.h"

static void include_memory(WindowPeaks *peaks, double ratio) {
        peaks->memory_max = MAX(peaks->memory_max, ratio);
        peaks->has_memory = true;
}

static void include_root_filesystem(WindowPeaks *peaks, double ratio) {
        peaks->root_filesystem_max = MAX(peaks->root_filesystem_max, ratio);
        peaks->has_root_filesystem = true;
}

void window_add_gauges(WindowPeaks *peaks, const Sample *sample) {
        const SampleFilesystem *root = sample_has(sample, SOURCE_FILESYSTEMS) ? sample_root_filesystem(sample) : NULL;

        if (sample_has(sample, SOURCE_MEMINFO) && sample->memory.total_bytes > 0)
                include_memory(peaks, sample_memory_ratio(sample));
        if (root)
                include_root_filesystem(peaks, sample_filesystem_used_ratio(root));
}

void window_begin_peaks(WindowPeaks *peaks, const Sample *sample) {
        *peaks = (WindowPeaks){};
        window_add_gauges(peaks, sample);
}

void window_begin(Window *window, const Totals *totals, const Sample *sample) {
        window->begin = *totals;
        window_begin_peaks(&window->peaks, sample);
}

void window_observe(WindowPeaks *peaks, const Totals *begin, const Observation *observation, uint64_t realtime_ns) {
        PerfpySample sample;

        if (observation->end_ns <= begin->boottime_ns)
                return;

        peaks->n_observations++;
        if (observation->has_cpu) {
                peaks->has_cpu = true;
                peaks->cpu_max = MAX(peaks->cpu_max, observation->cpu_peak[CPU_ACROSS_MEAN]);
                peaks->cpu_min_max = MAX(peaks->cpu_min_max, observation->cpu_peak[CPU_ACROSS_ALL]);
                peaks->cpu_max_max = MAX(peaks->cpu_max_max, observation->cpu_peak[CPU_ACROSS_ANY]);
        }
        if (observation->has_memory)
                include_memory(peaks, observation->memory);
        if (observation->has_root_filesystem)
                include_root_filesystem(peaks, observation->root_filesystem);

        compat_sample(observation, realtime_ns, &sample);
        compat_add(&peaks->compat, &sample);
}

/* --- metrics -------------------------------------------------------------------------------- */

typedef enum Method {
        METHOD_OWN,   /* a function below computes the metric */
        METHOD_SUM,   /* sum of differences of totals */
        METHOD_SHARE, /* difference of a total, as a share of the time observed */
} Method;

typedef struct Derivation {
        Method method;
        Source source;
        /* of the totals, in a base unit of the metric; a division rounds once, unlike a product with 1e-6 */
        double per_unit;
        size_t n_totals;
        Total totals[4];
} Derivation;

#define OWN
#define SUM(source_id, n_per_unit, ...)                                                                 \
        .method = METHOD_SUM, .source = SOURCE_##source_id, .per_unit = n_per_unit,                         \
        .n_totals = sizeof((Total[]){ __VA_ARGS__ }) / sizeof(Total), .totals = { __VA_ARGS__ }
#define SHARE(total) .method = METHOD_SHARE, .source = SOURCE_STAT, .n_totals = 1, .totals = { total }

static const Derivation derivations[N_METRICS] = {
#define X(id, key, key_unit, scale, family, unit, type, label, help, derivation) [METRIC_##id] = { derivation },
        METRICS(X)
#undef X
#define X(id, source, decimals, ...) [METRIC_##id] = { SUM(source, 1e##decimals, TOTAL_##id) },
        KERNEL_COUNTERS(X)
#undef X
};

/* Arguments and result of window_metrics() for the functions below. */
typedef struct WindowSpan {
        const WindowPeaks *peaks;
        const Totals *begin, *end;
        MetricSet *metrics;
} WindowSpan;

static uint64_t counted(const WindowSpan *span, Total total) {
        return span->end->value[total] - span->begin->value[total];
}

/* Equipment that a node has none of has counted nothing so far. */
static bool has_source(const WindowSpan *span, Source source) {
        return (span->begin->have | span->begin->none) & (span->end->have | span->end->none) & (1U << source);
}

static bool lacks_equipment(const WindowSpan *span, Source source) {
        return span->begin->none & span->end->none & (1U << source);
}

static void put(const WindowSpan *span, Metric metric, double value, Quality quality) {
        assert(metric < N_METRICS && quality < N_QUALITIES);
        span->metrics->value[metric] = quality_is_present(quality) ? value : 0;
        span->metrics->quality[metric] = (uint8_t)quality;
}

/* Sets a metric that comes from kernel counters. What a counter in doubt counted is a lower bound. */
static void put_counted(const WindowSpan *span, Metric metric, Source source, double value) {
        bool is_certain = span->begin->doubts[source] == span->end->doubts[source];
        Quality quality = span->peaks->lost || !is_certain ? QUALITY_SAMPLED : QUALITY_EXACT;

        if (lacks_equipment(span, source))
                quality = QUALITY_NO_EQUIPMENT;
        else if (!has_source(span, source))
                quality = QUALITY_UNKNOWN_SOURCE;
        put(span, metric, value, quality);
}

/* Corrects a metric that comes from a total which no item of the equipment has, or not each. */
static void put_gap(const WindowSpan *span, Metric metric, Total total) {
        uint32_t bit = totals_bit(total);

        if (!quality_is_present(span->metrics->quality[metric]))
                return;
        if ((span->begin->unknown | span->end->unknown) & bit)
                put(span, metric, 0, QUALITY_UNKNOWN_SOURCE);
        else if ((span->begin->partial | span->end->partial) & bit)
                span->metrics->quality[metric] = QUALITY_SAMPLED;
}

/* Sets a metric that comes from observations only. */
static void put_observed(const WindowSpan *span, Metric metric, Source source, bool has, double value) {
        Quality why_not = has_source(span, source) && span->peaks->n_observations == 0 ? QUALITY_TOO_SHORT
                                                                                       : QUALITY_UNKNOWN_SOURCE;

        put(span, metric, value, has ? QUALITY_SAMPLED : why_not);
}

static double sum_of(const WindowSpan *span, const Derivation *derivation) {
        uint64_t sum = 0;

        for (size_t i = 0; i < derivation->n_totals; i++)
                sum += counted(span, derivation->totals[i]);
        return (double)sum / derivation->per_unit;
}

static void put_derived(const WindowSpan *span) {
        uint64_t observed_ns = counted(span, TOTAL_OBSERVED_NS);

        for (Metric metric = 0; metric < N_METRICS; metric++) {
                const Derivation *derivation = &derivations[metric];

                switch (derivation->method) {
                case METHOD_OWN:
                        break;
                case METHOD_SUM:
                        put_counted(span, metric, derivation->source, sum_of(span, derivation));
                        for (size_t i = 0; i < derivation->n_totals; i++)
                                put_gap(span, metric, derivation->totals[i]);
                        break;
                case METHOD_SHARE:
                        put_observed(span, metric, derivation->source, observed_ns > 0,
                                     observed_ns > 0
                                             ? (double)counted(span, derivation->totals[0]) / (double)observed_ns
                                             : 0);
                        break;
                }
        }
}

/*
 * Sets the peaks; the mean must already be set. Due to kernel ticks of 10 ms, all observations of a short window may
 * be slightly below the mean.
 */
static void put_peaks(const WindowSpan *span) {
        const WindowPeaks *w = span->peaks;
        bool has_mean = quality_is_present(span->metrics->quality[METRIC_CPU_MEAN]);
        double mean = has_mean ? span->metrics->value[METRIC_CPU_MEAN] : 0;

        put_observed(span, METRIC_CPU_MAX, SOURCE_STAT, w->has_cpu, w->cpu_max > mean ? w->cpu_max : mean);
        put_observed(span, METRIC_CPU_MIN_MAX, SOURCE_STAT, w->has_cpu, w->cpu_min_max);
        put_observed(span, METRIC_CPU_MAX_MAX, SOURCE_STAT, w->has_cpu, w->cpu_max_max);
        put_observed(span, METRIC_MEM_MAX, SOURCE_MEMINFO, w->has_memory, w->memory_max);
        put_observed(span, METRIC_DISK_USAGE_MAX, SOURCE_FILESYSTEMS, w->has_root_filesystem, w->root_filesystem_max);
}

/* Sets mean utilization and CPU time from the kernel's ticks. A window without a tick has no mean. */
static void put_cpu(const WindowSpan *span) {
        double capacity_s = (double)counted(span, TOTAL_CAPACITY_NS) / (double)NS_PER_S, idle_share;
        uint64_t ticks = 0, idle_ticks = counted(span, TOTAL_CPU_IDLE) + counted(span, TOTAL_CPU_IOWAIT);

        for (Total total = TOTAL_CPU_USER; total <= TOTAL_CPU_GUEST_NICE; total++)
                ticks += counted(span, total);

        put_counted(span, METRIC_CPU_HOURS, SOURCE_STAT, capacity_s);
        if (ticks == 0) {
                Quality quality = has_source(span, SOURCE_STAT) ? QUALITY_TOO_SHORT : QUALITY_UNKNOWN_SOURCE;

                put(span, METRIC_CPU_MEAN, 0, quality);
                put(span, METRIC_CPU_UNUSED_HOURS, 0, quality);
                return;
        }

        idle_share = (double)idle_ticks / (double)ticks;
        put_counted(span, METRIC_CPU_MEAN, SOURCE_STAT, (double)(ticks - idle_ticks) / (double)ticks);
        put_counted(span, METRIC_CPU_UNUSED_HOURS, SOURCE_STAT, capacity_s * idle_share);
}

#define GPU_ENERGY_NS (10 * NS_PER_S) /* between the readings of a counter, of which each has all since the last one */

/* Sets the unused time of GPUs, and their activity over the time in which it was measured. */
static void put_gpus(const WindowSpan *span) {
        double present = (double)counted(span, TOTAL_GPU_PRESENT_US);
        double utilized = (double)counted(span, TOTAL_GPU_UTILIZED_US);
        double observed = (double)counted(span, TOTAL_GPU_SM_OBSERVED_US);
        double active = (double)counted(span, TOTAL_GPU_SM_ACTIVE_US);
        uint64_t elapsed_ns = span->end->boottime_ns - span->begin->boottime_ns;

        put_counted(span, METRIC_GPU_UNUSED_HOURS, SOURCE_GPU, utilized < present ? (present - utilized) / 1e6 : 0);
        put_gap(span, METRIC_GPU_UNUSED_HOURS, TOTAL_GPU_UTILIZED_US);
        put_counted(span, METRIC_GPU_ACTIVE, SOURCE_GPU, observed > 0 ? active / observed : 0);
        if (observed == 0 && quality_is_present(span->metrics->quality[METRIC_GPU_ACTIVE]))
                put(span, METRIC_GPU_ACTIVE, 0, QUALITY_TOO_SHORT);
        if (quality_is_present(span->metrics->quality[METRIC_GPU_ENERGY]))
                put(span, METRIC_GPU_ENERGY, span->metrics->value[METRIC_GPU_ENERGY],
                    elapsed_ns < GPU_ENERGY_NS ? QUALITY_TOO_SHORT : QUALITY_SAMPLED);
}

/* Sets the duration, which needs no source. It is unknown if perfd stopped before it took a sample of the window. */
static void put_time(const WindowSpan *span) {
        Quality quality = span->peaks->lost ? QUALITY_SAMPLED : QUALITY_EXACT;
        uint64_t elapsed_ns = span->end->boottime_ns - span->begin->boottime_ns;

        put(span, METRIC_DURATION, (double)elapsed_ns / (double)NS_PER_S,
            span->peaks->lost && elapsed_ns == 0 ? QUALITY_LOST : quality);
        put(span, METRIC_UNOBSERVED, (double)counted(span, TOTAL_UNOBSERVED_NS) / (double)NS_PER_S, quality);
}

/* Sets the mean intervals of the samples, and of the readings of the CPUs. */
static void put_interval(const WindowSpan *span, Metric metric, uint64_t n) {
        double observed_s = (double)counted(span, TOTAL_OBSERVED_NS) / (double)NS_PER_S;

        put_observed(span, metric, SOURCE_STAT, n > 0 && observed_s > 0, n > 0 ? observed_s / (double)n : 0);
        if (quality_is_present(span->metrics->quality[metric]) && !span->peaks->lost)
                span->metrics->quality[metric] = QUALITY_EXACT; /* the readings are counted */
}

void window_metrics(const Totals *begin, const WindowPeaks *peaks, const Totals *end, uint32_t n_cpus, MetricSet *ret) {
        WindowSpan span = { .begin = begin, .peaks = peaks, .end = end, .metrics = ret };

        *ret = (MetricSet){};
        compat_metrics(&peaks->compat, (double)end->realtime_ns / (double)NS_PER_S, n_cpus, ret->compat,
                       ret->has_compat);

        if (begin->boottime_ns == 0 || end->boottime_ns < begin->boottime_ns) {
                memset(ret->quality, QUALITY_LOST, sizeof(ret->quality));
                return;
        }

        put_time(&span);
        put_cpu(&span);
        put_peaks(&span);
        put_derived(&span);
        put_gpus(&span);
        put_interval(&span, METRIC_SAMPLE_INTERVAL, peaks->n_observations);
        put_interval(&span, METRIC_CPU_INTERVAL, counted(&span, TOTAL_CPU_READINGS));
}

/* --- record ----------------------------------------------------------------------------------- */

#define PEAK(member) RECORD_VALUE_AS(#member, Window, peaks.member)

const Record window_record = RECORD(Window,
        RECORD_STRUCT(Window, begin, &totals_record),
        PEAK(lost),
        PEAK(n_observations),
        PEAK(has_cpu),
        PEAK(cpu_max),
        PEAK(cpu_min_max),
        PEAK(cpu_max_max),
        PEAK(has_memory),
        PEAK(memory_max),
        PEAK(has_root_filesystem),
        PEAK(root_filesystem_max),
        RECORD_STRUCT_AS("compat", Window, peaks.compat, &compat_record));
