/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/perf_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/api/answer.h"
#include "util/array.h"
#include "util/parse.h"
#include "value/value_parse.h"

void perf_report_deinit(PerfReport *report) {
        for (size_t i = 0; i < report->n_ranks; i++)
                free(report->ranks[i].samples);
        free(report->ranks);
        *report = (PerfReport){};
}

static int add_rank(PerfReport *report, int64_t rank, const char *from, size_t n, PerfReportRank **ret) {
        PerfpySample *samples = calloc(n + 1, sizeof(*samples));

        if (!samples || ARRAY_EXTEND(report->ranks, report->n_ranks) < 0) {
                free(samples);
                return -ENOMEM;
        }

        report->ranks[report->n_ranks] = (PerfReportRank){ .rank = rank, .from = from, .samples = samples, .n = n };
        *ret = &report->ranks[report->n_ranks++];
        return 0;
}

/* --- from perfd ----------------------------------------------------------------------------------- */

static double number_of(const Value *value) {
        if (value->type == VALUE_INT)
                return (double)value->integer;
        return value->type == VALUE_DOUBLE ? value->number : NAN;
}

/* Returns the number of samples in the answer: the length of its longest list. */
static size_t count_samples(const Value *lists) {
        size_t n_max = 0;

        for (size_t field = 0; field < N_PERFPY_FIELDS; field++) {
                size_t n = answer_length(value_get(lists, compat_field_names[field]));

                n_max = n > n_max ? n : n_max;
        }
        return n_max;
}

int perf_report_add_samples(PerfReport *report, const char *from, const Value *answer) {
        const Value *lists = value_get(answer, "samples");
        size_t n = count_samples(lists);
        PerfReportRank *rank;
        int64_t number = 0;
        int r;

        if (n == 0)
                return PERF_REPORT_EMPTY;

        (void)value_get_int(answer, "rank", &number);
        r = add_rank(report, number, from, n, &rank);
        if (r < 0)
                return r;

        for (size_t field = 0; field < N_PERFPY_FIELDS; field++) {
                const Value *list = value_get(lists, compat_field_names[field]);

                for (size_t i = 0; i < n; i++)
                        compat_set_field(&rank->samples[i], field,
                                         i < answer_length(list) ? number_of(&list->items[i]) : NAN);
        }
        return 0;
}

static double find_metric(const Value *job, Metric metric) {
        return answer_number(answer_find(value_get(job, "metrics"), "key", metric_info[metric].key), "value");
}

static bool has_fields(const PerfpySample *sample) {
        for (size_t field = 0; field + 1 < N_PERFPY_FIELDS; field++)
                if (!isnan(compat_field(sample, field)))
                        return true;
        return false;
}

int perf_report_add_totals(PerfReport *report, const char *from, const Value *job) {
        const Value *metrics = value_get(job, "metrics");
        PerfpySample sample = {
                .cpu_avg = find_metric(job, METRIC_CPU_MEAN),
                .cpu_min = find_metric(job, METRIC_CPU_MIN_MAX),
                .cpu_max = find_metric(job, METRIC_CPU_MAX_MAX),
                .memory = find_metric(job, METRIC_MEM_MAX),
                .disk_usage = find_metric(job, METRIC_DISK_USAGE_MAX),
        };
        double time_ms = answer_number(job, "end_ms");
        PerfReportRank *rank;
        int64_t number = 0;
        int r;

        for (size_t i = 0; i < N_PERFPY_COUNTERS; i++)
                sample.boot_mib[i] = find_metric(job, perfpy_counters[i].metric);
        if (!has_fields(&sample))
                return PERF_REPORT_EMPTY;

        if (isnan(time_ms) && answer_length(metrics) > 0) /* of a running job */
                time_ms = answer_number(&metrics->items[0], "timestamp");
        sample.timestamp_s = time_ms / 1e3;
        (void)value_get_int(job, "rank", &number);
        r = add_rank(report, number, from, 1, &rank);
        if (r == 0)
                rank->samples[0] = sample;
        return r;
}

