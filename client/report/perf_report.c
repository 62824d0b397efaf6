/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/perf_report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "client/api/answer.h"
#include "series/timeline.h"

/* --- writing -------------------------------------------------------------------------------------- */

/* Fields in the order of the perf.py artifact, with their offsets in a sample. */
static const struct {
        const char *name;
        size_t offset;
} fields[N_PERF_REPORT_FIELDS] = {
        { "cpu_pct_per_cpu_avg", offsetof(PerfpySample, cpu_avg) },
        { "cpu_pct_per_cpu_min", offsetof(PerfpySample, cpu_min) },
        { "cpu_pct_per_cpu_max", offsetof(PerfpySample, cpu_max) },
        { "mem_percent", offsetof(PerfpySample, memory) },
        { "disk_usage_percent", offsetof(PerfpySample, disk_usage) },
        { "disk_io_read_mb", offsetof(PerfpySample, boot_mib[0]) },
        { "disk_io_write_mb", offsetof(PerfpySample, boot_mib[1]) },
        { "net_io_lo_sent_mb", offsetof(PerfpySample, boot_mib[2]) },
        { "net_io_ext_sent_mb", offsetof(PerfpySample, boot_mib[4]) },
        { "net_io_lo_recv_mb", offsetof(PerfpySample, boot_mib[3]) },
        { "net_io_ext_recv_mb", offsetof(PerfpySample, boot_mib[5]) },
        { "timestamp", offsetof(PerfpySample, timestamp_s) },
};

const char *perf_report_field_name(size_t field) {
        return fields[field].name;
}

double perf_report_field(const PerfpySample *sample, size_t field) {
        double v;

        memcpy(&v, (const char *)sample + fields[field].offset, sizeof(v));
        return v;
}

/*
 * Formats as Python's repr(): the shortest text that parses to the same number, such as "59.2", "1700000000.0",
 * "1e-05", "1.5e+16".
 */
static void put_double(Buffer *out, double v) {
        int precision = 0, exponent;
        char text[32];

        if (!isfinite(v)) {
                buffer_puts(out, "null");
                return;
        }

        do
                snprintf(text, sizeof(text), "%.*e", precision++, v);
        while (strtod(text, NULL) != v);
        exponent = atoi(strchr(text, 'e') + 1);
        if (exponent < -4 || exponent >= 16)
                buffer_puts(out, text);
        else
                buffer_printf(out, "%.*f", precision - exponent > 1 ? precision - exponent - 1 : 1, v);
}

void perf_report_begin(Buffer *out) {
        buffer_putc(out, '{');
}

static void put_sample(Buffer *out, const PerfpySample *sample) {
        buffer_puts(out, "        {\n");
        for (size_t i = 0; i < N_PERF_REPORT_FIELDS; i++) {
                buffer_printf(out, "            \"%s\": ", fields[i].name);
                put_double(out, perf_report_field(sample, i));
                buffer_puts(out, i + 1 < N_PERF_REPORT_FIELDS ? ",\n" : "\n");
        }
        buffer_puts(out, "        }");
}

void perf_report_put(Buffer *out, int64_t rank, const PerfpySample *samples, size_t n, bool is_first) {
        buffer_printf(out, "%s\n    \"%jd\": [", is_first ? "" : ",", (intmax_t)rank);
        for (size_t i = 0; i < n; i++) {
                buffer_puts(out, i > 0 ? ",\n" : "\n");
                put_sample(out, &samples[i]);
        }
        buffer_puts(out, n > 0 ? "\n    ]" : "]");
}

void perf_report_end(Buffer *out) {
        buffer_puts(out, "\n}");
}

/* --- reading a timeline --------------------------------------------------------------------------- */

/* Totals of the whole job in perf.py's units; NAN if unknown. */
typedef struct Whole {
        bool is_compat;
        double cpu_mean, cpu_min, cpu_max, memory, disk_usage;
        double delta_mib[N_BOOT_COUNTERS]; /* since the job began */
        double end_mib[N_BOOT_COUNTERS];   /* value of the last sample: since the job began, or in compat mode since
                                            * boot */
} Whole;

/* One series of the timeline. */
typedef struct Track {
        const Value *mean, *max;
} Track;

