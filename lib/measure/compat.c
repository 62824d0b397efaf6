/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/compat.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "util/clock.h"

/* Fields of perf.py's sample: X(name, member) */
#define COUNTER_FIELD(id, source, metric, devices, is_included, member, field) X(field, boot_mib[PERFPY_##id])
#define FIELDS \
        X("cpu_pct_per_cpu_avg", cpu_avg) \
        X("cpu_pct_per_cpu_min", cpu_min) \
        X("cpu_pct_per_cpu_max", cpu_max) \
        X("mem_percent",         memory) \
        X("disk_usage_percent",  disk_usage) \
        PERFPY_COUNTERS(COUNTER_FIELD) \
        X("timestamp",           timestamp_s)

#define X(name, member) name,
const char *const compat_field_names[N_PERFPY_FIELDS] = { FIELDS };
#undef X

#define X(name, member) offsetof(PerfpySample, member),
static const size_t perfpy_offsets[N_PERFPY_FIELDS] = { FIELDS };
#undef X

#define X(id, source_, metric_, ...)                                                                                   \
        [PERFPY_##id] = { .total = TOTAL_##id, .source = SOURCE_##source_, .metric = METRIC_##metric_ },
const PerfpyCounterInfo perfpy_counters[N_PERFPY_COUNTERS] = { PERFPY_COUNTERS(X) };
#undef X

double compat_field(const PerfpySample *sample, size_t field) {
        double v;

        assert(field < N_PERFPY_FIELDS);
        memcpy(&v, (const char *)sample + perfpy_offsets[field], sizeof(v));
        return v;
}

void compat_set_field(PerfpySample *sample, size_t field, double v) {
        assert(field < N_PERFPY_FIELDS);
        memcpy((char *)sample + perfpy_offsets[field], &v, sizeof(v));
}

/* Preserves NaN. */
static double rounded_percent(double ratio) {
        return rint(ratio * 1000) / 10;
}

void compat_sample(const Observation *observation, uint64_t realtime_ns, PerfpySample *ret) {
        const Observation *o = observation;

        *ret = (PerfpySample){
                .cpu_avg = o->has_cpu ? o->cpu_rounded_mean * 100 : NAN,
                .cpu_min = o->has_cpu ? rounded_percent(o->cpu_min) : NAN,
                .cpu_max = o->has_cpu ? rounded_percent(o->cpu_max) : NAN,
                .memory = o->has_memory ? rounded_percent(o->memory) : NAN,
                .disk_usage = o->has_root_filesystem ? rounded_percent(o->root_filesystem) : NAN,
                .timestamp_s = (double)realtime_ns / (double)NS_PER_S,
        };
        memcpy(ret->boot_mib, o->boot_mib, sizeof(ret->boot_mib));
}

/* Updates a maximum. The first value is always used, NaN never. */
static void update_max(double *max, bool *has, double v) {
        if (isnan(v))
                return;
        if (!*has || v > *max)
                *max = v;
        *has = true;
}

static void add_cpu(Compat *compat, const PerfpySample *sample) {
        /* allows for rounding: a mean of values rounded to 0.1 can be slightly below 100 */
        double u = sample->cpu_avg + 1e-9;

        compat->n++;
        compat->cpu_sum += sample->cpu_avg;
        compat->n_at100 += u >= 100;
        compat->n_over80 += u >= 80;
        compat->n_over40 += u >= 40;
        compat->n_over20 += u >= 20;
}

static void add_boot_counters(Compat *compat, const double mib[static N_PERFPY_COUNTERS]) {
        bool has_disk_io = compat->has_disk_io, has_net_io = compat->has_net_io;

        for (PerfpyCounter i = 0; i < N_PERFPY_COUNTERS; i++) {
                bool is_disk = perfpy_counters[i].source == SOURCE_DISKSTATS, has = is_disk ? has_disk_io : has_net_io;

                update_max(&compat->boot_mib_max[i], &has, mib[i]);
                *(is_disk ? &compat->has_disk_io : &compat->has_net_io) |= has;
        }
}

void compat_add(Compat *compat, const PerfpySample *sample) {
        bool has_min = compat->has_cpu, has_max = compat->has_cpu;

        if (!isnan(sample->cpu_avg)) {
                if (compat->n == 0)
                        compat->first_timestamp_s = sample->timestamp_s;
                add_cpu(compat, sample);
        }

        update_max(&compat->cpu_min_max, &has_min, sample->cpu_min);
        update_max(&compat->cpu_max_max, &has_max, sample->cpu_max);
        update_max(&compat->cpu_max, &compat->has_cpu, sample->cpu_avg);
        update_max(&compat->memory_max, &compat->has_memory, sample->memory);
        update_max(&compat->disk_usage_max, &compat->has_disk_usage, sample->disk_usage);
        add_boot_counters(compat, sample->boot_mib);
}

static void put_cpu(const Compat *compat, double reporting_time_s, uint32_t n_cpus,
                    double ret[static N_PERFPY_METRICS]) {
        double n = (double)compat->n, mean = compat->cpu_sum / n;
        double hours = (reporting_time_s - compat->first_timestamp_s) * n_cpus / 3600;

        ret[METRIC_CPU_MAX] = compat->cpu_max;
        ret[METRIC_CPU_MEAN] = mean;
        ret[METRIC_CPU_AT100] = 100 * (double)compat->n_at100 / n;
        ret[METRIC_CPU_OVER80] = 100 * (double)compat->n_over80 / n;
        ret[METRIC_CPU_OVER40] = 100 * (double)compat->n_over40 / n;
        ret[METRIC_CPU_OVER20] = 100 * (double)compat->n_over20 / n;
        ret[METRIC_CPU_MIN_MAX] = compat->cpu_min_max;
        ret[METRIC_CPU_MAX_MAX] = compat->cpu_max_max;
        ret[METRIC_CPU_HOURS] = hours;
        ret[METRIC_CPU_UNUSED_HOURS] = hours * (100 - mean) / 100;
}

void compat_metrics(const Compat *compat, double reporting_time_s, uint32_t n_cpus,
                    double ret[static N_PERFPY_METRICS], bool ret_has[static N_PERFPY_METRICS]) {
        for (size_t i = 0; i < N_PERFPY_METRICS; i++) {
                ret[i] = 0;
                ret_has[i] = i <= METRIC_CPU_UNUSED_HOURS && compat->n > 0;
        }

        if (compat->n > 0)
                put_cpu(compat, reporting_time_s, n_cpus, ret);

        ret[METRIC_MEM_MAX] = compat->memory_max;
        ret_has[METRIC_MEM_MAX] = compat->has_memory;
        ret[METRIC_DISK_USAGE_MAX] = compat->disk_usage_max;
        ret_has[METRIC_DISK_USAGE_MAX] = compat->has_disk_usage;

        for (PerfpyCounter i = 0; i < N_PERFPY_COUNTERS; i++) {
                const PerfpyCounterInfo *counter = &perfpy_counters[i];

                ret[counter->metric] = compat->boot_mib_max[i];
                ret_has[counter->metric] = counter->source == SOURCE_DISKSTATS ? compat->has_disk_io
                                                                               : compat->has_net_io;
        }
}

#define X(id, source, metric, devices, is_included, member, field)                                                     \
        RECORD_VALUE_AS(field, Compat, boot_mib_max[PERFPY_##id]),
const Record compat_record = RECORD(Compat,
        RECORD_VALUE(Compat, n),
        RECORD_VALUE(Compat, first_timestamp_s),
        RECORD_VALUE(Compat, cpu_sum),
        RECORD_VALUE(Compat, n_at100),
        RECORD_VALUE(Compat, n_over80),
        RECORD_VALUE(Compat, n_over40),
        RECORD_VALUE(Compat, n_over20),
        RECORD_VALUE(Compat, has_cpu),
        RECORD_VALUE(Compat, cpu_max),
        RECORD_VALUE(Compat, cpu_min_max),
        RECORD_VALUE(Compat, cpu_max_max),
        RECORD_VALUE(Compat, has_memory),
        RECORD_VALUE(Compat, memory_max),
        RECORD_VALUE(Compat, has_disk_usage),
        RECORD_VALUE(Compat, disk_usage_max),
        RECORD_VALUE(Compat, has_disk_io),
        RECORD_VALUE(Compat, has_net_io),
        PERFPY_COUNTERS(X));
#undef X
