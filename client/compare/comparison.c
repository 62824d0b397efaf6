/* SPDX-License-Identifier: Apache-2.0 */
#include "client/compare/comparison.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rank_sum.h"
#include "analysis/statistics.h"
#include "client/cli/message.h"
#include "util/buffer.h"
#include "util/scoped.h"

#define DRIFT_PAIRS_MIN 16U
#define DRIFT_PROBABILITY 0.001
#define EQUAL 1e-12 /* differences of rounding */

const ComparisonResourceInfo comparison_resources[N_COMPARISON_RESOURCES] = {
        [COMPARISON_WALL_TIME] = { "wall time", "s", NULL },
        [COMPARISON_CPU_TIME] = { "CPU time", "s", "job_cpu_seconds" },
        [COMPARISON_MEMORY] = { "peak memory", "bytes", NULL },
        [COMPARISON_JOB_MEMORY] = { "peak memory of the job", "bytes", "job_memory_peak_bytes" },
        [COMPARISON_READ] = { "bytes read", "bytes", "job_io_read_bytes" },
        [COMPARISON_WRITTEN] = { "bytes written", "bytes", "job_io_written_bytes" },
};

void comparison_put(PairedRuns *runs, size_t pair, ComparisonSide side, const char *name, const char *unit,
                    double value) {
        ComparisonSeries *series = runs->series;

        while (series < &runs->series[runs->n_series] && strncmp(series->name, name, COMPARISON_NAME_MAX - 1) != 0)
                series++;
        if (!isfinite(value) || series == &runs->series[COMPARISON_SERIES_MAX])
                return;
        if (series == &runs->series[runs->n_series]) {
                runs->n_series++;
                (void)snprintf(series->name, sizeof(series->name), "%s", name);
                series->unit = unit;
                for (size_t i = 0; i < PAIRED_PAIRS_MAX * N_COMPARISON_SIDES; i++)
                        series->values[i / N_COMPARISON_SIDES][i % N_COMPARISON_SIDES] = NAN;
        }
        series->values[pair][side] = value;
}

void comparison_put_resources(PairedRuns *runs, size_t pair, ComparisonSide side,
                              const double values[static N_COMPARISON_RESOURCES]) {
        for (ComparisonResource i = 0; i < N_COMPARISON_RESOURCES; i++)
                comparison_put(runs, pair, side, comparison_resources[i].name, comparison_resources[i].unit, values[i]);
}

const ComparisonSeries *comparison_find(const PairedRuns *runs, const char *name) {
        scoped(buffer_deinit) Buffer names = {};

        for (size_t i = 0; i < runs->n_series; i++) {
                const char *whole = runs->series[i].name, *last = strrchr(whole, ' ');

                if (strcasecmp(whole, name) == 0 || (last && strcasecmp(last + 1, name) == 0))
                        return &runs->series[i];
                buffer_printf(&names, "%s%s", i > 0 ? ", " : "", whole);
        }
        message_print("--objective '%.80s': the runs have no such number, only: %s", name, names.text ?: "none");
        return NULL;
}

ComparisonRow comparison_judge(const PairedRuns *runs, const ComparisonSeries *series, ComparisonSide side,
                               double within) {
        double a[PAIRED_PAIRS_MAX], b[PAIRED_PAIRS_MAX], differences[PAIRED_PAIRS_MAX], margin;
        ComparisonRow row = { .series = series, .is_ratio = true };

        for (size_t i = 0; i < runs->n_pairs; i++) {
                a[row.n] = series->values[i][COMPARISON_A];
                b[row.n] = series->values[i][side];
                if (!isfinite(a[row.n]) || !isfinite(b[row.n]))
                        continue;
                row.is_ratio &= a[row.n] > 0 && b[row.n] > 0;
                row.n++;
        }
        for (size_t i = 0; i < row.n; i++)
                differences[i] = row.is_ratio ? log(b[i]) - log(a[i]) : b[i] - a[i];
        row.interval = paired_comparison_interval(differences, row.n);
        row.a = statistics_median_in_place(a, row.n);
        row.b = statistics_median_in_place(b, row.n);
        margin = fmax(row.is_ratio ? log1p(within) : within * fabs(row.a), EQUAL);
        row.verdict = paired_comparison_judge(&row.interval, -margin, margin);
        return row;
}

double comparison_drift(const PairedRuns *runs, const ComparisonSeries *series, ComparisonSide side, double within) {
        scoped(freep) double *scratch = reallocarray(NULL, RANK_SUM_SCRATCH, sizeof(*scratch));
        double values[PAIRED_PAIRS_MAX], change;
        size_t n = 0, n_first;

        for (size_t i = 0; scratch && i < runs->n_pairs; i++)
                if (isfinite(series->values[i][side]))
                        values[n++] = series->values[i][side];
        if (n < DRIFT_PAIRS_MIN)
                return 0;

        n_first = n / 2;
        statistics_sort(values, n_first);
        statistics_sort(values + n_first, n - n_first);
        change = statistics_quantile_of_sorted(values + n_first, n - n_first, 0.5) /
                         statistics_quantile_of_sorted(values, n_first, 0.5) - 1;
        if (!(fabs(change) > within) ||
            rank_sum_test(values, n_first, values + n_first, n - n_first, SIZE_MAX, scratch).two_sided >=
                    DRIFT_PROBABILITY)
                return 0;
        return change;
}
