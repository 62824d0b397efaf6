/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report_total.h"

#include <math.h>

/* --- sums and maxima ------------------------------------------------------------------------------ */

/* Returns the report with the metric of the i-th rank or host; NULL if the metric is missing. */
static const RankReport *find_part(const ReportRun *run, TotalOf of, size_t i, const char *key, AnswerMetric *ret) {
        const RankReport *report = of == TOTAL_OF_HOSTS ? run->hosts[i].record : &run->reports[i];

        return (of == TOTAL_OF_HOSTS || report->counts) && answer_metric(report->job, key, ret) ? report : NULL;
}

static size_t count_parts(const ReportRun *run, TotalOf of) {
        return of == TOTAL_OF_HOSTS ? run->n_hosts : run->n_reports;
}

bool report_total_sum(const ReportRun *run, TotalOf of, const char *key, ReportTotal *ret) {
        AnswerMetric value;

        *ret = (ReportTotal){ .is_exact = true };
        for (size_t i = 0; i < count_parts(run, of); i++) {
                if (!find_part(run, of, i, key, &value))
                        continue;
                ret->value += value.value;
                ret->unit = value.unit;
                ret->is_exact &= value.is_exact;
                ret->n++;
        }
        return ret->n > 0;
}

bool report_total_max(const ReportRun *run, TotalOf of, const char *key, ReportTotal *ret) {
        AnswerMetric value;

        *ret = (ReportTotal){ .is_exact = true };
        for (size_t i = 0; i < count_parts(run, of); i++) {
                const RankReport *report = find_part(run, of, i, key, &value);

                if (!report)
                        continue;
                ret->is_exact &= value.is_exact;
                ret->n++;
                if (ret->at && value.value <= ret->value)
                        continue;
                ret->value = value.value;
                ret->unit = value.unit;
                ret->at = report;
        }
        return ret->n > 0;
}

void report_total_format(Sheet *sheet, const ReportTotal *total, char ret[static TEXT_MAX]) {
        sheet_format(sheet, &(AnswerMetric){ .value = total->value, .unit = total->unit, .is_exact = total->is_exact },
                     ret);
}

/* --- allocated resources -------------------------------------------------------------------------- */

/* Finds the CPUs that a rank was allowed to use: as measured, or its own limit, else all CPUs of the node. */
static bool find_cpus(const ReportRun *run, size_t i, AnswerMetric *ret) {
        const RankReport *report = &run->reports[i];

        if (find_part(run, TOTAL_OF_RANKS, i, "job_cpus_given", ret))
                return true;
        return find_part(run, TOTAL_OF_RANKS, i, "job_cpus_used", ret) &&
               (value_get_double(value_get(report->job, "limits"), "cpus", &ret->value) ||
                value_get_double(report->on, "cpus", &ret->value));
}

static bool find_given(const ReportRun *run, size_t i, bool is_seconds, AnswerMetric *ret) {
        AnswerMetric unused;

        if (!is_seconds)
                return find_cpus(run, i, ret);
        if (!find_part(run, TOTAL_OF_RANKS, i, "job_cpu_seconds", ret) ||
            !find_part(run, TOTAL_OF_RANKS, i, "job_cpu_unused_seconds", &unused))
                return false;

        ret->value += unused.value;
        ret->is_exact &= unused.is_exact;
        return true;
}

/* Returns the CPUs or CPU seconds that a host has for all of its ranks; INFINITY if unknown. */
static double host_capacity(const RunHost *host, bool is_seconds) {
        double cpus = answer_number(host->record->on, "cpus");

        if (!(cpus > 0))
                return INFINITY;
        return is_seconds ? cpus * (double)(host->end_ms - host->begin_ms) / 1e3 : cpus;
}

static void add_given(const ReportRun *run, size_t host, double capacity, bool is_seconds, ReportTotal *total) {
        AnswerMetric value;
        double sum = 0;
        size_t n = 0;

        for (size_t i = 0; i < run->n_reports; i++) {
                if (run->reports[i].host != host || !find_given(run, i, is_seconds, &value))
                        continue;
                sum += value.value;
                total->is_exact &= value.is_exact;
                n++;
        }

        /*
         * Begin and end are measured with another clock than CPU time, so a single rank may exceed the capacity
         * slightly.
         */
        total->value += n > 1 && sum > capacity ? capacity : sum;
        total->n += n;
}

bool report_total_given(const ReportRun *run, bool is_seconds, ReportTotal *ret) {
        *ret = (ReportTotal){ .is_exact = true };
        for (size_t i = 0; i < run->n_hosts; i++)
                add_given(run, i, host_capacity(&run->hosts[i], is_seconds), is_seconds, ret);
        add_given(run, SIZE_MAX, INFINITY, is_seconds, ret);
        return ret->n > 0;
}

/* --- spread --------------------------------------------------------------------------------------- */

bool report_total_spread(const ReportRun *run, const char *key, Spread *ret) {
        double sum = 0;

        *ret = (Spread){ .is_exact = true };
        for (size_t i = 0; i < run->n_reports; i++) {
                const RankReport *report = &run->reports[i];
                AnswerMetric value = { .value = report_run_rank_seconds(report), .is_exact = true };

                if (key && !find_part(run, TOTAL_OF_RANKS, i, key, &value))
                        continue;
                if (ret->n == 0 || value.value < ret->min) {
                        ret->min = value.value;
                        ret->least = report;
                }
                if (ret->n == 0 || value.value > ret->max) {
                        ret->max = value.value;
                        ret->most = report;
                }
                sum += value.value;
                ret->is_exact &= value.is_exact;
                ret->n++;
        }

        if (ret->n > 0)
                ret->mean = sum / (double)ret->n;
        return ret->n > 1;
}

double report_total_imbalance(const Spread *spread) {
        return spread->mean > 0 ? spread->max / spread->mean : NAN;
}