typedef struct Timetable {
        double begin_ms, interval_ms, end_ms;
        size_t n;
        Track tracks[N_SERIES];
} Timetable;

/* Series whose rate is the rate of change of a counter of N_BOOT_COUNTERS; N_SERIES: no series. */
static const Series counter_series[N_BOOT_COUNTERS] = {
        SERIES_DISK_READ, SERIES_DISK_WRITE, N_SERIES, N_SERIES, SERIES_NET_SENT, SERIES_NET_RECEIVED,
};
static const Metric counter_metrics[N_BOOT_COUNTERS] = {
        METRIC_DISK_READ, METRIC_DISK_WRITE, METRIC_NET_LO_SENT, METRIC_NET_LO_RECV, METRIC_NET_EXT_SENT, METRIC_NET_EXT_RECV,
};

static double number_at(const Value *list, size_t i) {
        if (!list || list->type != VALUE_LIST || i >= list->n_items)
                return NAN;
        if (list->items[i].type == VALUE_INT)
                return (double)list->items[i].integer;

        return list->items[i].type == VALUE_DOUBLE ? list->items[i].number : NAN;
}

static double find_metric(const Value *job, const char *list, Metric metric) {
        return answer_number(answer_find(value_get(job, list), "key", metric_info[metric].key), "value");
}

static void read_whole(const Value *job, bool is_compat, Whole *ret) {
        const char *list = is_compat ? "compat" : "metrics";

        *ret = (Whole){
                .is_compat = is_compat,
                .cpu_mean = find_metric(job, list, METRIC_CPU_MEAN),
                .cpu_min = find_metric(job, list, METRIC_CPU_MIN_MAX),
                .cpu_max = find_metric(job, list, METRIC_CPU_MAX_MAX),
                .memory = find_metric(job, list, METRIC_MEM_MAX),
                .disk_usage = find_metric(job, list, METRIC_DISK_USAGE_MAX),
        };
        for (size_t i = 0; i < N_BOOT_COUNTERS; i++) {
                ret->delta_mib[i] = find_metric(job, "metrics", counter_metrics[i]);
                ret->end_mib[i] = find_metric(job, list, counter_metrics[i]);
        }
}

/* Returns the end of the job; of a running job, the time of its latest metrics. */
static double find_end_ms(const Value *job, double begin_ms) {
        const Value *metrics = value_get(job, "metrics");
        double end_ms;

        if (value_get_double(job, "end_ms", &end_ms))
                return end_ms;
        if (metrics && metrics->type == VALUE_LIST && metrics->n_items > 0 && value_get_double(&metrics->items[0], "timestamp", &end_ms))
                return end_ms;
        return begin_ms;
}

static void read_timetable(const Value *job, const Value *timeline, Timetable *ret) {
        const Value *all = value_get(timeline, "series");

        *ret = (Timetable){};
        if (!value_get_double(timeline, "begin_ms", &ret->begin_ms))
                (void)value_get_double(job, "begin_ms", &ret->begin_ms);
        (void)value_get_double(timeline, "interval_ms", &ret->interval_ms);
        ret->end_ms = find_end_ms(job, ret->begin_ms);

        for (Series series = 0; series < N_SERIES; series++) {
                const Value *one = value_get(all, timeline_series_name(series));
                Track *track = &ret->tracks[series];

                track->mean = value_get(one, "mean");
                track->max = value_get(one, "max");
                if (track->mean && track->mean->type == VALUE_LIST && track->mean->n_items > ret->n)
                        ret->n = track->mean->n_items;
        }
}

static double point_end_ms(const Timetable *timetable, size_t i) {
        return fmin(timetable->begin_ms + (double)(i + 1) * timetable->interval_ms, timetable->end_ms);
}

/* Returns the number of bytes that a rate amounts to over a point of the timeline. */
static double point_bytes(const Timetable *timetable, Series series, size_t i) {
        double seconds = (point_end_ms(timetable, i) - timetable->begin_ms - (double)i * timetable->interval_ms) / 1e3;
        double rate = series < N_SERIES ? number_at(timetable->tracks[series].mean, i) : NAN;

        return isnan(rate) || seconds <= 0 ? 0 : rate * seconds;
}