/* --- from an artifact ----------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int refuse(PerfReport *report, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(report->error, sizeof(report->error), format, args);
        va_end(args);
        return PERF_REPORT_INVALID;
}

static int read_sample(PerfReport *report, const PerfReportRank *rank, size_t at, const Value *object,
                       PerfpySample *ret) {
        for (size_t field = 0; field < N_PERFPY_FIELDS; field++) {
                const Value *value = value_get(object, compat_field_names[field]);

                if (!value || (!value_is_number(value) && value->type != VALUE_NULL))
                        return refuse(report, "%s: rank %jd, sample %zu: '%s' is %s; expected a number or null",
                                      rank->from, (intmax_t)rank->rank, at + 1, compat_field_names[field],
                                      value ? value_type_text(value) : "missing");
                compat_set_field(ret, field, number_of(value));
        }
        return 0;
}

static int read_rank(PerfReport *report, const char *file, const Member *member) {
        const Value *list = &member->value;
        PerfReportRank *rank;
        uint64_t number;
        int r;

        if (parse_u64(member->key, &number) != 0 || number > INT64_MAX)
                return refuse(report,
                              "%s: '%.80s' is not a rank; expected an artifact of perf.py, {\"0\": [{…}, …], …}", file,
                              member->key);
        if (list->type != VALUE_LIST)
                return refuse(report, "%s: rank %s is %s; expected a list of samples", file, member->key,
                              value_type_text(list));

        r = add_rank(report, (int64_t)number, file, list->n_items, &rank);
        for (size_t i = 0; r == 0 && i < list->n_items; i++)
                r = read_sample(report, rank, i, &list->items[i], &rank->samples[i]);
        return r;
}

int perf_report_add_artifact(PerfReport *report, const char *file, const char *text, size_t n) {
        scoped(arena_deinit) Arena arena = {};
        const Value *document;
        ValueError error;
        int r;

        r = value_parse_only(text, n, &arena, &document, &error);
        if (r < 0)
                return r;
        if (r == VALUE_MALFORMED)
                return refuse(report, "%s:%u:%u: %s", file, error.line, error.column, error.text);
        if (r != 0 || document->type != VALUE_OBJECT || document->n_members == 0)
                return refuse(report, "%s: expected one artifact of perf.py, {\"0\": [{…}, …], …}", file);

        r = 0;
        for (size_t i = 0; r == 0 && i < document->n_members; i++)
                r = read_rank(report, file, &document->members[i]);
        return r;
}

/* --- all ranks ------------------------------------------------------------------------------------ */

static int compare_ranks(const void *a, const void *b) {
        int64_t x = ((const PerfReportRank *)a)->rank, y = ((const PerfReportRank *)b)->rank;

        return COMPARE(x, y);
}

int perf_report_join(PerfReport *report, bool renumber) {
        for (size_t i = 0; renumber && i < report->n_ranks; i++)
                report->ranks[i].rank = (int64_t)i;

        if (report->n_ranks > 0)
                qsort(report->ranks, report->n_ranks, sizeof(*report->ranks), compare_ranks);
        for (size_t i = 1; i < report->n_ranks; i++) {
                const PerfReportRank *a = &report->ranks[i - 1], *b = &report->ranks[i];

                if (a->rank == b->rank)
                        return refuse(
                                report,
                                "'%s' and '%s' both have rank %jd; --renumber numbers the ranks in the order of the "
                                "arguments",
                                a->from, b->from, (intmax_t)a->rank);
        }
        return 0;
}

/* --- writing -------------------------------------------------------------------------------------- */

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

static void put_sample(Buffer *out, const PerfpySample *sample) {
        buffer_puts(out, "        {\n");
        for (size_t field = 0; field < N_PERFPY_FIELDS; field++) {
                buffer_printf(out, "            \"%s\": ", compat_field_names[field]);
                put_double(out, compat_field(sample, field));
                buffer_puts(out, field + 1 < N_PERFPY_FIELDS ? ",\n" : "\n");
        }
        buffer_puts(out, "        }");
}

static void put_rank(Buffer *out, const PerfReportRank *rank) {
        buffer_printf(out, "\n    \"%jd\": [", (intmax_t)rank->rank);
        for (size_t i = 0; i < rank->n; i++) {
                buffer_puts(out, i > 0 ? ",\n" : "\n");
                put_sample(out, &rank->samples[i]);
        }
        buffer_puts(out, rank->n > 0 ? "\n    ]" : "]");
}

void perf_report_write(const PerfReport *report, Buffer *out) {
        buffer_putc(out, '{');
        for (size_t i = 0; i < report->n_ranks; i++) {
                buffer_puts(out, i > 0 ? "," : "");
                put_rank(out, &report->ranks[i]);
        }
        buffer_puts(out, "\n}");
}