static bool is_observed(const Timetable *timetable, size_t i) {
        for (Series series = 0; series < N_SERIES; series++)
                if (!isnan(number_at(timetable->tracks[series].mean, i)))
                        return true;
        return false;
}

/* Rounds to three decimals; a timeline has a lower resolution. */
static double percent(double ratio) {
        return rint(ratio * 1e5) / 1e3;
}

/* Puts totals of the whole job into every sample: perf.py uses only their maximum. */
static void fill_sample(const Whole *whole, const Timetable *timetable, size_t i, PerfpySample *ret) {
        double memory = number_at(timetable->tracks[SERIES_MEMORY].max, i);

        *ret = (PerfpySample){
                .cpu_avg = percent(number_at(timetable->tracks[SERIES_CPU].mean, i)),
                .cpu_min = whole->cpu_min,
                .cpu_max = whole->cpu_max,
                .memory = whole->is_compat ? rint(memory * 1e3) / 10 : percent(memory),
                .disk_usage = whole->disk_usage,
                .timestamp_s = point_end_ms(timetable, i) / 1e3,
        };
}

/*
 * The last sample gets the total and the end time; earlier samples get a share in proportion to the bytes up to their
 * time.
 */
static void fill_counters(const Whole *whole, const Timetable *timetable, const size_t *points, size_t n, PerfpySample *samples) {
        for (size_t c = 0; c < N_BOOT_COUNTERS; c++) {
                double sum = 0, so_far = 0, delta;
                size_t at = 0;

                for (size_t i = 0; i < timetable->n; i++)
                        sum += point_bytes(timetable, counter_series[c], i);
                delta = isnan(whole->delta_mib[c]) ? sum * PER_MIB : whole->delta_mib[c];

                for (size_t k = 0; k < n; k++) {
                        for (; at <= points[k]; at++)
                                so_far += point_bytes(timetable, counter_series[c], at);
                        samples[k].boot_mib[c] = whole->end_mib[c];
                        if (k + 1 < n)
                                samples[k].boot_mib[c] -= fmin(delta, whole->end_mib[c]) * (sum > 0 ? 1 - so_far / sum : 1);
                }
        }
        samples[n - 1].timestamp_s = timetable->end_ms / 1e3;
}

static bool has_fields(const PerfpySample *sample) {
        for (size_t i = 0; i + 1 < N_PERF_REPORT_FIELDS; i++)
                if (!isnan(perf_report_field(sample, i)))
                        return true;
        return false;
}

/* Makes the only sample of a job too short for a timeline, from the job's totals. */
static void fill_only_sample(const Whole *whole, const Timetable *timetable, PerfpySample *ret) {
        *ret = (PerfpySample){
                .cpu_avg = whole->cpu_mean,
                .cpu_min = whole->cpu_min,
                .cpu_max = whole->cpu_max,
                .memory = whole->memory,
                .disk_usage = whole->disk_usage,
                .timestamp_s = timetable->end_ms / 1e3,
        };
        memcpy(ret->boot_mib, whole->end_mib, sizeof(ret->boot_mib));
}

int perf_report_samples(const Value *job, const Value *timeline, bool is_compat, PerfpySample **ret, size_t *ret_n) {
        scoped(freep) PerfpySample *samples = NULL;
        scoped(freep) size_t *points = NULL;
        Timetable timetable;
        Whole whole;
        size_t n = 0;

        read_whole(job, is_compat, &whole);
        read_timetable(job, timeline, &timetable);
        samples = calloc(timetable.n + 1, sizeof(*samples));
        points = calloc(timetable.n + 1, sizeof(*points));
        if (!samples || !points)
                return -ENOMEM;

        for (size_t i = 0; i < timetable.n; i++) {
                if (!is_observed(&timetable, i))
                        continue;
                fill_sample(&whole, &timetable, i, &samples[n]);
                points[n++] = i;
        }
        if (n > 0)
                fill_counters(&whole, &timetable, points, n, samples);
        else {
                fill_only_sample(&whole, &timetable, &samples[n++]);
                if (!has_fields(&samples[0]))
                        return PERF_REPORT_EMPTY;
        }

        *ret = TAKE(samples);
        *ret_n = n;
        return 0;
}
